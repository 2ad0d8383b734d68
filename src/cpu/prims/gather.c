/* gather.c - rows picked along an axis by index, and the derivative, which adds them back.
 *
 * The axis describes the tensor that is picked from: x, or dx. An index may repeat; the derivative therefore adds the
 * picks of one slice in order, and only different slices run side by side. */
#include "cpu/prims/prim.h"
#include <string.h>

struct gather {
    const kernel_table *k;
    struct axis a;
    const int *index; /* [picks] */
    size_t picks;
    const real *from; /* x [outer, n, inner], or dy [outer, picks, inner] */
    real *to;
    size_t grain; /* rows of y, or outer slices of dx, in a piece */
};

static status gather_piece(void *context, size_t piece, size_t worker)
{
    const struct gather *w = context;
    struct range r = piece_range(w->a.outer * w->picks, w->grain, piece);
    size_t inner = w->a.inner;
    (void)worker;
    for (size_t i = r.from; i < r.to; i++) {
        size_t row = i / w->picks * w->a.n + (size_t)w->index[i % w->picks];
        if (inner == 1) w->to[i] = w->from[row];
        else memcpy(w->to + i * inner, w->from + row * inner, inner * sizeof(real));
    }
    return OK;
}

static status gather_grad_piece(void *context, size_t piece, size_t worker)
{
    const struct gather *w = context;
    struct range r = piece_range(w->a.outer, w->grain, piece);
    size_t inner = w->a.inner;
    (void)worker;
    for (size_t i = r.from * w->picks; i < r.to * w->picks; i++) {
        real *to = w->to + (i / w->picks * w->a.n + (size_t)w->index[i % w->picks]) * inner;
        if (inner == 1) *to += w->from[i];
        else w->k->add(to, w->from + i * inner, to, inner);
    }
    return OK;
}

status R(prim_gather)(struct device *d, const tensor *x, const tensor *index, struct axis a, tensor *y)
{
    struct gather w = {KERNELS(d), a, ints(index), tensor_count(index), reals(x), reals(y), 0};
    w.grain = size_max(1, 2 * GRAIN / size_max(1, a.inner));
    return pool_run(cpu_of(d)->threads, pieces_of(a.outer * w.picks, w.grain), gather_piece, &w);
}

status R(prim_gather_grad)(struct device *d, const tensor *index, const tensor *dy, struct axis a, tensor *dx)
{
    struct gather w = {KERNELS(d), a, ints(index), tensor_count(index), reals(dy), reals(dx), 0};
    w.grain = size_max(1, 2 * GRAIN / size_max(1, a.inner * w.picks));
    return pool_run(cpu_of(d)->threads, pieces_of(a.outer, w.grain), gather_grad_piece, &w);
}
