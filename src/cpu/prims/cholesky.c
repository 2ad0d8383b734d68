/* cholesky.c - a = l l^T for symmetric positive definite matrices, and solving with l. */
#include "cpu/prims/triangle.h"
#include <math.h>
#include <string.h>

struct cholesky {
    const kernel_table *k;
    struct matrices a, l, x; /* a is b in a solve */
    size_t grain;
};

/* Row by row; every sum is a dot of two finished rows of l. Returns n, or the row whose pivot is not positive, with
 * the pivot left on l's diagonal. */
static size_t factor(const kernel_table *k, size_t n, const real *a, real *l)
{
    for (size_t i = 0; i < n; i++) {
        real *row = l + i * n, sum;
        for (size_t j = 0; j < i; j++) {
            k->dot(row, l + j * n, j, &sum);
            row[j] = (a[i * n + j] - sum) / l[j * n + j];
        }
        k->dot(row, row, i, &sum);
        row[i] = a[i * n + i] - sum;
        if (!(row[i] > 0 && isfinite(row[i]))) return i;
        row[i] = (real)sqrt((double)row[i]);
        memset(row + i + 1, 0, (n - i - 1) * sizeof *row);
    }
    return n;
}

static status cholesky_piece(void *context, size_t piece, size_t worker)
{
    const struct cholesky *w = context;
    struct range r = piece_range(w->l.batch, w->grain, piece);
    size_t n = w->l.rows;
    (void)worker;
    for (size_t t = r.from; t < r.to; t++) {
        real *l = matrix_at(&w->l, t);
        size_t bad = factor(w->k, n, matrix_at(&w->a, t), l);
        if (bad < n) {
            return fail(ST_NUMERIC, "matrix %zu of the batch is not positive definite (pivot %zu is %g)", t, bad,
                        (double)l[bad * n + bad]);
        }
    }
    return OK;
}

status R(prim_cholesky)(struct device *d, const tensor *a, tensor *l)
{
    struct cholesky w = {.k = KERNELS(d), .a = matrices_of(a), .l = matrices_of(l)};
    size_t n = w.l.rows;
    w.grain = size_max(1, 32 * GRAIN / size_max(1, n * n * n));
    return pool_run(cpu_of(d)->threads, pieces_of(w.l.batch, w.grain), cholesky_piece, &w);
}

static status cholesky_solve_piece(void *context, size_t piece, size_t worker)
{
    const struct cholesky *w = context;
    struct range r = piece_range(R(solve_units)(&w->x), w->grain, piece);
    (void)worker;
    for (size_t u = r.from; u < r.to; u++) {
        struct solve_block s = R(solve_block)(&w->a, &w->x, u);
        struct triangle l = {matrix_at(&w->l, s.matrix), w->x.rows, false, false, false};
        R(triangle_solve)(w->k, l, s.x, s.row, s.columns);
        l.transposed = true;
        R(triangle_solve)(w->k, l, s.x, s.row, s.columns);
    }
    return OK;
}

status R(prim_cholesky_solve)(struct device *d, const tensor *l, const tensor *b, tensor *x)
{
    struct cholesky w = {KERNELS(d), matrices_of(b), matrices_of(l), matrices_of(x), 0};
    w.grain = R(solve_grain)(&w.x);
    return pool_run(cpu_of(d)->threads, pieces_of(R(solve_units)(&w.x), w.grain), cholesky_solve_piece, &w);
}
