/* kernels_reduce.h - checks of sums, maxima, norms and matrix-vector products. Included once for float and once for
 * double, after check.h.
 *
 * A sum of n terms in any order lies within n eps sum|term| of the true one; the bound here is twice that, for the
 * rounding of the reference. */

static double sum_bound(size_t n, double magnitude) { return 2 * (double)(n + 1) * (double)REAL_EPSILON * magnitude; }

/* sum of |a[i*a_step] * b[i]|, or of |a[i*a_step]| with b NULL */
static double magnitude(const real *a, size_t a_step, const real *b, size_t n)
{
    double total = 0;
    for (size_t i = 0; i < n; i++) total += fabs((double)a[i * a_step] * (b ? (double)b[i] : 1));
    return total;
}

CHECK_KERNEL(sum)
{
    for (size_t k = 0; k < CHECK_SIZES; k++) {
        const size_t n = check_sizes[k];
        const real *x = check_random(c, n, -4, 4);
        real *want = check_blank(c, 1), *got = check_blank(c, 1);
        const double bound = sum_bound(n, magnitude(x, 1, NULL, n));
        ref->sum(x, n, want);
        alt->sum(x, n, got);
        check_bound(c, got, want, &bound, 1);
        if (n == 1000) BENCH(n, sum, (x, n, got));
        check_release(c);
    }
}

CHECK_KERNEL(dot)
{
    for (size_t k = 0; k < CHECK_SIZES; k++) {
        const size_t n = check_sizes[k];
        const real *a = check_random(c, n, -4, 4), *b = check_random(c, n, -4, 4);
        real *want = check_blank(c, 1), *got = check_blank(c, 1);
        const double bound = sum_bound(n, magnitude(a, 1, b, n));
        ref->dot(a, b, n, want);
        alt->dot(a, b, n, got);
        check_bound(c, got, want, &bound, 1);
        if (n == 1000) BENCH(n, dot, (a, b, n, got));
        check_release(c);
    }
}

/* The largest may stand anywhere, and so may a NaN; negative numbers find a 0 that slipped in. */
CHECK_KERNEL(max)
{
    for (size_t k = 1; k < CHECK_SIZES; k++) {
        const size_t n = check_sizes[k], tries = n < 40 ? n : 40;
        for (size_t t = 0; t < 2 * tries; t++) {
            real *x = check_random(c, n, -4, -1), *want = check_blank(c, 1), *got = check_blank(c, 1);
            x[n < 40 ? t / 2 : random_below(&c->random, n)] = t % 2 ? (real)NAN : (real)-0.5;
            ref->max(x, n, want);
            alt->max(x, n, got);
            if (isnan(*want) != (t % 2 == 1)) check_failed(c, "the reference is %g for %zu numbers", (double)*want, n);
            check_exact(c, got, want, 1);
            if (n == 1000 && t == 0) BENCH(n, max, (x, n, got));
            check_release(c);
        }
    }
}

CHECK_KERNEL(exp_sum)
{
    for (size_t k = 0; k < CHECK_SIZES; k++) {
        const size_t n = check_sizes[k];
        const real *x = check_random(c, n, -8, 4), shift = 4;
        real *want = check_blank(c, n), *got = check_blank(c, n), *same = check_copy(c, x, n);
        real *want_total = check_blank(c, 1), *got_total = check_blank(c, 1), *same_total = check_blank(c, 1);
        ref->exp_sum(x, shift, want, n, want_total);
        alt->exp_sum(x, shift, got, n, got_total);
        alt->exp_sum(same, shift, same, n, same_total);
        const double bound = sum_bound(n + 2, magnitude(want, 1, NULL, n)); /* + 2: each term has 2 ulp of its own */
        check_ulps(c, got, want, n, 2);
        check_bound(c, got_total, want_total, &bound, 1);
        check_exact(c, same, got, n);
        check_exact(c, same_total, got_total, 1);
        if (n == 1000) BENCH(n, exp_sum, (x, shift, got, n, got_total));
        check_release(c);
    }
}

/* rows, columns and row step, in odd and even sizes around the width of a vector and of a group of rows */
static const size_t matrix_shapes[][3] = {{0, 5, 5},   {5, 0, 3},      {1, 1, 1},    {1, 9, 12},
                                          {3, 7, 7},   {4, 8, 8},      {5, 16, 19},  {7, 17, 17},
                                          {8, 33, 40}, {25, 125, 128}, {13, 31, 32}, {64, 25, 25}};
enum { MATRIX_SHAPES = sizeof matrix_shapes / sizeof *matrix_shapes, MATRIX_LONGEST = 128 };

/* Elements from the first to the last of a matrix: nothing is readable behind its last row. */
static size_t matrix_extent(size_t rows, size_t columns, size_t step)
{
    return rows && columns ? (rows - 1) * step + columns : 0;
}

CHECK_KERNEL(inverse_norms)
{
    double bound[MATRIX_LONGEST];
    for (size_t s = 0; s < MATRIX_SHAPES; s++) {
        const size_t k = matrix_shapes[s][0], n = matrix_shapes[s][1], step = matrix_shapes[s][2];
        real *x = check_random(c, matrix_extent(k, n, step), -4, 4);
        for (size_t p = 0; p < k && n > 2; p++) x[p * step + n / 2] = (real)(p == 0 ? 1e-13 : 0); /* counts as zero */
        const double huge = sizeof(real) == sizeof(float) ? 1e30 : 1e200; /* its square is no number */
        if (k && n > 2) x[0] = (real)huge;
        real *want = check_blank(c, n), *got = check_blank(c, n);
        ref->inverse_norms(x, step, k, n, want);
        alt->inverse_norms(x, step, k, n, got);
        for (size_t j = 0; j < n; j++) bound[j] = sum_bound(k + 1, fabs((double)want[j]));
        if (k && n > 2 && want[n / 2] != 0) check_failed(c, "the reference does not see a short vector");
        if (k && n > 2 && !(fabs((double)want[0] * huge - 1) < 1e-6)) check_failed(c, "the reference overflows");
        check_bound(c, got, want, bound, n);
        if (n == 125) BENCH(k * n, inverse_norms, (x, step, k, n, got));
        check_release(c);
    }
}

CHECK_KERNEL(columns_dot)
{
    double bound[MATRIX_LONGEST];
    for (size_t s = 0; s < MATRIX_SHAPES; s++) {
        const size_t rows = matrix_shapes[s][0], columns = matrix_shapes[s][1], step = matrix_shapes[s][2];
        const real *e = check_random(c, matrix_extent(rows, columns, step), -4, 4), *v = check_random(c, rows, -4, 4);
        real *want = check_blank(c, columns), *got = check_blank(c, columns);
        for (size_t j = 0; j < columns; j++) bound[j] = sum_bound(rows, magnitude(e + j, step, v, rows));
        ref->columns_dot(e, step, rows, columns, v, want);
        alt->columns_dot(e, step, rows, columns, v, got);
        check_bound(c, got, want, bound, columns);
        if (columns == 125) BENCH(rows * columns, columns_dot, (e, step, rows, columns, v, got));
        check_release(c);
    }
}

CHECK_KERNEL(rows_sum)
{
    double bound[MATRIX_LONGEST];
    const real one = 1;
    for (size_t s = 0; s < MATRIX_SHAPES; s++) {
        const size_t rows = matrix_shapes[s][0], columns = matrix_shapes[s][1];
        const real *x = check_random(c, rows * columns, -4, 4);
        real *want = check_blank(c, rows), *got = check_blank(c, rows);
        for (size_t i = 0; i < rows; i++) {
            bound[i] = 0;
            for (size_t j = 0; j < columns; j++)
                bound[i] += sum_bound(columns, magnitude(x + i * columns + j, 1, &one, 1));
        }
        ref->rows_sum(x, rows, columns, want);
        alt->rows_sum(x, rows, columns, got);
        check_bound(c, got, want, bound, rows);
        if (columns == 125) BENCH(rows * columns, rows_sum, (x, rows, columns, got));
        check_release(c);
    }
}

CHECK_KERNEL(rows_dot)
{
    double bound[MATRIX_LONGEST];
    for (size_t s = 0; s < MATRIX_SHAPES; s++) {
        const size_t rows = matrix_shapes[s][0], columns = matrix_shapes[s][1], step = matrix_shapes[s][2];
        const real *e = check_random(c, matrix_extent(rows, columns, step), -4, 4),
                   *v = check_random(c, columns, -4, 4);
        real *want = check_blank(c, rows), *got = check_blank(c, rows);
        for (size_t i = 0; i < rows; i++) bound[i] = sum_bound(columns, magnitude(e + i * step, 1, v, columns));
        ref->rows_dot(e, step, rows, columns, v, want);
        alt->rows_dot(e, step, rows, columns, v, got);
        check_bound(c, got, want, bound, rows);
        if (columns == 125) BENCH(rows * columns, rows_dot, (e, step, rows, columns, v, got));
        check_release(c);
    }
}
