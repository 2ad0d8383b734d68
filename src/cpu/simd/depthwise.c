/* depthwise.c - a depthwise convolution's row on vectors of channels. See cpu/portable/depthwise.c.
 *
 * Neighbouring pixels share most of what lies under their filters: up to PIXELS of them are made at a time, their channels
 * inside, so that a number of the map is loaded once for them all and the result is written in its order. Only pixels
 * whose filter reaches beyond an edge of the map are made one by one. */
#include "base/size.h"
#include "cpu/simd/vec.h"

#define INLINE static inline __attribute__((always_inline))
#if defined(__clang__) /* it unrolls loops of constant length by itself, and warns where it is asked for others */
#define UNROLL
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

enum { PIXELS = 7 };

/* vec_max and vec_min give their second where there is a NaN. */
INLINE vec cut(vec z, vec ceiling) { return vec_min(ceiling, vec_max(vec_zero(), z)); }

/* What sums become before they are written; vectors for one place among the channels. */
struct finish {
    bool scales, cuts;
    vec scale, shift, ceiling;
};

INLINE struct finish finish_at(const struct depthwise_row *r, size_t c, size_t lanes)
{
    struct finish f = {.scales = r->scale, .cuts = r->ceiling > 0, .ceiling = vec_set((real)r->ceiling)};
    f.scale = f.shift = vec_zero();
    if (f.scales) {
        f.scale = vec_load_some((const real *)r->scale + c, lanes);
        f.shift = vec_load_some((const real *)r->shift + c, lanes);
    }
    return f;
}

INLINE vec finished(const struct finish *f, vec z)
{
    if (f->scales) z = vec_fma(z, f->scale, f->shift);
    return f->cuts ? cut(z, f->ceiling) : z;
}

/* Outputs from x on, whose taps are all there, for the vector of channels at c. pixels, rows, taps and stride are constants
 * at the calls that matter, so that loops vanish and numbers under two pixels are loaded once. */
INLINE void group(const struct depthwise_row *r, const size_t pixels, const size_t rows, const size_t taps,
                  const size_t stride, const real *x, size_t c, size_t lanes, real *y)
{
    const real *w = (const real *)r->w + c;
    const size_t channels = r->channels, line = r->line; /* which the compiler would load again after each store */
    vec sum[PIXELS];
    UNROLL for (size_t p = 0; p < pixels; p++) sum[p] = vec_zero();
    UNROLL for (size_t row = 0; row < rows; row++) UNROLL for (size_t tap = 0; tap < taps; tap++)
    {
        const vec by = vec_load_some(w + (row * taps + tap) * channels, lanes);
        UNROLL for (size_t p = 0; p < pixels; p++)
        {
            const real *at = x + row * line + (p * stride + tap) * channels + c;
            sum[p] = vec_fma(vec_load_some(at, lanes), by, sum[p]);
        }
    }
    const struct finish f = finish_at(r, c, lanes);
    UNROLL for (size_t p = 0; p < pixels; p++) vec_store_some(y + p * channels + c, finished(&f, sum[p]), lanes);
}

/* All channels of such outputs. */
INLINE void groups(const struct depthwise_row *r, const size_t pixels, const size_t rows, const size_t taps,
                   const size_t stride, const real *x, real *y)
{
    size_t c = 0;
    for (; c + V <= r->channels; c += V) group(r, pixels, rows, taps, stride, x, c, V, y);
    if (c < r->channels) group(r, pixels, rows, taps, stride, x, c, r->channels - c, y);
}

/* Groups of so many pixels, as many of them as fit; 7 divides the rows of pictures of 224 pixels. */
enum { SIZES = 3 };
static const size_t sizes[SIZES] = {PIXELS, 4, 1};

typedef void (*group_function)(const struct depthwise_row *r, const real *x, real *y);
#define GROUP(n) \
    static void three_##n(const struct depthwise_row *r, const real *x, real *y) { groups(r, n, 3, 3, 1, x, y); } \
    static void three_two_##n(const struct depthwise_row *r, const real *x, real *y) { groups(r, n, 3, 3, 2, x, y); } \
    static void any_##n(const struct depthwise_row *r, const real *x, real *y) \
    { \
        groups(r, n, r->rows, r->taps, r->stride, x, y); \
    }
/* a list, which the formatter takes for code */
/* clang-format off */
GROUP(7) GROUP(4) GROUP(1)
    /* clang-format on */

    static const group_function any[SIZES] = {any_7, any_4, any_1},
                                three[SIZES] = {three_7, three_4, three_1},
                                three_two[SIZES] = {three_two_7, three_two_4, three_two_1};

/* One output, of whose taps only [from, to) meet the map. */
static void at_edge(const struct depthwise_row *r, size_t pixel, size_t from, size_t to, real *y)
{
    const real *x = (const real *)r->x + (pixel * r->stride + from - r->left) * r->channels, *w = r->w;
    for (size_t c = 0; c < r->channels; c += V) {
        const size_t lanes = r->channels - c;
        vec sum = vec_zero();
        for (size_t row = 0; row < r->rows; row++)
            for (size_t tap = from; tap < to; tap++)
                sum = vec_fma(vec_load_some(x + row * r->line + (tap - from) * r->channels + c, lanes),
                              vec_load_some(w + (row * r->taps + tap) * r->channels + c, lanes), sum);
        const struct finish f = finish_at(r, c, lanes);
        vec_store_some(y + pixel * r->channels + c, finished(&f, sum), lanes);
    }
}

/* Outputs [from, to), whose taps all meet the map. */
static void inside(const struct depthwise_row *r, size_t from, size_t to, real *y)
{
    const bool square = r->rows == 3 && r->taps == 3;
    const group_function *run = square && r->stride == 1 ? three : square && r->stride == 2 ? three_two : any;
    for (size_t k = 0; k < SIZES; k++)
        for (; from + sizes[k] <= to; from += sizes[k])
            run[k](r, (const real *)r->x + (from * r->stride - r->left) * r->channels, y + from * r->channels);
}

void K(depthwise)(const struct depthwise_row *r, real *y)
{
    const size_t extent = r->columns + r->left; /* positions are counted from `left` columns before the map */
    const size_t first = size_min(r->pixels, size_div_up(r->left, r->stride));
    const size_t fitting = extent >= r->taps ? (extent - r->taps) / r->stride + 1 : 0;
    const size_t end = size_max(first, size_min(r->pixels, fitting));
    inside(r, first, end, y);
    for (size_t i = first ? 0 : end; i < r->pixels; i = i + 1 == first ? end : i + 1) {
        const size_t at = i * r->stride, from = at < r->left ? r->left - at : 0;
        const size_t to = at + r->taps > extent ? extent - at : r->taps;
        at_edge(r, i, from, to, y);
    }
}

void K(scale_shift_clip)(size_t rows, size_t channels, const real *scale, const real *shift, real ceiling, real *y)
{
    const vec top = vec_set(ceiling);
    for (size_t i = 0; i < rows; i++, y += channels)
        for (size_t c = 0; c < channels; c += V) {
            const size_t lanes = channels - c;
            const vec z = vec_fma(vec_load_some(y + c, lanes), vec_load_some(scale + c, lanes),
                                  vec_load_some(shift + c, lanes));
            vec_store_some(y + c, cut(z, top), lanes);
        }
}
