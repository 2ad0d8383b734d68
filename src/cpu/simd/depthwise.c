/* depthwise.c - a depthwise convolution's row on vectors of channels. See cpu/portable/depthwise.c.
 *
 * Neighbouring pixels share most of what lies under their filters: PIXELS of them are made at a time, their channels
 * inside, so that a number of the map is loaded once for them all and the result is written in its order. Only pixels
 * whose filter reaches beyond an edge of the map are made one by one. */
#include "base/size.h"
#include "cpu/simd/vec.h"

#define INLINE static inline __attribute__((always_inline))
#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

enum { PIXELS = 4 };

/* vec_max and vec_min give their second where there is a NaN. */
INLINE vec cut(vec z, vec ceiling) { return vec_min(ceiling, vec_max(vec_zero(), z)); }

INLINE vec finished(const struct depthwise_row *r, vec z, size_t c, size_t lanes)
{
    if (r->scale)
        z = vec_fma(z, vec_load_some((const real *)r->scale + c, lanes),
                    vec_load_some((const real *)r->shift + c, lanes));
    return r->ceiling > 0 ? cut(z, vec_set((real)r->ceiling)) : z;
}

/* Outputs from x on, whose taps are all there, for the vector of channels at c. pixels, rows, taps and stride are constants
 * at the calls that matter, so that loops vanish and numbers under two pixels are loaded once. */
INLINE void group(const struct depthwise_row *r, const size_t pixels, const size_t rows, const size_t taps,
                  const size_t stride, const real *x, size_t c, size_t lanes, real *y)
{
    const real *w = (const real *)r->w + c;
    vec sum[PIXELS];
    UNROLL for (size_t p = 0; p < pixels; p++) sum[p] = vec_zero();
    UNROLL for (size_t row = 0; row < rows; row++) UNROLL for (size_t tap = 0; tap < taps; tap++)
    {
        const vec by = vec_load_some(w + (row * taps + tap) * r->channels, lanes);
        UNROLL for (size_t p = 0; p < pixels; p++)
        {
            const real *at = x + row * r->line + (p * stride + tap) * r->channels + c;
            sum[p] = vec_fma(vec_load_some(at, lanes), by, sum[p]);
        }
    }
    UNROLL for (size_t p = 0; p < pixels; p++)
        vec_store_some(y + p * r->channels + c, finished(r, sum[p], c, lanes), lanes);
}

/* All channels of such outputs. */
INLINE void groups(const struct depthwise_row *r, const size_t pixels, const size_t rows, const size_t taps,
                   const size_t stride, const real *x, real *y)
{
    size_t c = 0;
    for (; c + V <= r->channels; c += V) group(r, pixels, rows, taps, stride, x, c, V, y);
    if (c < r->channels) group(r, pixels, rows, taps, stride, x, c, r->channels - c, y);
}

static void by_three(const struct depthwise_row *r, const real *x, real *y) { groups(r, PIXELS, 3, 3, 1, x, y); }
static void by_three_two(const struct depthwise_row *r, const real *x, real *y) { groups(r, PIXELS, 3, 3, 2, x, y); }
static void by_any(const struct depthwise_row *r, const real *x, real *y)
{
    groups(r, PIXELS, r->rows, r->taps, r->stride, x, y);
}

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
        vec_store_some(y + pixel * r->channels + c, finished(r, sum, c, lanes), lanes);
    }
}

void K(depthwise)(const struct depthwise_row *r, real *y)
{
    void (*run)(const struct depthwise_row *, const real *, real *) = by_any;
    if (r->rows == 3 && r->taps == 3 && r->stride == 1) run = by_three;
    if (r->rows == 3 && r->taps == 3 && r->stride == 2) run = by_three_two;
    for (size_t i = 0; i < r->pixels;) {
        const size_t at = i * r->stride, end = at + r->taps; /* from `left` columns before the map */
        const size_t last = (i + PIXELS - 1) * r->stride + r->taps;
        if (at >= r->left && i + PIXELS <= r->pixels && last <= r->columns + r->left) {
            run(r, (const real *)r->x + (at - r->left) * r->channels, y + i * r->channels);
            i += PIXELS;
            continue;
        }
        const size_t from = at < r->left ? size_min(r->left - at, r->taps) : 0;
        const size_t beyond = end > r->columns + r->left ? size_min(end - r->columns - r->left, r->taps - from) : 0;
        at_edge(r, i++, from, r->taps - beyond, y);
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
