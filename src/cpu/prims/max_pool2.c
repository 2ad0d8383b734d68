/* max_pool2.c - the largest of each 2 x 2 square of a channels-last map, and its derivative.
 *
 * A NaN counts as the largest, so that it is seen. Among equals the first takes the gradient, row by row. */
#include "cpu/prims/prim.h"

struct pool2 {
    const real *x, *dy;
    real *out;            /* y, or dx */
    size_t rows, h, w, c; /* rows: of all outputs; h, w, c: of x */
    size_t grain;
};

/* x's four pixels under pixel `column` of output row `row`: the offset of the first one. */
static size_t corner(const struct pool2 *p, size_t row, size_t column)
{
    const size_t oh = p->h / 2, picture = row / oh, y = row % oh;
    return ((picture * p->h + 2 * y) * p->w + 2 * column) * p->c;
}

/* Which of the four offsets holds the largest. */
static inline size_t largest(const real *x, const size_t at[4])
{
    size_t best = 0;
    for (size_t i = 1; i < 4; i++)
        if (x[at[i]] > x[at[best]] || (x[at[i]] != x[at[i]] && x[at[best]] == x[at[best]])) best = i;
    return at[best];
}

static status pool2_piece(void *context, size_t piece, size_t worker)
{
    const struct pool2 *p = context;
    const struct range r = piece_range(p->rows, p->grain, piece);
    const size_t ow = p->w / 2, line = p->w * p->c, at[4] = {0, p->c, line, line + p->c};
    (void)worker;
    for (size_t i = r.from * ow; i < r.to * ow; i++) {
        const real *x = p->x + corner(p, i / ow, i % ow);
        for (size_t c = 0; c < p->c; c++) p->out[i * p->c + c] = (x + c)[largest(x + c, at)];
    }
    return OK;
}

static status pool2_grad_piece(void *context, size_t piece, size_t worker)
{
    const struct pool2 *p = context;
    const struct range r = piece_range(p->rows, p->grain, piece);
    const size_t ow = p->w / 2, line = p->w * p->c, at[4] = {0, p->c, line, line + p->c};
    (void)worker;
    for (size_t i = r.from * ow; i < r.to * ow; i++) {
        const size_t from = corner(p, i / ow, i % ow);
        for (size_t c = 0; c < p->c; c++) p->out[from + c + largest(p->x + from + c, at)] += p->dy[i * p->c + c];
    }
    return OK;
}

static status pool2_run(struct device *d, pool_piece piece, const tensor *x, const tensor *dy, tensor *out)
{
    struct pool2 p = {.x = reals(x), .dy = dy ? reals(dy) : NULL, .out = reals(out)};
    p.h = x->dim[1];
    p.w = x->dim[2];
    p.c = x->dim[3];
    p.rows = x->dim[0] * (p.h / 2);
    p.grain = size_max(1, GRAIN / size_max(1, p.w / 2 * p.c));
    return pool_run(cpu_of(d)->threads, pieces_of(p.rows, p.grain), piece, &p);
}

status R(prim_max_pool2)(struct device *d, const tensor *x, tensor *y) { return pool2_run(d, pool2_piece, x, NULL, y); }

status R(prim_max_pool2_grad)(struct device *d, const tensor *x, const tensor *dy, tensor *dx)
{
    return pool2_run(d, pool2_grad_piece, x, dy, dx);
}
