/* broadcast.h - for files in cpu/prims: two tensors stretched to the shape of a third, seen as runs.
 *
 * Axes on which both tensors step alike are merged, so that most calls come down to one long run, or to one run and
 * one axis of runs. Along a run each tensor steps by 1 or, stretched, by 0. */
#ifndef CPU_PRIMS_BROADCAST_H
#define CPU_PRIMS_BROADCAST_H
#include "tensor/tensor.h"

struct broadcast {
    int rank;                        /* at least 1; axes stand innermost first */
    size_t dim[MAX_RANK];            /* dim[0] is the length of a run */
    size_t a[MAX_RANK], b[MAX_RANK]; /* steps; 0: stretched */
};

struct broadcast_at {
    size_t index[MAX_RANK];
    size_t a, b; /* offsets of the first element of the run */
};

/* Size of x on axis i of `rank` axes, aligned at the last one as in numpy. */
static inline size_t broadcast_size(const tensor *x, int rank, int i)
{
    int own = i - (rank - x->rank);
    return own < 0 ? 1 : x->dim[own];
}

static inline struct broadcast broadcast_make(const tensor *a, const tensor *b, const tensor *shape)
{
    struct broadcast c = {.rank = 0};
    size_t a_step = 1, b_step = 1;
    for (int i = shape->rank - 1; i >= 0; i--) {
        size_t n = shape->dim[i], an = broadcast_size(a, shape->rank, i), bn = broadcast_size(b, shape->rank, i);
        if (n == 1) continue;
        size_t sa = an == n ? a_step : 0, sb = bn == n ? b_step : 0;
        int last = c.rank - 1;
        if (last >= 0 && sa == c.a[last] * c.dim[last] && sb == c.b[last] * c.dim[last]) {
            c.dim[last] *= n;
        } else {
            c.dim[c.rank] = n;
            c.a[c.rank] = sa;
            c.b[c.rank++] = sb;
        }
        a_step *= an;
        b_step *= bn;
    }
    if (c.rank == 0) c = (struct broadcast){.rank = 1, .dim = {1}, .a = {1}, .b = {1}};
    return c;
}

static inline struct broadcast_at broadcast_seek(const struct broadcast *c, size_t run)
{
    struct broadcast_at at = {.a = 0};
    for (int i = 1; i < c->rank; i++) {
        at.index[i] = run % c->dim[i];
        at.a += at.index[i] * c->a[i];
        at.b += at.index[i] * c->b[i];
        run /= c->dim[i];
    }
    return at;
}

static inline void broadcast_next(const struct broadcast *c, struct broadcast_at *at)
{
    for (int i = 1; i < c->rank; i++) {
        at->a += c->a[i];
        at->b += c->b[i];
        if (++at->index[i] < c->dim[i]) return;
        at->index[i] = 0;
        at->a -= c->a[i] * c->dim[i];
        at->b -= c->b[i] * c->dim[i];
    }
}
#endif
