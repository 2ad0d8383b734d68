/* sqdist.c - squared distances of all pairs of rows, and the derivative.
 *
 * Distances are sums of squared differences. The expansion |a|^2 - 2ab + |b|^2 would be one gemm, but loses all digits
 * for points that are near each other and far from zero. */
#include "cpu/prims/matrix.h"

enum { BLOCK = 1024 };

struct sqdist {
    const kernel_table *k;
    struct matrices a, b; /* in the gradient: the side that gets it, and the other */
    struct matrices y;    /* y, or dy */
    bool to_b;
    real *dx;
    size_t grain; /* rows of a piece */
};

static real row_distance(const kernel_table *k, const real *a, const real *b, size_t n)
{
    real block[BLOCK], part;
    double total = 0;
    for (size_t i = 0; i < n; i += BLOCK) {
        size_t length = size_min(BLOCK, n - i);
        k->sub(a + i, b + i, block, length);
        k->dot(block, block, length, &part);
        total += (double)part;
    }
    return (real)total;
}

static status sqdist_piece(void *context, size_t piece, size_t worker)
{
    const struct sqdist *w = context;
    size_t m = w->a.rows, n = w->b.rows, depth = w->a.columns;
    struct range r = piece_range(w->y.batch * m, w->grain, piece);
    (void)worker;
    for (size_t i = r.from; i < r.to; i++) {
        const real *a = matrix_at(&w->a, i / m) + i % m * depth, *b = matrix_at(&w->b, i / m);
        for (size_t j = 0; j < n; j++) w->y.data[i * n + j] = row_distance(w->k, a, b + j * depth, depth);
    }
    return OK;
}

/* dx += sum over j of 2 dy[j] (a - b[j]); dy has step `step`. */
static void row_grad(const struct sqdist *w, const real *a, const real *b, const real *dy, size_t step, real *dx)
{
    real block[BLOCK];
    size_t n = w->a.columns;
    for (size_t i = 0; i < n; i += BLOCK) {
        size_t length = size_min(BLOCK, n - i);
        for (size_t j = 0; j < w->b.rows; j++) {
            w->k->sub(a + i, b + j * n + i, block, length);
            w->k->axpy(2 * dy[j * step], block, dx + i, length);
        }
    }
}

/* A side whose one matrix served all gets the sum over the batch. */
static status sqdist_grad_piece(void *context, size_t piece, size_t worker)
{
    const struct sqdist *w = context;
    size_t m = w->a.rows, depth = w->a.columns;
    struct range r = piece_range(w->a.batch * m, w->grain, piece);
    (void)worker;
    for (size_t i = r.from; i < r.to; i++) {
        size_t first = w->a.batch == 1 ? 0 : i / m, end = w->a.batch == 1 ? w->y.batch : first + 1;
        for (size_t batch = first; batch < end; batch++) {
            const real *dy = matrix_at(&w->y, batch) + i % m * (w->to_b ? 1 : w->y.columns);
            row_grad(w, w->a.data + i * depth, matrix_at(&w->b, batch), dy, w->to_b ? w->y.columns : 1,
                     w->dx + i * depth);
        }
    }
    return OK;
}

status R(prim_sqdist)(struct device *d, const tensor *a, const tensor *b, tensor *y)
{
    struct sqdist w = {KERNELS(d), matrices_of(a), matrices_of(b), matrices_of(y), false, NULL, 0};
    w.grain = size_max(1, 2 * GRAIN / size_max(1, w.b.rows * w.a.columns));
    return pool_run(cpu_of(d)->threads, pieces_of(w.y.batch * w.a.rows, w.grain), sqdist_piece, &w);
}

status R(prim_sqdist_grad)(struct device *d, const tensor *a, const tensor *b, const tensor *dy, bool to_b, tensor *dx)
{
    struct sqdist w = {
        KERNELS(d), matrices_of(to_b ? b : a), matrices_of(to_b ? a : b), matrices_of(dy), to_b, reals(dx), 0};
    w.grain = size_max(1, 2 * GRAIN / size_max(1, w.b.rows * w.a.columns));
    return pool_run(cpu_of(d)->threads, pieces_of(w.a.batch * w.a.rows, w.grain), sqdist_grad_piece, &w);
}
