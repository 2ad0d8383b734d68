/* rgb_norm_grad.c - the derivative of a first layer with its batch norm, activation and 2x2 pooling, in one pass.
 *
 * With z = w . p the convolution (p: the 27 numbers under the filter), e = z - mean, i = 1 / deviation, g the gradient behind
 * the norm and sums over the m pixels of a channel:
 *     dbias = sum g,  dgain = i sum g e,  dz = gain i (g - sum g / m - e i i sum g e / m),  dw = sum dz p.
 * z is linear in p, so sum g e = w . D - mean sum g with D = sum g p, and
 *     dw = gain i (D - sum g / m sum p - i i sum g e / m ((sum p p') w - mean sum p)),
 * where the sums of p and p p' are known from the way forward (rgb_stats.c). What is left to add up are sum g and D. A piece
 * makes two rows of z again, turns them into g where they lie, in the cache, and multiplies: neither z nor its gradient is
 * ever stored. */
#include "cpu/prims/rgb_norm.h"
#include <math.h>
#include <string.h>

enum { BAND = 14, MOST_PIECES = 256, ROWS = RGB_PATCH + 1 }; /* BAND: pairs of rows; the last row of sums is sum g */

struct grad {
    struct device *d;
    const kernel_table *k;
    const struct rgb_norm_args *a;
    struct R(frame) from;
    struct rgb_bands b; /* of pairs of rows */
    size_t ow, out, lanes;
    struct rgb_row row;
    struct norm_pixels pixels;
    const real *dy;
    real *parts;   /* [pieces][ROWS, out] */
    double *total; /* [ROWS, out] */
};

static size_t frame_count(const struct grad *g) { return (2 * g->b.band + 2) * g->from.width * 3; }
static size_t pair_count(const struct grad *g) { return 2 * g->ow * g->out + GEMM_MAX_WIDTH; }
static size_t scratch_bytes(const struct grad *g) { return (frame_count(g) + pair_count(g)) * sizeof(real); }

/* The gradients of two rows of z, over the squares alone: an odd last column has none. */
static void make_pair(const struct grad *g, const real *frame, const real *dy, real *z)
{
    struct rgb_row row = g->row;
    struct norm_pixels p = g->pixels;
    for (size_t y = 0; y < 2; y++) {
        row.x = frame + y * row.line;
        g->k->conv_rgb(&row, z + y * g->ow * g->out);
    }
    p.x[0] = z;
    g->k->norm_act_grad(&p, dy, z, NULL);
}

static void add_pair(const struct grad *g, const real *frame, const real *z, real *sums, bool add)
{
    static const real one = 1;
    const size_t columns = g->ow / 2 * 2, width = g->k->gemm_width;
    for (size_t y = 0; y < 2; y++, add = true, z += g->ow * g->out) {
        for (size_t line = 0; line < 3; line++)
            g->k->gemm(RGB_ROW, g->out, columns, frame + (y + line) * g->row.line, 1, 3, z, g->out, width,
                       sums + line * RGB_ROW * g->out, g->out, add);
        g->k->gemm(1, g->out, columns, &one, 0, 0, z, g->out, width, sums + RGB_PATCH * g->out, g->out, add);
    }
}

static status band_piece(void *context, size_t piece, size_t worker)
{
    const struct grad *g = context;
    const struct range units = piece_range(g->b.units, g->b.per, piece);
    real *sums = g->parts + piece * ROWS * g->out;
    void *scratch;
    const status st = cpu_scratch(cpu_of(g->d), worker, scratch_bytes(g), &scratch);
    if (st != OK) return st;
    real *frame = scratch, *z = frame + frame_count(g);
    for (size_t i = 0; i < GEMM_MAX_WIDTH; i++)
        z[2 * g->ow * g->out + i] = 0; /* read, for nothing, by the last panel */
    for (size_t unit = units.from; unit < units.to; unit++) {
        const size_t picture = unit / g->b.bands;
        const struct range r = piece_range(g->b.rows, g->b.band, unit % g->b.bands);
        R(frame_copy)(&g->from, picture, 2 * r.from, 2 * (r.to - r.from) + 2, frame);
        for (size_t y = r.from; y < r.to; y++) {
            const real *at = frame + 2 * (y - r.from) * g->row.line;
            make_pair(g, at, g->dy + (picture * g->b.rows + y) * (g->ow / 2) * g->out, z);
            add_pair(g, at, z, sums, unit > units.from || y > r.from);
        }
    }
    return OK;
}

static status join_piece(void *context, size_t row, size_t worker)
{
    const struct grad *g = context;
    double *to = g->total + row * g->out;
    (void)worker;
    for (size_t j = 0; j < g->out; j++) to[j] = 0;
    for (size_t p = 0; p < g->b.pieces; p++)
        for (size_t j = 0; j < g->out; j++) to[j] += (double)g->parts[(p * ROWS + row) * g->out + j];
    return OK;
}

static void finish(const struct grad *g, size_t j, const struct rgb_norm_grads *to)
{
    const struct rgb_norm_args *a = g->a;
    const double *moments = a->moments->data, *sum_p = moments + RGB_PATCH * RGB_PATCH;
    const real *w = reals(a->w) + j * RGB_PATCH;
    const double m = (double)(a->x->dim[0] * (a->x->dim[1] + 2 * a->pad - 2) * g->ow);
    const double mean = (double)reals(a->mean)[j], sum = g->total[RGB_PATCH * g->out + j];
    const double inverse = 1 / sqrt((double)reals(a->variance)[j] + a->epsilon);
    const double scale = (double)reals(a->gain)[j] * inverse;
    double product = -mean * sum; /* sum g e */
    for (size_t i = 0; i < RGB_PATCH; i++) product += (double)w[rgb_weight(i)] * g->total[i * g->out + j];
    if (to->bias) reals(to->bias)[j] += (real)sum;
    if (to->gain) reals(to->gain)[j] += (real)(inverse * product);
    for (size_t i = 0; to->w && i < RGB_PATCH; i++) {
        double e = -mean * sum_p[i]; /* sum e p */
        for (size_t t = 0; t < RGB_PATCH; t++) e += moments[i * RGB_PATCH + t] * (double)w[rgb_weight(t)];
        const double dw = g->total[i * g->out + j] - (sum * sum_p[i] + inverse * inverse * product * e) / m;
        reals(to->w)[j * RGB_PATCH + rgb_weight(i)] += (real)(scale * dw);
    }
}

/* Filters in their order for the kernel, and the vectors of the channels; zeros behind the last of each. */
static void prepare(struct grad *g, real *memory)
{
    const size_t lanes = g->lanes;
    real *w = memory, *zero = w + RGB_PATCH * lanes, *unit = zero + lanes, *shift = unit + lanes;
    for (size_t j = 0; j < lanes; j++) {
        const bool there = j < g->out;
        for (size_t i = 0; i < RGB_PATCH; i++)
            w[i * lanes + j] = there ? reals(g->a->scaled)[j * RGB_PATCH + rgb_weight(i)] : 0;
        zero[j] = 0;
        unit[j] = there;
        shift[j] = there ? reals(g->a->shift)[j] : 0;
    }
    g->row = (struct rgb_row){.line = g->from.width * 3, .w = w, .pixels = g->ow, .channels = g->out};
    g->pixels = (struct norm_pixels){.n = g->ow / 2, .c = g->out, .below = g->ow * g->out, .slope = g->a->slope};
    g->pixels.mean[0] = g->pixels.tilt[0] = g->pixels.offset[0] = zero;
    g->pixels.scale[0] = unit;
    g->pixels.bias[0] = shift;
}

status R(prim_rgb_norm_grad)(struct device *d, const struct rgb_norm_args *a, const tensor *dy,
                             const struct rgb_norm_grads *to)
{
    const size_t out = a->w->dim[0], lanes = size_round_up(out, size_max(RGB_LANES, NORM_LANES));
    struct grad g = {.d = d, .k = KERNELS(d), .a = a, .from = R(rgb_frame)(a->x, a->pad), .out = out, .lanes = lanes};
    status st = OK;
    void *memory;
    g.ow = g.from.width - 2;
    g.dy = reals(dy);
    g.b = rgb_bands_of(dy->dim[0], dy->dim[1], BAND, MOST_PIECES);
    const size_t vectors = (RGB_PATCH + 3) * lanes, parts = g.b.pieces * ROWS * out;
    TRY(cpu_shared(cpu_of(d), ROWS * out * sizeof(double) + (vectors + parts) * sizeof(real), &memory));
    g.total = memory;
    g.parts = (real *)(g.total + ROWS * out) + vectors;
    prepare(&g, (real *)(g.total + ROWS * out));
    TRY(cpu_reserve(cpu_of(d), scratch_bytes(&g)));
    TRY(pool_run(cpu_of(d)->threads, g.b.pieces, band_piece, &g));
    TRY(pool_run(cpu_of(d)->threads, ROWS, join_piece, &g));
    for (size_t j = 0; j < out; j++) finish(&g, j, to);
done:
    return st;
}
