/* kernels_gemm.h - checks of matrix products, packing and transposition. Included once for float and once for double,
 * after kernels_reduce.h, whose bounds and shapes it uses.
 *
 * Panels are as wide as the variant says, so reference and variant each get b in their own layout, made here from the
 * same dense matrix; columns behind the last one are NaN, and must not reach c. */

struct gemm_shape {
    size_t m, n, k;
};
static const struct gemm_shape gemm_shapes[] = {{0, 5, 3},  {3, 0, 2},    {2, 3, 0},    {1, 1, 1},    {1, 17, 5},
                                                {6, 16, 7}, {7, 33, 9},   {13, 31, 25}, {14, 32, 64}, {15, 16, 1},
                                                {3, 5, 17}, {28, 64, 33}, {5, 1, 40},   {29, 8, 100}, {25, 125, 64}};
enum { GEMM_SHAPES = sizeof gemm_shapes / sizeof *gemm_shapes, GEMM_LARGEST = 25 * 130, GEMM_LAYOUTS = 4 };

struct gemm_case {
    struct gemm_shape s;
    size_t terms, a_row, a_col, a_term, c_row;
    bool rows_of_b; /* b as it lies in a row-major matrix, else panels one behind the other with a gap */
    bool add;
    const real *a, *b; /* b: [terms, k, n], dense */
};

/* A way to lay out a and c, from 0 to GEMM_LAYOUTS - 1: plain, a turned around, row gaps, and strides in everything. */
static struct gemm_case gemm_case_make(struct check *c, struct gemm_shape s, size_t terms, size_t layout)
{
    static const bool add[GEMM_LAYOUTS] = {false, true, false, true};
    struct gemm_case g = {.s = s, .terms = terms, .c_row = layout < 2 ? s.n : s.n + 5, .add = add[layout]};
    g.rows_of_b = layout % 2 == 0;
    g.a_row = layout == 1 ? 1 : layout == 3 ? 2 * s.k + 1 : s.k + layout;
    g.a_col = layout == 1 ? s.m : layout == 3 ? 2 : 1;
    g.a_term = s.m * g.a_row + s.k * g.a_col;
    g.a = check_random(c, terms * g.a_term, -4, 4);
    g.b = check_random(c, terms * s.k * s.n, -4, 4);
    return g;
}

/* Runs one table's kernel, gemm_affine where there is an end, on b in its own panels. */
static void gemm_case_run(struct check *c, const check_table *t, const struct gemm_case *g, bool sum,
                          const struct gemm_end *end, real *out)
{
    const size_t width = t->gemm_width, n = g->s.n, k = g->s.k, panels = (n + width - 1) / width;
    const size_t b_row = g->rows_of_b ? panels * width : width + 3;
    const size_t b_panel = g->rows_of_b ? width : k * b_row, b_term = g->rows_of_b ? k * b_row : panels * b_panel;
    real *b = check_blank(c, g->terms * b_term);
    for (size_t r = 0; r < g->terms * k; r++)
        for (size_t j = 0; j < n; j++)
            b[r / k * b_term + j / width * b_panel + r % k * b_row + j % width] = g->b[r * n + j];
    if (end)
        t->gemm_affine(g->terms, g->a_term, b_term, g->s.m, n, k, g->a, g->a_row, g->a_col, b, b_row, b_panel, out,
                       g->c_row, end);
    else if (sum)
        t->gemm_sum(g->terms, g->a_term, b_term, g->s.m, n, k, g->a, g->a_row, g->a_col, b, b_row, b_panel, out,
                    g->c_row, g->add);
    else t->gemm(g->s.m, n, k, g->a, g->a_row, g->a_col, b, b_row, b_panel, out, g->c_row, g->add);
}

/* The terms' sum in any order: 2 (terms k + 1) eps (sum |a b| + |c|). Gaps between rows must stay as they are. */
static void gemm_case_bound(const struct gemm_case *g, const real *before, double *bound, size_t extent)
{
    const struct gemm_shape s = g->s;
    for (size_t i = 0; i < extent; i++) bound[i] = 0;
    for (size_t i = 0; i < s.m; i++)
        for (size_t j = 0; j < s.n; j++) {
            double size = g->add ? fabs((double)before[i * g->c_row + j]) : 0;
            for (size_t r = 0; r < g->terms * s.k; r++)
                size += fabs((double)g->a[r / s.k * g->a_term + i * g->a_row + r % s.k * g->a_col] *
                             (double)g->b[r * s.n + j]);
            bound[i * g->c_row + j] = sum_bound(g->terms * s.k, size);
        }
}

static void gemm_case_check(struct check *c, const check_table *ref, const check_table *alt, const struct gemm_case *g,
                            bool sum)
{
    static double bound[GEMM_LARGEST];
    const size_t extent = matrix_extent(g->s.m, g->s.n, g->c_row);
    const real *before = g->add ? check_random(c, extent, -4, 4) : check_blank(c, extent);
    real *want = check_copy(c, before, extent), *got = check_copy(c, before, extent);
    gemm_case_bound(g, before, bound, extent);
    gemm_case_run(c, ref, g, sum, NULL, want);
    gemm_case_run(c, alt, g, sum, NULL, got);
    check_bound(c, got, want, bound, extent);
}

static void gemm_bench(struct check *c, const check_table *ref, const check_table *alt, bool sum)
{
    if (!c->bench) return;
    const size_t m = 25, n = 128, k = 64, panel_r = k * ref->gemm_width, panel_a = k * alt->gemm_width;
    const real *a = check_random(c, m * k, -1, 1), *b = check_random(c, n * k, -1, 1);
    real *y = check_blank(c, m * n);
    if (sum)
        BENCH_PAIR(m * n * k, ref->gemm_sum(1, 0, 0, m, n, k, a, k, 1, b, ref->gemm_width, panel_r, y, n, false),
                   alt->gemm_sum(1, 0, 0, m, n, k, a, k, 1, b, alt->gemm_width, panel_a, y, n, false));
    else
        BENCH_PAIR(m * n * k, ref->gemm(m, n, k, a, k, 1, b, ref->gemm_width, panel_r, y, n, false),
                   alt->gemm(m, n, k, a, k, 1, b, alt->gemm_width, panel_a, y, n, false));
    check_release(c);
}

CHECK_KERNEL(gemm)
{
    for (size_t s = 0; s < GEMM_SHAPES; s++)
        for (size_t layout = 0; layout < GEMM_LAYOUTS; layout++) {
            const struct gemm_case g = gemm_case_make(c, gemm_shapes[s], 1, layout);
            gemm_case_check(c, ref, alt, &g, false);
            check_release(c);
        }
    gemm_bench(c, ref, alt, false);
}

CHECK_KERNEL(gemm_sum)
{
    for (size_t s = 0; s < GEMM_SHAPES; s++)
        for (size_t layout = 0; layout < GEMM_LAYOUTS; layout++) {
            const struct gemm_case g = gemm_case_make(c, gemm_shapes[s], s % 4, layout);
            gemm_case_check(c, ref, alt, &g, true);
            check_release(c);
        }
    gemm_bench(c, ref, alt, true);
}

/* Held against gemm_sum of the same table, and the plain formula on its sums: bounds of sums are not needed then. */
static void check_gemm_end(struct check *c, const check_table *t, const struct gemm_case *g, size_t kind)
{
    static double bound[GEMM_LARGEST];
    const size_t m = g->s.m, n = g->s.n, extent = matrix_extent(m, n, g->c_row);
    const real *scale = check_random(c, n, -1, 1), *shift = check_random(c, n, -1, 1);
    const real *residual = kind & 1 ? check_random(c, extent, -4, 4) : NULL;
    const struct gemm_end end = {scale, shift, kind & 2 ? 3 : 0, residual};
    struct gemm_case plain = *g;
    real *want = check_blank(c, extent), *got = check_copy(c, want, extent);
    plain.add = false;
    gemm_case_run(c, t, &plain, true, NULL, want);
    gemm_case_run(c, t, &plain, true, &end, got);
    for (size_t i = 0; i < extent; i++) bound[i] = 0;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            const size_t at = i * g->c_row + j;
            const real sum = want[at];
            want[at] = sum * scale[j] + shift[j];
            if (end.ceiling > 0) want[at] = want[at] < 0 ? 0 : want[at] > 3 ? 3 : want[at];
            if (residual) want[at] += residual[at];
            bound[at] = 4 * (double)REAL_EPSILON * (fabs((double)sum) + 8);
        }
    check_bound(c, got, want, bound, extent);
}

/* A NaN is neither below 0 nor above the ceiling. */
static void check_gemm_nan(struct check *c, const check_table *t)
{
    const struct gemm_end end = {check_random(c, 1, 1, 2), check_random(c, 1, 1, 2), 3, NULL};
    real *a = check_blank(c, 1), *y = check_random(c, 1, 1, 2), *b = check_random(c, t->gemm_width, 1, 2);
    a[0] = (real)NAN;
    t->gemm_affine(1, 0, 0, 1, 1, 1, a, 1, 1, b, t->gemm_width, t->gemm_width, y, 1, &end);
    if (!isnan((double)y[0])) check_failed(c, "a NaN does not stay");
    check_release(c);
}

CHECK_KERNEL(gemm_affine)
{
    for (size_t s = 0; s < GEMM_SHAPES; s++)
        for (size_t layout = 0; layout < GEMM_LAYOUTS; layout++)
            for (size_t kind = 0; kind < 4; kind++) {
                const struct gemm_case g = gemm_case_make(c, gemm_shapes[s], s % 4, layout);
                check_gemm_end(c, ref, &g, kind);
                check_gemm_end(c, alt, &g, kind);
                check_release(c);
            }
    check_gemm_nan(c, ref);
    check_gemm_nan(c, alt);
}

/* Reference and variant pack to different widths, so both are held against the definition. */
static void check_pack(struct check *c, const check_table *t, struct gemm_shape s, size_t b_row, size_t b_col)
{
    const size_t width = t->gemm_width, packed = (s.n + width - 1) / width * width * s.k;
    const real *b = check_random(c, s.k && s.n ? (s.k - 1) * b_row + (s.n - 1) * b_col + 1 : 0, -4, 4);
    real *want = check_blank(c, packed), *got = check_blank(c, packed);
    for (size_t at = 0; at < packed; at++) {
        const size_t p = at / width % s.k, j = at / width / s.k * width + at % width;
        want[at] = j < s.n ? b[p * b_row + j * b_col] : 0;
    }
    t->gemm_pack(s.k, s.n, b, b_row, b_col, got);
    check_exact(c, got, want, packed);
    check_release(c);
}

CHECK_KERNEL(gemm_pack)
{
    for (size_t i = 0; i < GEMM_SHAPES; i++) {
        const struct gemm_shape s = gemm_shapes[i];
        const size_t steps[][2] = {{s.n, 1}, {s.n + 3, 1}, {1, s.k}, {1, s.k + 2}, {2 * s.n, 2}, {3, 3 * s.k}};
        for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
            check_pack(c, ref, s, steps[k][0], steps[k][1]);
            check_pack(c, alt, s, steps[k][0], steps[k][1]);
        }
    }
    const size_t n = 128, k = 64;
    const real *b = check_random(c, n * k, -1, 1);
    real *y = check_blank(c, n * k);
    BENCH(n * k, gemm_pack, (k, n, b, n, 1, y));
    BENCH(n * k, gemm_pack, (k, n, b, 1, k, y));
    check_release(c);
}

CHECK_KERNEL(transpose)
{
    for (size_t s = 0; s < MATRIX_SHAPES; s++) {
        const size_t rows = matrix_shapes[s][0], columns = matrix_shapes[s][1], step = matrix_shapes[s][2];
        const size_t y_row = rows + s % 3, extent = matrix_extent(columns, rows, y_row);
        const real *x = check_random(c, matrix_extent(rows, columns, step), -4, 4);
        real *want = check_blank(c, extent), *got = check_blank(c, extent);
        ref->transpose(rows, columns, x, step, want, y_row);
        alt->transpose(rows, columns, x, step, got, y_row);
        check_exact(c, got, want, extent);
        if (columns == 125) BENCH(rows * columns, transpose, (rows, columns, x, step, got, y_row));
        check_release(c);
    }
    static const size_t colours[] = {0, 1, 3, 4, 7, 8, 9, 23, 64, 226}; /* three rows, one behind the other */
    for (size_t i = 0; i < sizeof colours / sizeof *colours; i++) {
        const size_t columns = colours[i], step = columns + i % 4;
        const real *x = check_random(c, 3 * step, -4, 4);
        real *want = check_blank(c, 3 * columns), *got = check_blank(c, 3 * columns);
        ref->transpose(3, columns, x, step, want, 3);
        alt->transpose(3, columns, x, step, got, 3);
        check_exact(c, got, want, 3 * columns);
        if (columns == 226) BENCH(3 * columns, transpose, (3, columns, x, step, got, 3));
        check_release(c);
    }
}
