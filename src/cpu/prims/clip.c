/* clip.c - numbers kept between two bounds, and the derivative of that. */
#include "cpu/prims/prim.h"

struct clip {
    const real *x, *dy;
    real low, high, *out;
    size_t count;
};

/* Written so that NaN stays. */
static real clipped(real x, real low, real high) { return x < low ? low : x > high ? high : x; }

static status clip_piece(void *context, size_t piece, size_t worker)
{
    const struct clip *w = context;
    const struct range r = piece_range(w->count, GRAIN, piece);
    (void)worker;
    for (size_t i = r.from; i < r.to; i++) w->out[i] = clipped(w->x[i], w->low, w->high);
    return OK;
}

static status clip_grad_piece(void *context, size_t piece, size_t worker)
{
    const struct clip *w = context;
    const struct range r = piece_range(w->count, GRAIN, piece);
    (void)worker;
    for (size_t i = r.from; i < r.to; i++) w->out[i] += w->x[i] > w->low && w->x[i] < w->high ? w->dy[i] : 0;
    return OK;
}

status R(prim_clip)(struct device *d, const tensor *x, double low, double high, tensor *y)
{
    struct clip w = {reals(x), NULL, (real)low, (real)high, reals(y), tensor_count(x)};
    return pool_run(cpu_of(d)->threads, pieces_of(w.count, GRAIN), clip_piece, &w);
}

status R(prim_clip_grad)(struct device *d, const tensor *x, const tensor *dy, double low, double high, tensor *dx)
{
    struct clip w = {reals(x), reals(dy), (real)low, (real)high, reals(dx), tensor_count(x)};
    return pool_run(cpu_of(d)->threads, pieces_of(w.count, GRAIN), clip_grad_piece, &w);
}
