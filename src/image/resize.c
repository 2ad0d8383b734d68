/* resize.c - bilinear resizing with antialiasing, in the fixed-point steps that Pillow takes: bit for bit its result.
 *
 * Two passes, across and then down, with 8-bit numbers in between. Each output place is a weighted sum of a stretch of
 * input places; the weights are a triangle as wide as the reduction, rounded to 22 binary places. */
#include "base/size.h"
#include "image/picture.h"
#include <math.h>
#include <stdlib.h>

enum { FRACTION_BITS = 22 }; /* 32 less 8 of the pixel and 2 spare; Pillow's PRECISION_BITS */

/* The taps of one axis. */
struct axis {
    size_t m;         /* places of the output */
    size_t most;      /* taps, at most */
    size_t *from, *n; /* [m]: the stretch of the input */
    int32_t *weight;  /* [m, most] */
};

static void axis_free(struct axis *a)
{
    free(a->from);
    free(a->n);
    free(a->weight);
}

/* The weights of one output place centred at c; returns nothing but fills weight[0..taps). */
static void weigh(double c, double scale, size_t from, size_t taps, double *real, int32_t *weight)
{
    double sum = 0;
    for (size_t x = 0; x < taps; x++) {
        const double t = fabs(((double)(x + from) - c + 0.5) * (1.0 / scale));
        real[x] = t < 1.0 ? 1.0 - t : 0.0;
        sum += real[x];
    }
    for (size_t x = 0; x < taps; x++) {
        if (sum != 0) real[x] /= sum;
        weight[x] = (int32_t)(real[x] * (1 << FRACTION_BITS) + 0.5);
    }
}

static status axis_new(size_t n, size_t m, struct axis *a)
{
    const double scale = (double)n / (double)m, support = scale > 1.0 ? scale : 1.0;
    a->m = m;
    a->most = 2 * (size_t)ceil(support) + 1;
    double *real = malloc(a->most * sizeof *real);
    a->from = malloc(m * sizeof *a->from);
    a->n = malloc(m * sizeof *a->n);
    a->weight = malloc(m * a->most * sizeof *a->weight); /* about 2 n + 3 m: no overflow within the pixel limit */
    if (!real || !a->from || !a->n || !a->weight) {
        free(real);
        return fail(ST_MEMORY, "no memory to resize %zu places to %zu", n, m);
    }
    for (size_t i = 0; i < m; i++) {
        const double c = ((double)i + 0.5) * scale;
        const double low = c - support + 0.5, high = c + support + 0.5;
        a->from[i] = low > 0 ? (size_t)low : 0;
        a->n[i] = size_min(n, (size_t)high) - a->from[i];
        weigh(c, support, a->from[i], a->n[i], real, a->weight + i * a->most);
    }
    free(real);
    return OK;
}

static uint8_t to_byte(int32_t sum)
{
    const int32_t v = sum >> FRACTION_BITS;
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

static void across(const struct axis *a, const struct picture *p, struct picture *out)
{
    for (size_t y = 0; y < p->height; y++) {
        uint8_t *to = out->rgb + y * a->m * 3;
        for (size_t i = 0; i < a->m; i++, to += 3) {
            const uint8_t *from = p->rgb + (y * p->width + a->from[i]) * 3;
            const int32_t *weight = a->weight + i * a->most;
            int32_t r = 1 << (FRACTION_BITS - 1), g = r, b = r;
            for (size_t x = 0; x < a->n[i]; x++, from += 3) {
                r += from[0] * weight[x];
                g += from[1] * weight[x];
                b += from[2] * weight[x];
            }
            to[0] = to_byte(r);
            to[1] = to_byte(g);
            to[2] = to_byte(b);
        }
    }
}

/* Row by row with a row of sums, so that the inner loop runs along memory. */
static void down(const struct axis *a, const struct picture *p, int32_t *sum, struct picture *out)
{
    const size_t bytes = p->width * 3;
    for (size_t i = 0; i < a->m; i++) {
        for (size_t x = 0; x < bytes; x++) sum[x] = 1 << (FRACTION_BITS - 1);
        for (size_t y = 0; y < a->n[i]; y++) {
            const uint8_t *from = p->rgb + (a->from[i] + y) * bytes;
            const int32_t weight = a->weight[i * a->most + y];
            for (size_t x = 0; x < bytes; x++) sum[x] += from[x] * weight;
        }
        for (size_t x = 0; x < bytes; x++) out->rgb[i * bytes + x] = to_byte(sum[x]);
    }
}

static status resize_width(const struct picture *p, size_t width, struct picture *out)
{
    status st;
    struct axis a = {0};
    TRY(axis_new(p->width, width, &a));
    TRY(picture_new(width, p->height, out));
    across(&a, p, out);
done:
    axis_free(&a);
    return st;
}

static status resize_height(const struct picture *p, size_t height, struct picture *out)
{
    status st;
    struct axis a = {0};
    int32_t *sum = malloc(p->width * 3 * sizeof *sum);
    if (!sum) return fail(ST_MEMORY, "no memory to resize a picture %zu pixels wide", p->width);
    TRY(axis_new(p->height, height, &a));
    TRY(picture_new(p->width, height, out));
    down(&a, p, sum, out);
done:
    axis_free(&a);
    free(sum);
    return st;
}

status picture_resize(const struct picture *p, size_t width, size_t height, struct picture *out)
{
    status st = OK;
    struct picture narrow = {0};
    if (!width || !height || width > PICTURE_MOST_PIXELS / height)
        return fail(ST_VALUE, "a picture cannot be resized to %zu x %zu pixels", width, height);
    if (width == p->width && height == p->height) return picture_crop(p, 0, 0, width, height, out);
    if (width == p->width) return resize_height(p, height, out);
    if (height == p->height) return resize_width(p, width, out);
    TRY(resize_width(p, width, &narrow));
    TRY(resize_height(&narrow, height, out));
done:
    picture_free(&narrow);
    return st;
}

status picture_resize_shorter(const struct picture *p, size_t side, struct picture *out)
{
    const size_t shorter = size_min(p->width, p->height), longer = size_max(p->width, p->height);
    if (side > PICTURE_MOST_PIXELS) return fail(ST_VALUE, "a shorter side of %zu pixels is too long", side);
    const size_t other = side * longer / shorter; /* both factors are at most 2^26 */
    return p->width <= p->height ? picture_resize(p, side, other, out) : picture_resize(p, other, side, out);
}
