/* conv_grad_w.c - the derivative of a convolution with respect to its weights: a matrix product whose long side is all
 * output pixels.
 *
 * Pictures are taken a few at a time. First each gets its frame (cpu/prims/frame.h) and its dy packed into panels; then
 * pieces that each own a block of the result, [filter row][kw * in][out], add the pictures to it in order. So no sum is
 * shared between pieces, and none depends on the number of threads. At the end the result is turned to [out, in, kh, kw]. */
#include "cpu/prims/thin.h"
#include "cpu/prims/winograd.h"

enum { CHUNK_BYTES = 16 << 20, ROWS = 84 };

struct conv_w {
    struct device *d;
    const kernel_table *k;
    struct R(frame) from;
    const real *dy;
    real *dw;
    size_t kh, kw, stride, oh, ow, out;
    size_t out_step;                   /* out, rounded up to whole panels */
    size_t frame_count, panel_count;   /* reals that a picture takes */
    real *sums, *frames, *panels;      /* [kh, kw, in, out_step], [chunk, ...], [chunk, ...] */
    size_t first, count;               /* pictures of this chunk */
    size_t depth, blocks, all_columns; /* kw * in, its blocks of ROWS, panels of out */
};

static status prepare_piece(void *context, size_t piece, size_t worker)
{
    const struct conv_w *c = context;
    const size_t picture = c->first + piece, pixels = c->oh * c->ow;
    (void)worker;
    R(frame_copy)(&c->from, picture, 0, (c->oh - 1) * c->stride + c->kh, c->frames + piece * c->frame_count);
    c->k->gemm_pack(pixels, c->out, c->dy + picture * pixels * c->out, c->out, 1, c->panels + piece * c->panel_count);
    return OK;
}

static status sum_piece(void *context, size_t piece, size_t worker)
{
    const struct conv_w *c = context;
    const size_t panel = piece / (c->kh * c->blocks), ky = piece / c->blocks % c->kh;
    const struct range r = piece_range(c->depth, ROWS, piece % c->blocks);
    const size_t width = c->k->gemm_width, line = c->from.width * c->from.c;
    real *sums = c->sums + (ky * c->depth + r.from) * c->out_step + panel * width;
    (void)worker;
    for (size_t i = 0; i < c->count; i++)
        c->k->gemm_sum(c->oh, c->stride * line, c->ow * width, r.to - r.from, width, c->ow,
                       c->frames + i * c->frame_count + ky * line + r.from, 1, c->stride * c->from.c,
                       c->panels + i * c->panel_count + panel * c->oh * c->ow * width, width, 0, sums, c->out_step,
                       c->first + i > 0);
    return OK;
}

static status turn_piece(void *context, size_t piece, size_t worker)
{
    const struct conv_w *c = context;
    const size_t taps = c->kh * c->kw, in = c->from.c;
    real *dw = c->dw + piece * in * taps;
    (void)worker;
    for (size_t i = 0; i < in; i++)
        for (size_t tap = 0; tap < taps; tap++) dw[i * taps + tap] += c->sums[(tap * in + i) * c->out_step + piece];
    return OK;
}

static status sum_pictures(struct conv_w *c, size_t n, size_t chunk)
{
    status st = OK;
    pool *threads = cpu_of(c->d)->threads;
    for (c->first = 0; c->first < n; c->first += chunk) {
        c->count = size_min(chunk, n - c->first);
        TRY(pool_run(threads, c->count, prepare_piece, c));
        TRY(pool_run(threads, c->all_columns * c->kh * c->blocks, sum_piece, c));
    }
    TRY(pool_run(threads, c->out, turn_piece, c));
done:
    return st;
}

status R(prim_conv2d_grad_w)(struct device *d, const tensor *x, const tensor *dy, struct conv_shape s, tensor *dw)
{
    const size_t n = x->dim[0], in = x->dim[3], kh = dw->dim[2], kw = dw->dim[3], pad = s.pad;
    struct conv_w c = {.d = d,
                       .k = KERNELS(d),
                       .dy = reals(dy),
                       .dw = reals(dw),
                       .kh = kh,
                       .kw = kw,
                       .stride = s.stride,
                       .oh = dy->dim[1],
                       .ow = dy->dim[2],
                       .out = dw->dim[0]};
    void *memory;
    c.from = (struct R(frame)){reals(x),       x->dim[1],      x->dim[2],           in,  1,
                               (ptrdiff_t)pad, (ptrdiff_t)pad, x->dim[2] + 2 * pad, NULL};
    if (R(winograd_fits)(d, dw, s, dy->dim[1], dy->dim[2])) {
        struct R(winograd) w = {.d = d, .k = c.k, .from = c.from, .n = n, .oh = c.oh, .ow = c.ow, .out = c.out};
        return R(winograd_grad_w)(&w, c.dy, c.dw);
    }
    if (R(thin_fits)(c.k, dw)) return R(thin_grad_w)(d, &c.from, n, s.stride, dy, dw);
    c.depth = kw * in;
    c.blocks = size_div_up(c.depth, ROWS);
    c.all_columns = size_div_up(c.out, c.k->gemm_width);
    c.out_step = c.all_columns * c.k->gemm_width;
    c.frame_count = ((c.oh - 1) * c.stride + kh) * c.from.width * in;
    c.panel_count = c.oh * c.ow * c.out_step;
    if (n == 0) return OK;
    const size_t picture_bytes = (c.frame_count + c.panel_count) * sizeof(real);
    const size_t chunk = size_max(1, size_min(n, CHUNK_BYTES / picture_bytes)), sums = kh * c.depth * c.out_step;
    const status st = cpu_shared(cpu_of(d), sums * sizeof(real) + chunk * picture_bytes, &memory);
    if (st != OK) return st;
    c.sums = memory;
    c.panels = c.sums + sums;
    c.frames = c.panels + chunk * c.panel_count;
    return sum_pictures(&c, n, chunk);
}
