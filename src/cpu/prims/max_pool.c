/* max_pool.c - the largest number under each window of a channels-last map, and its derivative.
 *
 * A NaN counts as the largest, so that it is seen. Among equals the first takes the gradient, row by row. Windows may
 * overlap, so the derivative is cut by pictures: no two pieces add to the same place. */
#include "cpu/prims/prim.h"

struct windows {
    const real *x, *dy;
    real *out;      /* y, or dx */
    size_t h, w, c; /* of x */
    size_t oh, ow;  /* of the result */
    struct pool_shape s;
    size_t rows, grain; /* of all results; of a piece */
};

/* The part of the window that begins at `at` - pad that lies within `size`. */
static struct range within(size_t at, const struct pool_shape *s, size_t size)
{
    return (struct range){at > s->pad ? at - s->pad : 0, size_min(size, at + s->size - s->pad)};
}

/* The offset of the largest number of channel c under pixel `column` of row `row` of all results. */
static size_t largest(const struct windows *p, size_t row, size_t column, size_t c)
{
    const struct range down = within(row % p->oh * p->s.stride, &p->s, p->h);
    const struct range across = within(column * p->s.stride, &p->s, p->w);
    const size_t picture = row / p->oh * p->h;
    size_t best = ((picture + down.from) * p->w + across.from) * p->c + c;
    for (size_t y = down.from; y < down.to; y++)
        for (size_t x = across.from; x < across.to; x++) {
            const size_t at = ((picture + y) * p->w + x) * p->c + c;
            if (p->x[at] > p->x[best] || (p->x[at] != p->x[at] && p->x[best] == p->x[best])) best = at;
        }
    return best;
}

static status windows_piece(void *context, size_t piece, size_t worker)
{
    const struct windows *p = context;
    const struct range r = piece_range(p->rows, p->grain, piece);
    (void)worker;
    for (size_t i = r.from * p->ow; i < r.to * p->ow; i++)
        for (size_t c = 0; c < p->c; c++) p->out[i * p->c + c] = p->x[largest(p, i / p->ow, i % p->ow, c)];
    return OK;
}

static status windows_grad_piece(void *context, size_t piece, size_t worker)
{
    const struct windows *p = context;
    const struct range r = piece_range(p->rows, p->grain, piece);
    (void)worker;
    for (size_t i = r.from * p->ow; i < r.to * p->ow; i++)
        for (size_t c = 0; c < p->c; c++) p->out[largest(p, i / p->ow, i % p->ow, c)] += p->dy[i * p->c + c];
    return OK;
}

static struct windows windows_of(const tensor *x, const tensor *y, struct pool_shape s)
{
    return (struct windows){.x = reals(x),
                            .h = x->dim[1],
                            .w = x->dim[2],
                            .c = x->dim[3],
                            .oh = y->dim[1],
                            .ow = y->dim[2],
                            .s = s,
                            .rows = y->dim[0] * y->dim[1]};
}

status R(prim_max_pool)(struct device *d, const tensor *x, struct pool_shape s, tensor *y)
{
    struct windows p = windows_of(x, y, s);
    p.out = reals(y);
    p.grain = size_max(1, GRAIN / size_max(1, p.ow * p.c * s.size));
    return pool_run(cpu_of(d)->threads, pieces_of(p.rows, p.grain), windows_piece, &p);
}

status R(prim_max_pool_grad)(struct device *d, const tensor *x, const tensor *dy, struct pool_shape s, tensor *dx)
{
    struct windows p = windows_of(x, dy, s);
    p.dy = reals(dy);
    p.out = reals(dx);
    p.grain = size_max(1, p.oh);
    return pool_run(cpu_of(d)->threads, pieces_of(p.rows, p.grain), windows_grad_piece, &p);
}
