/* leaky_relu.c - y = x where x is positive, else slope x; and its derivative. */
#include "cpu/prims/prim.h"

struct leaky {
    const real *x, *dy;
    real slope, *out;
    size_t count;
};

static status leaky_piece(void *context, size_t piece, size_t worker)
{
    const struct leaky *w = context;
    const struct range r = piece_range(w->count, GRAIN, piece);
    (void)worker;
    for (size_t i = r.from; i < r.to; i++) w->out[i] = w->x[i] * (w->x[i] > 0 ? 1 : w->slope);
    return OK;
}

static status leaky_grad_piece(void *context, size_t piece, size_t worker)
{
    const struct leaky *w = context;
    const struct range r = piece_range(w->count, GRAIN, piece);
    (void)worker;
    for (size_t i = r.from; i < r.to; i++) w->out[i] += w->dy[i] * (w->x[i] > 0 ? 1 : w->slope);
    return OK;
}

status R(prim_leaky_relu)(struct device *d, const tensor *x, double slope, tensor *y)
{
    struct leaky w = {reals(x), NULL, (real)slope, reals(y), tensor_count(x)};
    return pool_run(cpu_of(d)->threads, pieces_of(w.count, GRAIN), leaky_piece, &w);
}

status R(prim_leaky_relu_grad)(struct device *d, const tensor *x, const tensor *dy, double slope, tensor *dx)
{
    struct leaky w = {reals(x), reals(dy), (real)slope, reals(dx), tensor_count(x)};
    return pool_run(cpu_of(d)->threads, pieces_of(w.count, GRAIN), leaky_grad_piece, &w);
}
