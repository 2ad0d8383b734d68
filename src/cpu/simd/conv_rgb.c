/* conv_rgb.c - a first layer's row on vectors of channels. See cpu/portable/conv_rgb.c.
 *
 * Sums of a few neighbouring pixels and a few vectors of channels stay in the registers for all taps: a tap's
 * weights are loaded once for the pixels, a pixel's number once for the vectors. Groups of pixels come first and their
 * channels inside, so that the result is written in its order, once. */
#include "base/size.h"
#include "cpu/simd/vec.h"

#define INLINE static inline __attribute__((always_inline))
#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

#if defined(__AVX512F__)
enum { VECS = 4 };
#else
enum { VECS = 2 };
#endif
enum { PIXELS = 4, MOST = PIXELS * VECS }; /* more sums would fit the registers, but compilers then spill */

/* `rows` x `columns` outputs from x on, `vecs` vectors of channels from w on; all three constant at every call. */
INLINE void sum_taps(const struct rgb_row *r, const size_t rows, const size_t columns, const size_t vecs, const real *x,
                     const real *w, vec sum[MOST])
{
    const size_t step = size_round_up(r->channels, RGB_LANES);
    UNROLL for (size_t i = 0; i < rows * columns; i++) UNROLL for (size_t v = 0; v < vecs; v++)
        sum[i * vecs + v] = vec_zero();
    for (size_t line = 0; line < 3; line++, x += r->line - 9)
        for (const real *end = w + 9 * step; w < end; w += step, x++) { /* by count it would be unrolled, and spill */
            vec b[VECS];
            UNROLL for (size_t v = 0; v < vecs; v++) b[v] = vec_load(w + v * V);
            UNROLL for (size_t i = 0; i < rows * columns; i++)
            {
                const vec a = vec_broadcast(x + i / columns * r->line + i % columns * 3);
                UNROLL for (size_t v = 0; v < vecs; v++) sum[i * vecs + v] = vec_fma(a, b[v], sum[i * vecs + v]);
            }
        }
}

/* z scale + shift of outputs sum[i * vecs], for the vector of channels at c. */
INLINE void scale_all(const struct rgb_row *r, const size_t outputs, const size_t vecs, size_t c, size_t lanes,
                      vec *sum)
{
    const vec scale = vec_load_some((const real *)r->scale + c, lanes);
    const vec shift = vec_load_some((const real *)r->shift + c, lanes);
    UNROLL for (size_t i = 0; i < outputs; i++) sum[i * vecs] = vec_fma(sum[i * vecs], scale, shift);
}

INLINE vec bent(vec z, vec slope) { return vec_if_le(z, vec_zero(), vec_mul(slope, z), z); }

/* Neighbouring pixels of the result; `lanes` is V at the calls that matter, here and below. */
INLINE void tile(const struct rgb_row *r, const size_t pixels, const size_t vecs, size_t pixel, size_t c, size_t lanes,
                 real *y)
{
    vec sum[MOST];
    y += pixel * r->channels + c;
    sum_taps(r, 1, pixels, vecs, (const real *)r->x + 3 * pixel, (const real *)r->w + c, sum);
    if (r->scale) {
        const vec slope = vec_set((real)r->slope);
        UNROLL for (size_t v = 0; v < vecs; v++) scale_all(r, pixels, vecs, c + v * V, lanes, sum + v);
        UNROLL for (size_t i = 0; i < pixels * vecs; i++) sum[i] = bent(sum[i], slope);
    }
    UNROLL for (size_t i = 0; i < pixels; i++) UNROLL for (size_t v = 0; v < vecs; v++)
        vec_store_some(y + i * r->channels + v * V, sum[i * vecs + v], lanes);
}

/* One pixel of the result: the largest of four. */
INLINE void square(const struct rgb_row *r, const size_t vecs, size_t pixel, size_t c, size_t lanes, real *y)
{
    vec sum[MOST];
    y += pixel * r->channels + c;
    sum_taps(r, 2, 2, vecs, (const real *)r->x + 6 * pixel, (const real *)r->w + c, sum);
    if (r->scale) {
        UNROLL for (size_t v = 0; v < vecs; v++) scale_all(r, 4, vecs, c + v * V, lanes, sum + v);
    }
    UNROLL for (size_t v = 0; v < vecs; v++)
    {
        const vec upper = vec_max_nan(sum[v], sum[vecs + v]), lower = vec_max_nan(sum[2 * vecs + v], sum[3 * vecs + v]);
        const vec top = vec_max_nan(upper, lower);
        vec_store_some(y + v * V, r->scale ? bent(top, vec_set((real)r->slope)) : top, lanes);
    }
}

static void pool_row(const struct rgb_row *r, real *y)
{
    for (size_t i = 0; i < r->pixels; i++) {
        size_t c = 0;
        for (; c + VECS * V <= r->channels; c += VECS * V) square(r, VECS, i, c, V, y);
        for (; c < r->channels; c += V) square(r, 1, i, c, r->channels - c, y);
    }
}

void K(conv_rgb)(const struct rgb_row *r, real *y)
{
    size_t i = 0;
    if (r->pool) {
        pool_row(r, y);
        return;
    }
    for (; i + PIXELS <= r->pixels; i += PIXELS) {
        size_t c = 0;
        for (; c + VECS * V <= r->channels; c += VECS * V) tile(r, PIXELS, VECS, i, c, V, y);
        for (; c < r->channels; c += V) tile(r, PIXELS, 1, i, c, r->channels - c, y);
    }
    for (; i < r->pixels; i++) {
        size_t c = 0;
        for (; c + VECS * V <= r->channels; c += VECS * V) tile(r, 1, VECS, i, c, V, y);
        for (; c < r->channels; c += V) tile(r, 1, 1, i, c, r->channels - c, y);
    }
}
