/* cholesky.c - a = l l^T for symmetric positive definite matrices, and solving with l.
 *
 * A matrix is factored by narrow block columns: what the columns before it say is taken off by one product, the block on
 * the diagonal is factored row by row, and the rows below it are solved for together. */
#include "cpu/prims/triangle.h"
#include <math.h>
#include <string.h>

struct cholesky {
    const kernel_table *k;
    struct matrices a, l, x; /* a is b in a solve */
    struct cpu *cpu;         /* its scratch memory, in a factoring */
    size_t grain;
};

/* Columns of a block: half a panel of the gemm kernel, since what is done column by column is slow, but not too few. */
static size_t block_width(const kernel_table *k)
{
    enum { LEAST = 8 };
    return size_min(k->gemm_width, size_max(LEAST, k->gemm_width / 2));
}

/* [n, width] numbers: a panel, which must be readable beyond its end, then the rows below a block */
static size_t scratch_bytes(const kernel_table *k, size_t n)
{
    return (block_width(k) * n + k->gemm_width) * sizeof(real);
}

/* In place, row by row; every sum is a dot of two finished rows. Returns n, or the row whose pivot is not positive, with
 * the pivot left on the diagonal. */
static size_t factor_block(const kernel_table *k, size_t n, real *l, size_t step)
{
    for (size_t i = 0; i < n; i++) {
        real *row = l + i * step, sum;
        for (size_t j = 0; j < i; j++) {
            k->dot(row, l + j * step, j, &sum);
            row[j] = (row[j] - sum) / l[j * step + j];
        }
        k->dot(row, row, i, &sum);
        row[i] -= sum;
        if (!(row[i] > 0 && isfinite(row[i]))) return i;
        row[i] = (real)sqrt((double)row[i]);
        memset(row + i + 1, 0, (n - i - 1) * sizeof *row);
    }
    return n;
}

/* Columns from .. from + width of rows from .. n, less the product of these rows and those of the block, both up to `from`. */
static void take_off(const kernel_table *k, size_t n, real *l, size_t from, size_t width, real *panel)
{
    real *rows = l + from * n;
    k->transpose(width, from, rows, n, panel, width);
    k->affine(panel, -1, 0, panel, from * width);
    memset(panel + from * width, 0, k->gemm_width * sizeof *panel);
    k->gemm(n - from, width, from, rows, n, 1, panel, width, 0, rows + from, n, true);
}

/* Rows below x with x block^T = what stands there; turned around, so that all are solved for at once. */
static void solve_below(const kernel_table *k, size_t n, real *block, size_t width, size_t rows, real *turned)
{
    real *below = block + width * n;
    k->transpose(rows, width, below, n, turned, rows);
    for (size_t i = 0; i < width; i++) {
        real *x = turned + i * rows;
        for (size_t j = 0; j < i; j++) k->axpy(-block[i * n + j], turned + j * rows, x, rows);
        k->affine(x, 1 / block[i * n + i], 0, x, rows);
    }
    k->transpose(width, rows, turned, rows, below, n);
}

/* Only a's lower half is read. Returns as factor_block. */
static size_t factor(const kernel_table *k, size_t n, const real *a, real *l, real *scratch)
{
    for (size_t i = 0; i < n; i++) {
        memcpy(l + i * n, a + i * n, (i + 1) * sizeof *l);
        memset(l + i * n + i + 1, 0, (n - i - 1) * sizeof *l);
    }
    for (size_t from = 0; from < n; from += block_width(k)) {
        const size_t width = size_min(block_width(k), n - from);
        real *block = l + from * n + from;
        if (from) take_off(k, n, l, from, width, scratch);
        const size_t good = factor_block(k, width, block, n);
        if (good < width) return from + good;
        if (from + width < n) solve_below(k, n, block, width, n - from - width, scratch);
    }
    return n;
}

static status cholesky_piece(void *context, size_t piece, size_t worker)
{
    const struct cholesky *w = context;
    struct range r = piece_range(w->l.batch, w->grain, piece);
    size_t n = w->l.rows;
    void *scratch;
    const status st = cpu_scratch(w->cpu, worker, scratch_bytes(w->k, n), &scratch);
    if (st != OK) return st;
    for (size_t t = r.from; t < r.to; t++) {
        real *l = matrix_at(&w->l, t);
        size_t bad = factor(w->k, n, matrix_at(&w->a, t), l, scratch);
        if (bad < n) {
            return fail(ST_NUMERIC, "matrix %zu of the batch is not positive definite (pivot %zu is %g)", t, bad,
                        (double)l[bad * n + bad]);
        }
    }
    return OK;
}

status R(prim_cholesky)(struct device *d, const tensor *a, tensor *l)
{
    struct cholesky w = {.k = KERNELS(d), .a = matrices_of(a), .l = matrices_of(l), .cpu = cpu_of(d)};
    size_t n = w.l.rows;
    w.grain = size_max(1, 32 * GRAIN / size_max(1, n * n * n));
    const status st = cpu_reserve(w.cpu, scratch_bytes(w.k, n));
    return st != OK ? st : pool_run(cpu_of(d)->threads, pieces_of(w.l.batch, w.grain), cholesky_piece, &w);
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
    struct cholesky w = {.k = KERNELS(d), .a = matrices_of(b), .l = matrices_of(l), .x = matrices_of(x)};
    w.grain = R(solve_grain)(&w.x);
    return pool_run(cpu_of(d)->threads, pieces_of(R(solve_units)(&w.x), w.grain), cholesky_solve_piece, &w);
}
