/* depthwise.c - rows of a depthwise convolution's outputs on vectors of channels. See cpu/portable/depthwise.c.
 *
 * A vector of channels goes over all rows and pixels before the next one, so that what neighbouring outputs share stays in
 * the first-level cache, a line of it for each pixel. Outputs of 3 x 3 filters are made in blocks of several rows and pixels,
 * column of the map by column: a number is loaded once for all sums that it is a term of, and a pixel is written when its
 * last column has been met, so that few sums are under way at a time. All others are made one by one. */
#include "base/size.h"
#include "cpu/simd/vec.h"

#define INLINE static inline __attribute__((always_inline))
#if defined(__clang__) /* it unrolls loops of constant length by itself, and warns where it is asked for others */
#define UNROLL
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

enum {
    SIDE = 3,
    HEIGHT = 4,
    PIXELS = 7
}; /* of a filter; at most of a block; 7 divides the rows of pictures of 224 pixels */

/* vec_max and vec_min give their second where there is a NaN. */
INLINE vec cut(vec z, vec ceiling) { return vec_min(ceiling, vec_max(vec_zero(), z)); }

/* What sums become before they are written; vectors for one place among the channels. */
struct finish {
    bool scales, cuts;
    vec scale, shift, ceiling;
};

INLINE struct finish finish_at(const struct depthwise_rows *r, size_t c, size_t lanes)
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

/* The first of some outputs: the first number of the map that it meets, that number's factor, its place, its channel. */
struct spot {
    const real *x, *w;
    real *y;
    size_t c;
};

INLINE void move_down(const struct depthwise_rows *r, struct spot *s, size_t rows)
{
    s->x += rows * r->stride * r->line;
    s->y += rows * r->pixels * r->channels;
}

INLINE void move_on(const struct depthwise_rows *r, struct spot *s, size_t pixels)
{
    s->x += pixels * r->stride * r->channels;
    s->y += pixels * r->channels;
}

/* height x pixels outputs. All sizes are constants at the calls, so that loops vanish and sums stay in registers. */
INLINE void block(const struct depthwise_rows *r, const struct spot *s, const size_t height, const size_t pixels,
                  const size_t rows, const size_t taps, const size_t stride)
{
    const size_t channels = r->channels, line = r->line, down = r->pixels * channels;
    const struct finish f = finish_at(r, s->c, V);
    const real *x = s->x;
    real *y = s->y;
    vec factor[SIDE][SIDE], sum[HEIGHT][PIXELS];
    UNROLL for (size_t row = 0; row < rows; row++) UNROLL for (size_t tap = 0; tap < taps; tap++)
        factor[row][tap] = vec_load(s->w + (row * r->taps + tap) * channels);
    UNROLL for (size_t h = 0; h < height; h++) UNROLL for (size_t p = 0; p < pixels; p++) sum[h][p] = vec_zero();
    UNROLL for (size_t column = 0; column < (pixels - 1) * stride + taps; column++, x += channels)
    {
        __asm__("" : "+r"(x)); /* else the compiler keeps an address for each column */
        UNROLL for (size_t over = 0; over < (height - 1) * stride + rows; over++)
        {
            const vec v = vec_load(x + over * line);
            UNROLL for (size_t h = 0; h < height; h++) UNROLL for (size_t p = 0; p < pixels; p++)
            {
                const size_t row = over - h * stride, tap = column - p * stride; /* before the filter: huge */
                if (row < rows && tap < taps) sum[h][p] = vec_fma(v, factor[row][tap], sum[h][p]);
            }
        }
        if (column + 1 < taps || (column + 1 - taps) % stride) continue;
        UNROLL for (size_t h = 0; h < height; h++)
            vec_store(y + h * down, finished(&f, sum[h][(column + 1 - taps) / stride]));
        y += channels;
    }
}

INLINE void strip(const struct depthwise_rows *r, struct spot s, const size_t height, size_t pixels, const size_t rows,
                  const size_t taps, const size_t stride)
{
    for (; taps == SIDE && pixels >= PIXELS; pixels -= PIXELS, move_on(r, &s, PIXELS))
        block(r, &s, height, PIXELS, rows, taps, stride);
    for (; taps == SIDE && pixels >= 4; pixels -= 4, move_on(r, &s, 4)) block(r, &s, height, 4, rows, taps, stride);
    for (; pixels; pixels--, move_on(r, &s, 1)) block(r, &s, height, 1, rows, taps, stride);
}

INLINE void area(const struct depthwise_rows *r, struct spot s, size_t pixels, const size_t rows, const size_t taps,
                 const size_t stride)
{
    size_t height = r->height;
    for (; rows == SIDE && height >= HEIGHT; height -= HEIGHT, move_down(r, &s, HEIGHT))
        strip(r, s, HEIGHT, pixels, rows, taps, stride);
    for (; rows == SIDE && height >= 2; height -= 2, move_down(r, &s, 2)) strip(r, s, 2, pixels, rows, taps, stride);
    for (; height; height--, move_down(r, &s, 1)) strip(r, s, 1, pixels, rows, taps, stride);
}

/* Filters whose outputs come in blocks: a side may lie beyond the map. */
typedef void (*area_function)(const struct depthwise_rows *r, struct spot s, size_t pixels);
#define AREA(rows, taps, stride) \
    static void area_##rows##taps##stride(const struct depthwise_rows *r, struct spot s, size_t pixels) \
    { \
        area(r, s, pixels, rows, taps, stride); \
    }
AREA(2, 2, 1)
AREA(2, 3, 1)
AREA(3, 2, 1)
AREA(3, 3, 1)
AREA(2, 2, 2)
AREA(2, 3, 2)
AREA(3, 2, 2)
AREA(3, 3, 2)

static area_function area_of(size_t rows, size_t taps, size_t stride)
{
    static const area_function areas[2][2][2] = {{{area_221, area_231}, {area_321, area_331}},
                                                 {{area_222, area_232}, {area_322, area_332}}};
    const bool there = rows >= 2 && rows <= SIDE && taps >= 2 && taps <= SIDE && stride >= 1 && stride <= 2;
    return there ? areas[stride - 1][rows - 2][taps - 2] : NULL;
}

/* Any filter, any part of a vector. */
static void one_by_one(const struct depthwise_rows *r, struct spot s, size_t pixels, size_t taps, size_t lanes)
{
    const struct finish f = finish_at(r, s.c, lanes);
    for (size_t h = 0; h < r->height; h++, move_down(r, &s, 1)) {
        struct spot at = s;
        for (size_t p = 0; p < pixels; p++, move_on(r, &at, 1)) {
            vec sum = vec_zero();
            for (size_t tap = 0; tap < taps; tap++)
                for (size_t row = 0; row < r->rows; row++)
                    sum = vec_fma(vec_load_some(at.x + row * r->line + tap * r->channels, lanes),
                                  vec_load_some(at.w + (row * r->taps + tap) * r->channels, lanes), sum);
            vec_store_some(at.y, finished(&f, sum), lanes);
        }
    }
}

/* Pixels [first, end) of all rows, which meet taps [from, to) of the filter, for the vector of channels at c. */
static void fill(const struct depthwise_rows *r, size_t first, size_t end, size_t from, size_t to, size_t c, real *y)
{
    const size_t lanes = size_min(V, r->channels - c);
    const struct spot s = {.x = (const real *)r->x + (first * r->stride + from - r->left) * r->channels + c,
                           .w = (const real *)r->w + from * r->channels + c,
                           .y = y + first * r->channels + c,
                           .c = c};
    const area_function in_blocks = lanes == V ? area_of(r->rows, to - from, r->stride) : NULL;
    if (in_blocks) in_blocks(r, s, end - first);
    else one_by_one(r, s, end - first, to - from, lanes);
}

void K(depthwise)(const struct depthwise_rows *r, real *y)
{
    const size_t extent = r->columns + r->left; /* positions are counted from `left` columns before the map */
    const size_t first = size_min(r->pixels, size_div_up(r->left, r->stride));
    const size_t fitting = extent >= r->taps ? (extent - r->taps) / r->stride + 1 : 0;
    const size_t end = size_max(first, size_min(r->pixels, fitting));
    for (size_t c = 0; c < r->channels; c += V) {
        if (end > first) fill(r, first, end, 0, r->taps, c, y);
        for (size_t i = first ? 0 : end; i < r->pixels; i = i + 1 == first ? end : i + 1) {
            const size_t at = i * r->stride, from = at < r->left ? r->left - at : 0;
            fill(r, i, i + 1, from, at + r->taps > extent ? extent - at : r->taps, c, y);
        }
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
