/* conv_rgb.c - the convolution of a network's first layer: 3x3, stride 1, three colours.
 *
 * 27 products an output are too few to pay for anything but themselves: rows of outputs are made straight from the
 * frame (cpu/prims/frame.h), by a kernel that knows the number of taps, and written once; pooled if they are to be. */
#include "cpu/prims/conv_rgb.h"

enum { BAND = 16 }; /* rows of the result that a piece makes */

struct rgb {
    struct device *d;
    const kernel_table *k;
    struct R(frame) from;
    struct rgb_row row;       /* what all rows share */
    size_t high, bands, unit; /* rows of a picture's result, bands of them, frame rows a row of the result is apart */
    real *to;
};

/* [out, 3, 3, 3] to [tap, colour][out], zeros behind the last. */
static void pack(const real *w, size_t out, real *packed)
{
    const size_t step = size_round_up(out, RGB_LANES);
    for (size_t i = 0; i < RGB_TAPS; i++)
        for (size_t j = 0; j < step; j++) packed[i * step + j] = j < out ? w[j * RGB_TAPS + i % 3 * 9 + i / 3] : 0;
}

static size_t rows_under(const struct rgb *c, size_t rows) { return rows * c->unit + 2; }

static size_t frame_bytes(const struct rgb *c)
{
    return rows_under(c, size_min(BAND, c->high)) * c->row.line * sizeof(real);
}

static status rgb_piece(void *context, size_t piece, size_t worker)
{
    const struct rgb *c = context;
    const size_t picture = piece / c->bands, wide = c->row.pixels * c->row.channels;
    const struct range r = piece_range(c->high, BAND, piece % c->bands);
    struct rgb_row row = c->row;
    void *frame;
    const status st = cpu_scratch(cpu_of(c->d), worker, frame_bytes(c), &frame);
    if (st != OK) return st;
    R(frame_copy)(&c->from, picture, r.from * c->unit, rows_under(c, r.to - r.from), frame);
    for (size_t y = r.from; y < r.to; y++) {
        row.x = (const real *)frame + (y - r.from) * c->unit * row.line;
        c->k->conv_rgb(&row, c->to + (picture * c->high + y) * wide);
    }
    return OK;
}

status R(rgb_conv)(struct device *d, const struct R(frame) *from, size_t n, size_t oh, size_t ow, const tensor *w,
                   const struct R(epilogue) *end, real *to)
{
    status st = OK;
    void *packed;
    const size_t out = w->dim[0], unit = end->pool ? 2 : 1;
    struct rgb c = {.d = d, .k = KERNELS(d), .from = *from, .high = oh / unit, .unit = unit, .to = to};
    c.bands = size_div_up(c.high, BAND);
    if (n * c.bands == 0) return OK;
    TRY(cpu_shared(cpu_of(d), RGB_TAPS * size_round_up(out, RGB_LANES) * sizeof(real), &packed));
    pack(reals(w), out, packed);
    c.row = (struct rgb_row){.line = from->width * from->c,
                             .w = packed,
                             .pixels = ow / unit,
                             .channels = out,
                             .scale = end->scale,
                             .shift = end->shift,
                             .slope = (double)end->slope,
                             .pool = end->pool};
    TRY(cpu_reserve(cpu_of(d), frame_bytes(&c)));
    TRY(pool_run(cpu_of(d)->threads, n * c.bands, rgb_piece, &c));
done:
    return st;
}

bool R(rgb_fits)(struct device *d, const tensor *w, struct conv_shape s)
{
    return w->dim[1] == 3 && w->dim[2] == 3 && w->dim[3] == 3 && s.stride == 1 && cpu_of(d)->conv == CPU_CONV_AUTO;
}
