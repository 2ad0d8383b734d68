/* conv_grad_w_thin.c - the derivative with respect to the weights of a first layer, whose pictures have few channels.
 *
 * There the result is small and dy is nearly all that is read, so dy should be read once, where it lies. A piece takes a
 * few bands of rows and adds the products of their rows to sums of its own, [kh * kw * in, out]; these are added up in
 * piece order at the end. Pieces are cut by shape, so no sum depends on the number of threads. */
#include "cpu/prims/thin.h"

enum { MOST_TAPS = 64, BAND = 32, MOST_PIECES = 256 };

struct thin {
    struct device *d;
    const kernel_table *k;
    struct R(frame) from;
    const real *dy;
    real *dw, *sums; /* sums: [pieces][kh * kw * in, out] */
    size_t kh, depth, stride, oh, ow, out;
    size_t bands, units, per, pieces; /* bands of a picture, of all, of a piece */
};

static size_t sums_of(const struct thin *c) { return c->kh * c->depth * c->out; }

static size_t frame_bytes(const struct thin *c)
{
    return ((size_min(BAND, c->oh) - 1) * c->stride + c->kh) * c->from.width * c->from.c * sizeof(real);
}

static void add_band(const struct thin *c, size_t unit, real *frame, real *sums, bool first)
{
    const size_t picture = unit / c->bands, line = c->from.width * c->from.c;
    const struct range r = piece_range(c->oh, BAND, unit % c->bands);
    const real *dy = c->dy + (picture * c->oh + r.from) * c->ow * c->out;
    R(frame_copy)(&c->from, picture, r.from * c->stride, (r.to - r.from - 1) * c->stride + c->kh, frame);
    for (size_t y = 0; y < r.to - r.from; y++, dy += c->ow * c->out)
        for (size_t ky = 0; ky < c->kh; ky++)
            c->k->gemm(c->depth, c->out, c->ow, frame + (y * c->stride + ky) * line, 1, c->stride * c->from.c, dy,
                       c->out, c->k->gemm_width, sums + ky * c->depth * c->out, c->out, !first || y > 0);
}

static status thin_piece(void *context, size_t piece, size_t worker)
{
    const struct thin *c = context;
    const struct range r = piece_range(c->units, c->per, piece);
    void *frame;
    const status st = cpu_scratch(cpu_of(c->d), worker, frame_bytes(c), &frame);
    if (st != OK) return st;
    for (size_t unit = r.from; unit < r.to; unit++)
        add_band(c, unit, frame, c->sums + piece * sums_of(c), unit == r.from);
    return OK;
}

/* One tap of one input channel, for all outputs. */
static status join_piece(void *context, size_t piece, size_t worker)
{
    const struct thin *c = context;
    const size_t in = c->from.c, taps = c->kh * c->depth / in, tap = piece / in, channel = piece % in;
    real *total = c->sums + piece * c->out;
    (void)worker;
    for (size_t i = 1; i < c->pieces; i++) c->k->add(total, total + i * sums_of(c), total, c->out);
    for (size_t j = 0; j < c->out; j++) c->dw[(j * in + channel) * taps + tap] += total[j];
    return OK;
}

/* A panel of dy must be readable to its end where it lies. */
bool R(thin_fits)(const kernel_table *k, const tensor *dw)
{
    return dw->dim[1] * dw->dim[2] * dw->dim[3] <= MOST_TAPS && dw->dim[0] % k->gemm_width == 0;
}

status R(thin_grad_w)(struct device *d, const struct R(frame) *from, size_t n, size_t stride, const tensor *dy,
                      const tensor *dw)
{
    status st = OK;
    struct thin c = {.d = d,
                     .k = KERNELS(d),
                     .from = *from,
                     .dy = reals(dy),
                     .dw = reals(dw),
                     .kh = dw->dim[2],
                     .depth = dw->dim[3] * from->c,
                     .stride = stride,
                     .oh = dy->dim[1],
                     .ow = dy->dim[2],
                     .out = dw->dim[0]};
    void *memory;
    c.bands = size_div_up(c.oh, BAND);
    c.units = n * c.bands;
    if (c.units == 0) return OK;
    c.per = size_div_up(c.units, MOST_PIECES);
    c.pieces = size_div_up(c.units, c.per);
    TRY(cpu_shared(cpu_of(d), c.pieces * sums_of(&c) * sizeof(real), &memory));
    c.sums = memory;
    TRY(cpu_reserve(cpu_of(d), frame_bytes(&c)));
    TRY(pool_run(cpu_of(d)->threads, c.pieces, thin_piece, &c));
    TRY(pool_run(cpu_of(d)->threads, c.kh * c.depth, join_piece, &c));
done:
    return st;
}
