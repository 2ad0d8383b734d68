/* triangular.c - solving with a triangular matrix, and the sharing out of right-hand sides for all solves. */
#include "cpu/prims/triangle.h"
#include <string.h>

/* t's elements are met row by row in both directions: untransposed, the solved unknowns are taken off unknown i by a
 * dot or by axpys onto row i of x; transposed, unknown i is taken off those that are still open. */
static void solve_vector(const kernel_table *k, struct triangle t, real *x)
{
    bool forward = t.upper == t.transposed;
    for (size_t s = 0; s < t.n; s++) {
        size_t i = forward ? s : t.n - 1 - s;
        const real *row = t.t + i * t.n;
        size_t from = t.upper ? i + 1 : 0, to = t.upper ? t.n : i;
        if (!t.transposed) {
            real sum;
            k->dot(row + from, x + from, to - from, &sum);
            x[i] -= sum;
        }
        if (!t.unit) x[i] /= row[i];
        if (t.transposed) k->axpy(-x[i], row + from, x + from, to - from);
    }
}

void R(triangle_solve)(const kernel_table *k, struct triangle t, real *x, size_t x_row, size_t columns)
{
    if (columns == 1 && x_row == 1) {
        solve_vector(k, t, x);
        return;
    }
    bool forward = t.upper == t.transposed;
    for (size_t s = 0; s < t.n; s++) {
        size_t i = forward ? s : t.n - 1 - s;
        const real *row = t.t + i * t.n;
        real *xi = x + i * x_row;
        size_t from = t.upper ? i + 1 : 0, to = t.upper ? t.n : i;
        if (!t.transposed)
            for (size_t j = from; j < to; j++) k->axpy(-row[j], x + j * x_row, xi, columns);
        if (!t.unit)
            for (size_t c = 0; c < columns; c++) xi[c] /= row[i];
        if (t.transposed)
            for (size_t j = from; j < to; j++) k->axpy(-row[j], xi, x + j * x_row, columns);
    }
}

size_t R(solve_units)(const struct matrices *x) { return x->batch * size_div_up(x->columns, SOLVE_WIDTH); }

size_t R(solve_grain)(const struct matrices *x)
{
    size_t unit = x->rows * x->rows * size_min(x->columns, SOLVE_WIDTH);
    return size_max(1, 8 * GRAIN / size_max(1, unit));
}

struct solve_block R(solve_block)(const struct matrices *b, const struct matrices *x, size_t unit)
{
    size_t blocks = size_div_up(x->columns, SOLVE_WIDTH), from = unit % blocks * SOLVE_WIDTH;
    struct solve_block block = {matrix_at(x, unit / blocks) + from, unit / blocks, x->columns,
                                size_min(SOLVE_WIDTH, x->columns - from)};
    const real *source = matrix_at(b, unit / blocks) + from;
    if (source != block.x) {
        for (size_t i = 0; i < x->rows; i++)
            memcpy(block.x + i * x->columns, source + i * x->columns, block.columns * sizeof(real));
    }
    return block;
}

struct triangular {
    const kernel_table *k;
    struct matrices t, b, x;
    bool upper, transposed;
    size_t grain;
};

static status triangular_piece(void *context, size_t piece, size_t worker)
{
    const struct triangular *w = context;
    struct range r = piece_range(R(solve_units)(&w->x), w->grain, piece);
    (void)worker;
    for (size_t u = r.from; u < r.to; u++) {
        struct solve_block s = R(solve_block)(&w->b, &w->x, u);
        struct triangle t = {matrix_at(&w->t, s.matrix), w->x.rows, w->upper, w->transposed, false};
        R(triangle_solve)(w->k, t, s.x, s.row, s.columns);
    }
    return OK;
}

status R(prim_triangular_solve)(struct device *d, bool upper, bool transposed, const tensor *t, const tensor *b,
                                tensor *x)
{
    struct triangular w = {KERNELS(d), matrices_of(t), matrices_of(b), matrices_of(x), upper, transposed, 0};
    w.grain = R(solve_grain)(&w.x);
    return pool_run(cpu_of(d)->threads, pieces_of(R(solve_units)(&w.x), w.grain), triangular_piece, &w);
}
