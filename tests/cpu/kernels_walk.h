/* kernels_walk.h - checks of the mutual walk's passes. Included once for float and once for double, after
 * kernels_reduce.h, whose shapes and bounds it uses. Gaps between rows must stay as they are. */
enum { WALK_LARGEST = 64 * 128 };

CHECK_KERNEL(walk_scale)
{
    for (size_t s = 0; s < MATRIX_SHAPES; s++) {
        const size_t rq = matrix_shapes[s][0], m = matrix_shapes[s][1], step = matrix_shapes[s][2];
        const size_t extent = matrix_extent(rq, m, step);
        real *want = check_random(c, extent, -1, 1), *got = check_copy(c, want, extent);
        const real *row = check_random(c, rq, s % 2 ? -2 : 1, 2);
        real *want_row = check_blank(c, rq), *want_column = check_blank(c, m);
        real *got_row = check_blank(c, rq), *got_column = check_blank(c, m);
        ref->walk_scale(want, step, rq, m, row, want_row, want_column);
        alt->walk_scale(got, step, rq, m, row, got_row, got_column);
        check_exact(c, got, want, extent);
        check_exact(c, got_row, want_row, rq);
        check_exact(c, got_column, want_column, m);
        for (size_t i = 0; i < rq; i++) got_row[i] = 1; /* for the timing: numbers that do not shrink away */
        if (m == 125) BENCH(rq * m, walk_scale, (got, step, rq, m, got_row, want_row, got_column));
        check_release(c);
    }
}

struct walk_softmax { /* what walk_exp writes */
    real *ea, *eb, *row, *column;
};

static struct walk_softmax walk_softmax_blank(struct check *c, size_t extent, size_t rq, size_t m)
{
    return (struct walk_softmax){check_blank(c, extent), check_blank(c, extent), check_blank(c, rq), check_blank(c, m)};
}

static void check_inverses(struct check *c, const real *got, const real *want, size_t n, size_t terms)
{
    double bound[MATRIX_LONGEST];
    for (size_t i = 0; i < n; i++)
        bound[i] = sum_bound(terms + 4, (double)want[i]); /* + 4: 2 ulp each, and the division */
    check_bound(c, got, want, bound, n);
}

CHECK_KERNEL(walk_exp)
{
    const real gamma = 20, beta = 10;
    for (size_t s = 0; s < MATRIX_SHAPES; s++) {
        const size_t rq = matrix_shapes[s][0], m = matrix_shapes[s][1], step = matrix_shapes[s][2];
        const size_t extent = matrix_extent(rq, m, step);
        const real *phi = check_random(c, extent, -1, 1);
        const real *row_max = check_random(c, rq, 1, 2), *column_max = check_random(c, m, 1, 2);
        struct walk_softmax want = walk_softmax_blank(c, extent, rq, m), got = walk_softmax_blank(c, extent, rq, m);
        struct walk_softmax one = walk_softmax_blank(c, extent, rq, m); /* without the walk back */
        ref->walk_exp(phi, step, rq, m, gamma, beta, row_max, column_max, want.ea, want.eb, want.row, want.column);
        alt->walk_exp(phi, step, rq, m, gamma, beta, row_max, column_max, got.ea, got.eb, got.row, got.column);
        alt->walk_exp(phi, step, rq, m, gamma, beta, row_max, NULL, one.ea, NULL, one.row, NULL);
        check_ulps(c, got.ea, want.ea, extent, 2);
        check_ulps(c, got.eb, want.eb, extent, 2);
        check_inverses(c, got.row, want.row, rq, m);
        check_inverses(c, got.column, want.column, m, rq);
        check_exact(c, one.ea, got.ea, extent);
        check_exact(c, one.row, got.row, rq);
        if (m == 125)
            BENCH(rq * m, walk_exp,
                  (phi, step, rq, m, gamma, beta, row_max, column_max, got.ea, got.eb, got.row, got.column));
        check_release(c);
    }
}

/* The size of d's terms without their signs: rounding errors are a few eps of it. */
static double grad_size(const struct walk_grad_vectors *v, real ea, real eb, size_t i, size_t j)
{
#define AT(field, k) fabs((double)((const real *)v->field)[k])
    double size = AT(row_a, i) * fabs((double)ea) * (AT(column_v, j) + AT(row_l, i));
    if (eb != 0) size += fabs((double)eb) * AT(column_z, j) * (AT(row_m, i) + AT(column_t, j));
    if (eb != 0 && v->column_y) size += fabs((double)eb) * AT(column_y, j) * (AT(row_g, i) + AT(column_s, j));
    return size;
#undef AT
}

static struct walk_grad_vectors grad_vectors(struct check *c, size_t rq, size_t m, bool back, bool query)
{
    struct walk_grad_vectors v = {.row_a = check_random(c, rq, -2, 2),
                                  .row_l = check_random(c, rq, -2, 2),
                                  .row_scale = check_random(c, rq, -2, 2),
                                  .column_v = check_random(c, m, -2, 2)};
    if (back) {
        v.row_m = check_random(c, rq, -2, 2);
        v.column_z = check_random(c, m, -2, 2);
        v.column_t = check_random(c, m, -2, 2);
    }
    if (query) {
        v.row_g = check_random(c, rq, -2, 2);
        v.column_y = check_random(c, m, -2, 2);
        v.column_s = check_random(c, m, -2, 2);
    }
    return v;
}

static void check_grad(struct check *c, const check_table *ref, const check_table *alt, const size_t shape[3],
                       bool back, bool query)
{
    static double bound[WALK_LARGEST];
    double row_bound[MATRIX_LONGEST] = {0};
    const size_t rq = shape[0], m = shape[1], step = shape[2], extent = matrix_extent(rq, m, step);
    const struct walk_grad_vectors v = grad_vectors(c, rq, m, back, query);
    const real *ea = check_random(c, extent, 0, 1), *eb = back ? check_random(c, extent, 0, 1) : NULL;
    real *want = check_random(c, extent, -1, 1), *got = check_copy(c, want, extent);
    real *want_dot = check_blank(c, rq), *got_dot = check_blank(c, rq);
    for (size_t at = 0; at < extent; at++) bound[at] = 0;
    for (size_t i = 0; i < rq; i++)
        for (size_t j = 0; j < m; j++) {
            const size_t at = i * step + j;
            const double size = grad_size(&v, ea[at], eb ? eb[at] : 0, i, j);
            bound[at] = 8 * (double)REAL_EPSILON * size * fabs((double)((const real *)v.row_scale)[i]);
            row_bound[i] += sum_bound(m + 8, size * fabs((double)want[at]));
        }
    ref->walk_grad(want, step, rq, m, ea, eb, &v, want_dot);
    alt->walk_grad(got, step, rq, m, ea, eb, &v, got_dot);
    check_bound(c, got, want, bound, extent);
    check_bound(c, got_dot, want_dot, row_bound, rq);
    if (m == 125 && query) BENCH(rq * m, walk_grad, (got, step, rq, m, ea, eb, &v, got_dot));
    check_release(c);
}

CHECK_KERNEL(walk_grad)
{
    for (size_t s = 0; s < MATRIX_SHAPES; s++) {
        check_grad(c, ref, alt, matrix_shapes[s], false, false);
        check_grad(c, ref, alt, matrix_shapes[s], true, false);
        check_grad(c, ref, alt, matrix_shapes[s], true, true);
    }
}
