/* depthwise.c - convolution of channels-last maps, each channel by a filter of its own, and its derivatives.
 *
 * There is nothing to multiply matrices of: outputs are a few sums over neighbouring pixels, channel by channel,
 * made by one kernel straight from the map. Filters are brought into the order of the pixels, [tap][channel]. */
#include "cpu/prims/depthwise.h"

struct depthwise {
    const kernel_table *k;
    const real *x, *taps, *dy; /* taps: [kh * kw][c] */
    real *out;                 /* y, dx, or the parts of dw, [parts][kh * kw][c] */
    size_t h, w, c, kh, kw, oh, ow;
    struct depthwise_shape s;
    const real *scale, *shift;
    double ceiling;
    size_t rows, grain; /* of all maps, those that pieces run over; of a piece */
};

enum { FEWEST_ROWS = 4 }; /* of a piece of outputs: a kernel makes so many at once */

void R(depthwise_order)(const tensor *w, real *taps)
{
    const size_t c = w->dim[0], count = w->dim[2] * w->dim[3];
    for (size_t t = 0; t < count; t++)
        for (size_t j = 0; j < c; j++) taps[t * c + j] = reals(w)[j * count + t];
}

static struct depthwise depthwise_of(struct device *d, const tensor *x, const tensor *w, const tensor *y,
                                     struct depthwise_shape s)
{
    return (struct depthwise){.k = KERNELS(d),
                              .h = x->dim[1],
                              .w = x->dim[2],
                              .c = x->dim[3],
                              .kh = w->dim[2],
                              .kw = w->dim[3],
                              .oh = y->dim[1],
                              .ow = y->dim[2],
                              .s = s};
}

/* Rows of the filter at output row oy that lie over a map of h rows. */
static struct range rows_within(size_t h, size_t kh, size_t top, size_t stride, size_t oy)
{
    const size_t at = oy * stride; /* from `top` rows before the map */
    return (struct range){at < top ? top - at : 0, size_min(kh, h + top - at)};
}

/* How many rows of outputs from the first of r on have the whole filter over the map; 0 if that one has not. */
static size_t whole_rows(const struct depthwise_over *o, size_t stride, struct range r)
{
    if (r.from * stride < o->top || o->h + o->top < o->kh) return 0;
    const size_t fitting = (o->h + o->top - o->kh) / stride + 1;
    return size_min(r.to, fitting) > r.from ? size_min(r.to, fitting) - r.from : 0;
}

void R(depthwise_band)(const kernel_table *k, const struct depthwise_rows *form, const struct depthwise_over *over,
                       size_t from, size_t to, real *y)
{
    struct depthwise_rows rows = *form;
    for (; from < to; from += rows.height, y += rows.height * rows.pixels * rows.channels) {
        const struct range within = rows_within(over->h, over->kh, over->top, rows.stride, from);
        rows.x = over->x + (from * rows.stride + within.from - over->top) * rows.line;
        rows.w = over->taps + within.from * rows.taps * rows.channels;
        rows.rows = within.to - within.from;
        rows.height = size_max(1, whole_rows(over, rows.stride, (struct range){from, to}));
        k->depthwise(&rows, y);
    }
}

static status forward_piece(void *context, size_t piece, size_t worker)
{
    const struct depthwise *p = context;
    const size_t shares = pieces_of(p->oh, p->grain), picture = piece / shares;
    const struct range r = piece_range(p->oh, p->grain, piece % shares);
    const struct depthwise_rows form = {.columns = p->w,
                                        .line = p->w * p->c,
                                        .taps = p->kw,
                                        .stride = p->s.stride,
                                        .left = p->s.left,
                                        .pixels = p->ow,
                                        .channels = p->c,
                                        .scale = p->scale,
                                        .shift = p->shift,
                                        .ceiling = p->ceiling};
    const struct depthwise_over over = {
        .x = p->x + picture * p->h * form.line, .taps = p->taps, .h = p->h, .kh = p->kh, .top = p->s.top};
    (void)worker;
    R(depthwise_band)(p->k, &form, &over, r.from, r.to, p->out + (picture * p->oh + r.from) * p->ow * p->c);
    return OK;
}

status R(prim_depthwise)(struct device *d, const struct depthwise_args *a, tensor *y)
{
    struct depthwise p = depthwise_of(d, a->x, a->w, y, a->shape);
    status st = OK;
    void *taps = a->ready ? a->ready->memory : NULL;
    if (!taps) {
        TRY(cpu_shared(cpu_of(d), tensor_count(a->w) * sizeof(real), &taps));
        R(depthwise_order)(a->w, taps);
    }
    p.x = reals(a->x);
    p.taps = taps;
    p.out = reals(y);
    p.scale = a->scale ? reals(a->scale) : NULL;
    p.shift = a->scale ? reals(a->shift) : NULL;
    p.ceiling = a->ceiling;
    p.grain = size_max(FEWEST_ROWS, GRAIN / size_max(1, p.ow * p.c));
    TRY(pool_run(cpu_of(d)->threads, y->dim[0] * pieces_of(p.oh, p.grain), forward_piece, &p));
done:
    return st;
}

status R(prim_depthwise_prepare)(struct device *d, const tensor *w, struct conv_ready *out)
{
    struct conv_ready ready = {.made = true};
    const status st = d->alloc(d, tensor_count(w) * sizeof(real), &ready.memory);
    if (st != OK) return st;
    R(depthwise_order)(w, ready.memory);
    *out = ready;
    return OK;
}

/* Pixels of an output row whose tap kx meets the map. */
static struct range pixels_within(const struct depthwise *p, size_t kx)
{
    const size_t first = kx >= p->s.left ? 0 : size_div_up(p->s.left - kx, p->s.stride);
    const size_t end = p->w + p->s.left > kx ? size_div_up(p->w + p->s.left - kx, p->s.stride) : 0;
    return (struct range){first, size_min(p->ow, end)};
}

/* A row of dx, row iy of its picture: every output row whose filter lies over it. */
static void grad_row(const struct depthwise *p, size_t picture, size_t iy, real *dx)
{
    for (size_t ky = 0; ky < p->kh && ky <= iy + p->s.top; ky++) {
        const size_t at = iy + p->s.top - ky, oy = at / p->s.stride;
        if (at % p->s.stride || oy >= p->oh) continue;
        const real *dy = p->dy + (picture * p->oh + oy) * p->ow * p->c;
        for (size_t kx = 0; kx < p->kw; kx++) {
            const struct range r = pixels_within(p, kx);
            const real *w = p->taps + (ky * p->kw + kx) * p->c;
            for (size_t ox = r.from; ox < r.to; ox++)
                p->k->mul_add(w, dy + ox * p->c, dx + (ox * p->s.stride + kx - p->s.left) * p->c, p->c);
        }
    }
}

static status grad_x_piece(void *context, size_t piece, size_t worker)
{
    const struct depthwise *p = context;
    const struct range r = piece_range(p->rows, p->grain, piece);
    (void)worker;
    for (size_t i = r.from; i < r.to; i++) grad_row(p, i / p->h, i % p->h, p->out + i * p->w * p->c);
    return OK;
}

status R(prim_depthwise_grad_x)(struct device *d, const tensor *w, const tensor *dy, struct depthwise_shape s,
                                tensor *dx)
{
    struct depthwise p = depthwise_of(d, dx, w, dy, s);
    status st = OK;
    void *taps;
    TRY(cpu_shared(cpu_of(d), tensor_count(w) * sizeof(real), &taps));
    R(depthwise_order)(w, taps);
    p.taps = taps;
    p.dy = reals(dy);
    p.out = reals(dx);
    p.rows = dx->dim[0] * p.h;
    p.grain = size_max(1, GRAIN / size_max(1, p.w * p.c * p.kh));
    TRY(pool_run(cpu_of(d)->threads, pieces_of(p.rows, p.grain), grad_x_piece, &p));
done:
    return st;
}

enum { MOST_PARTS = 64 }; /* of the derivative of filters: cut by the number of rows alone */

static status grad_w_piece(void *context, size_t piece, size_t worker)
{
    const struct depthwise *p = context;
    const struct range r = piece_range(p->rows, p->grain, piece);
    real *sums = p->out + piece * p->kh * p->kw * p->c;
    (void)worker;
    for (size_t i = 0; i < p->kh * p->kw * p->c; i++) sums[i] = 0;
    for (size_t i = r.from; i < r.to; i++) {
        const struct range over = rows_within(p->h, p->kh, p->s.top, p->s.stride, i % p->oh);
        for (size_t t = over.from * p->kw; t < over.to * p->kw; t++) {
            const struct range across = pixels_within(p, t % p->kw);
            const size_t iy = i % p->oh * p->s.stride + t / p->kw - p->s.top;
            const real *x = p->x + (i / p->oh * p->h + iy) * p->w * p->c, *dy = p->dy + i * p->ow * p->c;
            for (size_t ox = across.from; ox < across.to; ox++)
                p->k->mul_add(x + (ox * p->s.stride + t % p->kw - p->s.left) * p->c, dy + ox * p->c, sums + t * p->c,
                              p->c);
        }
    }
    return OK;
}

status R(prim_depthwise_grad_w)(struct device *d, const tensor *x, const tensor *dy, struct depthwise_shape s,
                                tensor *dw)
{
    struct depthwise p = depthwise_of(d, x, dw, dy, s);
    const size_t taps = p.kh * p.kw, numbers = taps * p.c;
    status st = OK;
    void *parts;
    p.x = reals(x);
    p.dy = reals(dy);
    p.rows = dy->dim[0] * p.oh;
    p.grain = size_max(1, size_div_up(p.rows, MOST_PARTS));
    TRY(cpu_shared(cpu_of(d), MOST_PARTS * numbers * sizeof(real), &parts));
    p.out = parts;
    TRY(pool_run(cpu_of(d)->threads, pieces_of(p.rows, p.grain), grad_w_piece, &p));
    for (size_t i = 0; i < numbers; i++) {
        double sum = 0;
        for (size_t part = 0; part < pieces_of(p.rows, p.grain); part++) sum += (double)p.out[part * numbers + i];
        reals(dw)[i % p.c * taps + i / p.c] += (real)sum;
    }
done:
    return st;
}
