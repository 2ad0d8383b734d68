/* unary.c - y = f(x) for each element, and its derivative. */
#include "cpu/prims/prim.h"
#include <math.h>

struct unary {
    const kernel_table *k;
    enum unary_kind kind;
    const real *x, *y, *dy;
    real *out; /* y, or dx */
    size_t count;
};

/* log and sqrt go through double: its rounding is far below a float's. */
static status unary_piece(void *context, size_t piece, size_t worker)
{
    const struct unary *w = context;
    struct range r = piece_range(w->count, GRAIN, piece);
    const real *x = w->x + r.from;
    real *y = w->out + r.from;
    size_t n = r.to - r.from;
    (void)worker;
    switch (w->kind) {
    case UNARY_EXP: w->k->exp(x, y, n); break;
    case UNARY_RELU: w->k->relu(x, y, n); break;
    case UNARY_LOG:
        for (size_t i = 0; i < n; i++) y[i] = (real)log((double)x[i]);
        break;
    case UNARY_SQRT:
        for (size_t i = 0; i < n; i++) y[i] = (real)sqrt((double)x[i]);
        break;
    }
    return OK;
}

/* relu is tested on y, so that x is not needed; at 0 its derivative is 0. */
static status unary_grad_piece(void *context, size_t piece, size_t worker)
{
    const struct unary *w = context;
    struct range r = piece_range(w->count, GRAIN, piece);
    const real *x = w->x, *y = w->y, *dy = w->dy;
    real *dx = w->out;
    (void)worker;
    switch (w->kind) {
    case UNARY_EXP: w->k->mul_add(dy + r.from, y + r.from, dx + r.from, r.to - r.from); break;
    case UNARY_RELU:
        for (size_t i = r.from; i < r.to; i++) dx[i] += y[i] > 0 ? dy[i] : 0;
        break;
    case UNARY_LOG:
        for (size_t i = r.from; i < r.to; i++) dx[i] += dy[i] / x[i];
        break;
    case UNARY_SQRT:
        for (size_t i = r.from; i < r.to; i++) dx[i] += dy[i] / (2 * y[i]);
        break;
    }
    return OK;
}

status R(prim_unary)(struct device *d, enum unary_kind kind, const tensor *x, tensor *y)
{
    struct unary w = {.k = KERNELS(d), .kind = kind, .x = reals(x), .out = reals(y), .count = tensor_count(x)};
    return pool_run(cpu_of(d)->threads, pieces_of(w.count, GRAIN), unary_piece, &w);
}

status R(prim_unary_grad)(struct device *d, enum unary_kind kind, const tensor *x, const tensor *y, const tensor *dy,
                          tensor *dx)
{
    struct unary w = {KERNELS(d), kind,      x ? reals(x) : NULL, y ? reals(y) : NULL,
                      reals(dy),  reals(dx), tensor_count(dx)};
    return pool_run(cpu_of(d)->threads, pieces_of(w.count, GRAIN), unary_grad_piece, &w);
}
