/* adaptive_pool.c - average pooling of pictures to a given size, and its derivative.
 *
 * Output row i of s averages the input rows from floor(i h / s) up to but not including ceil((i + 1) h / s); windows
 * overlap when s does not divide h. Columns likewise. */
#include "cpu/prims/prim.h"

struct pooling {
    const real *from; /* x, or dy */
    real *to;
    size_t planes, h, w; /* of x */
    size_t s, t;         /* of y */
    size_t grain;
};

static struct range window(size_t i, size_t in, size_t out)
{
    return (struct range){i * in / out, size_div_up((i + 1) * in, out)};
}

static status average_piece(void *context, size_t piece, size_t worker)
{
    const struct pooling *p = context;
    struct range r = piece_range(p->planes * p->s * p->t, p->grain, piece);
    (void)worker;
    for (size_t i = r.from; i < r.to; i++) {
        struct range row = window(i / p->t % p->s, p->h, p->s), column = window(i % p->t, p->w, p->t);
        const real *x = p->from + i / (p->s * p->t) * p->h * p->w;
        double sum = 0;
        for (size_t u = row.from; u < row.to; u++)
            for (size_t v = column.from; v < column.to; v++) sum += (double)x[u * p->w + v];
        p->to[i] = (real)(sum / (double)((row.to - row.from) * (column.to - column.from)));
    }
    return OK;
}

/* Windows overlap, so a piece holds whole planes. */
static status spread_piece(void *context, size_t piece, size_t worker)
{
    const struct pooling *p = context;
    struct range r = piece_range(p->planes, p->grain, piece);
    (void)worker;
    for (size_t i = r.from * p->s * p->t; i < r.to * p->s * p->t; i++) {
        struct range row = window(i / p->t % p->s, p->h, p->s), column = window(i % p->t, p->w, p->t);
        real *dx = p->to + i / (p->s * p->t) * p->h * p->w;
        real share = p->from[i] / (real)((row.to - row.from) * (column.to - column.from));
        for (size_t u = row.from; u < row.to; u++)
            for (size_t v = column.from; v < column.to; v++) dx[u * p->w + v] += share;
    }
    return OK;
}

static struct pooling pooling_of(const tensor *x, const tensor *y)
{
    return (struct pooling){.planes = tensor_span(x, 0, x->rank - 2),
                            .h = x->dim[x->rank - 2],
                            .w = x->dim[x->rank - 1],
                            .s = y->dim[y->rank - 2],
                            .t = y->dim[y->rank - 1]};
}

status R(prim_adaptive_pool)(struct device *d, const tensor *x, tensor *y)
{
    struct pooling p = pooling_of(x, y);
    size_t outputs = tensor_count(y);
    p.from = reals(x);
    p.to = reals(y);
    p.grain = size_max(1, GRAIN / size_max(1, size_div_up(p.h * p.w, size_max(1, p.s * p.t))));
    return pool_run(cpu_of(d)->threads, pieces_of(outputs, p.grain), average_piece, &p);
}

status R(prim_adaptive_pool_grad)(struct device *d, const tensor *dy, tensor *dx)
{
    struct pooling p = pooling_of(dx, dy);
    p.from = reals(dy);
    p.to = reals(dx);
    p.grain = size_max(1, GRAIN / size_max(1, size_max(p.h * p.w, p.s * p.t)));
    return pool_run(cpu_of(d)->threads, pieces_of(p.planes, p.grain), spread_piece, &p);
}
