/* lu.c - LU factors of a batch of matrices, and solving with them. One matrix is factored in cpu/prims/lu_one.c. */
#include "cpu/prims/lu.h"
#include "cpu/prims/triangle.h"
#include <math.h>
#include <string.h>

struct lu {
    const kernel_table *k;
    struct matrices a, lu; /* solve: b, and the factors */
    struct matrices x;     /* solve only */
    int *pivot;            /* [batch, n] */
    bool transposed;
    size_t grain;
};

/* The first pivot that is zero or not finite, or n. NaN and infinity reach the diagonal from wherever they stand. */
static size_t bad_pivot(const real *lu, size_t n, size_t factored)
{
    for (size_t i = 0; i < factored; i++)
        if (!isfinite(lu[i * n + i])) return i;
    return factored;
}

static status lu_piece(void *context, size_t piece, size_t worker)
{
    const struct lu *w = context;
    struct range r = piece_range(w->lu.batch, w->grain, piece);
    size_t n = w->lu.rows;
    (void)worker;
    for (size_t t = r.from; t < r.to; t++) {
        real *lu = matrix_at(&w->lu, t);
        memcpy(lu, matrix_at(&w->a, t), n * n * sizeof *lu);
        size_t bad = bad_pivot(lu, n, R(lu_factor)(w->k, n, lu, n, w->pivot + t * n, 0));
        if (bad < n) {
            return fail(ST_NUMERIC, "matrix %zu of the batch is singular (pivot %zu is %g)", t, bad,
                        (double)lu[bad * n + bad]);
        }
    }
    return OK;
}

status R(prim_lu)(struct device *d, const tensor *a, tensor *lu, tensor *pivot)
{
    struct lu w = {.k = KERNELS(d), .a = matrices_of(a), .lu = matrices_of(lu), .pivot = ints(pivot)};
    size_t n = w.lu.rows;
    w.grain = size_max(1, 16 * GRAIN / size_max(1, n * n * n));
    return pool_run(cpu_of(d)->threads, pieces_of(w.lu.batch, w.grain), lu_piece, &w);
}

static void swap_rows(real *a, real *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        real t = a[i];
        a[i] = b[i];
        b[i] = t;
    }
}

/* With rows exchanged in order, a is l u; so a^T is u^T l^T and the exchanges, undone in reverse, come last. */
static status lu_solve_piece(void *context, size_t piece, size_t worker)
{
    const struct lu *w = context;
    struct range r = piece_range(R(solve_units)(&w->x), w->grain, piece);
    size_t n = w->x.rows;
    (void)worker;
    for (size_t unit = r.from; unit < r.to; unit++) {
        struct solve_block s = R(solve_block)(&w->a, &w->x, unit);
        const int *pivot = w->pivot + (w->lu.batch == 1 ? 0 : s.matrix * n);
        struct triangle l = {matrix_at(&w->lu, s.matrix), n, false, w->transposed, true};
        struct triangle u = {l.t, n, true, w->transposed, false};
        for (size_t i = 0; i < n && !w->transposed; i++)
            if ((size_t)pivot[i] != i) swap_rows(s.x + i * s.row, s.x + (size_t)pivot[i] * s.row, s.columns);
        R(triangle_solve)(w->k, w->transposed ? u : l, s.x, s.row, s.columns);
        R(triangle_solve)(w->k, w->transposed ? l : u, s.x, s.row, s.columns);
        for (size_t i = n; i-- > 0 && w->transposed;)
            if ((size_t)pivot[i] != i) swap_rows(s.x + i * s.row, s.x + (size_t)pivot[i] * s.row, s.columns);
    }
    return OK;
}

status R(prim_lu_solve)(struct device *d, const tensor *lu, const tensor *pivot, bool transposed, const tensor *b,
                        tensor *x)
{
    struct lu w = {KERNELS(d), matrices_of(b), matrices_of(lu), matrices_of(x), ints(pivot), transposed, 0};
    w.grain = R(solve_grain)(&w.x);
    return pool_run(cpu_of(d)->threads, pieces_of(R(solve_units)(&w.x), w.grain), lu_solve_piece, &w);
}
