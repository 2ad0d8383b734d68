/* picture.c - making, cutting, padding and mirroring pictures. */
#include "image/picture.h"
#include "base/size.h"
#include "image/formats.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

status picture_bound(const char *name, size_t width, size_t height)
{
    size_t pixels;
    if (!width || !height)
        return fail(ST_VALUE, "'%s' would have %zu x %zu pixels: nothing to see", name, width, height);
    if (!size_mul(width, height, &pixels) || pixels > PICTURE_MOST_PIXELS)
        return fail(ST_VALUE, "'%s' has %zu x %zu pixels, but at most %d are taken: make it smaller first", name, width,
                    height, (int)PICTURE_MOST_PIXELS);
    return OK;
}

status picture_new(size_t width, size_t height, struct picture *out)
{
    const status st = picture_bound("picture", width, height);
    if (st != OK) return st;
    uint8_t *rgb = calloc(width * height, 3);
    if (!rgb) return fail(ST_MEMORY, "no memory for a picture of %zu x %zu pixels", width, height);
    *out = (struct picture){width, height, rgb};
    return OK;
}

void picture_free(struct picture *p)
{
    free(p->rgb);
    *p = (struct picture){0};
}

/* The part of [left, left + n) that lies in [0, length): where it starts in the picture and in the cut, and how long. */
static size_t overlap(int64_t left, size_t n, size_t length, size_t *from, size_t *to)
{
    *from = *to = 0;
    if (left >= (int64_t)length || left <= -(int64_t)n) return 0;
    if (left < 0) *to = (size_t)-left;
    else *from = (size_t)left;
    return size_min(length - *from, n - *to);
}

status picture_crop(const struct picture *p, int64_t left, int64_t top, size_t width, size_t height,
                    struct picture *out)
{
    struct picture cut;
    const status st = picture_new(width, height, &cut);
    if (st != OK) return st;
    size_t x, to_x, y, to_y;
    const size_t columns = overlap(left, width, p->width, &x, &to_x);
    const size_t rows = overlap(top, height, p->height, &y, &to_y);
    for (size_t i = 0; i < rows; i++)
        memcpy(cut.rgb + ((to_y + i) * width + to_x) * 3, p->rgb + ((y + i) * p->width + x) * 3, columns * 3);
    *out = cut;
    return OK;
}

/* (have - want) / 2 rounded half to even; where the picture is smaller, minus the floor of half of what lacks. */
static int64_t centre_offset(size_t have, size_t want)
{
    if (have < want) return -(int64_t)((want - have) / 2);
    const size_t half = (have - want) / 2;
    return (int64_t)((have - want) % 2 ? half + half % 2 : half);
}

status picture_centre_crop(const struct picture *p, size_t width, size_t height, struct picture *out)
{
    return picture_crop(p, centre_offset(p->width, width), centre_offset(p->height, height), width, height, out);
}

struct box picture_centre_box(size_t have_width, size_t have_height, size_t width, size_t height)
{
    assert(have_width >= width && have_height >= height);
    return (struct box){(size_t)centre_offset(have_width, width), (size_t)centre_offset(have_height, height), width,
                        height};
}

status picture_pad_black(const struct picture *p, size_t pad, struct picture *out)
{
    if (pad > PICTURE_MOST_PIXELS) return fail(ST_VALUE, "a border of %zu pixels is too wide", pad);
    const int64_t from = -(int64_t)pad;
    return picture_crop(p, from, from, p->width + 2 * pad, p->height + 2 * pad, out);
}

/* Where place i of the padded axis comes from: pad ... 2 1 | 0 1 ... n-1 | n-2 n-3 ... */
static size_t reflected(size_t i, size_t pad, size_t n)
{
    if (i < pad) return pad - i;
    return i - pad < n ? i - pad : 2 * (n - 1) - (i - pad);
}

status picture_pad_reflect(const struct picture *p, size_t pad, struct picture *out)
{
    if (pad >= p->width || pad >= p->height)
        return fail(ST_VALUE, "a picture of %zu x %zu pixels cannot be mirrored %zu pixels beyond its edge", p->width,
                    p->height, pad);
    struct picture to;
    const status st = picture_new(p->width + 2 * pad, p->height + 2 * pad, &to);
    if (st != OK) return st;
    for (size_t y = 0; y < to.height; y++) {
        const uint8_t *from = p->rgb + reflected(y, pad, p->height) * p->width * 3;
        uint8_t *row = to.rgb + y * to.width * 3;
        for (size_t x = 0; x < to.width; x++) memcpy(row + x * 3, from + reflected(x, pad, p->width) * 3, 3);
    }
    *out = to;
    return OK;
}

void picture_flip(struct picture *p)
{
    for (size_t y = 0; y < p->height; y++) {
        uint8_t *row = p->rgb + y * p->width * 3;
        for (size_t a = 0, b = p->width - 1; a < b; a++, b--) {
            uint8_t keep[3];
            memcpy(keep, row + a * 3, 3);
            memcpy(row + a * 3, row + b * 3, 3);
            memcpy(row + b * 3, keep, 3);
        }
    }
}

void picture_flatten(const uint8_t *rgba, size_t pixels, uint8_t *rgb)
{
    for (size_t i = 0; i < pixels; i++) {
        const int alpha = rgba[i * 4 + 3];
        for (size_t c = 0; c < 3; c++)
            rgb[i * 3 + c] = (uint8_t)((rgba[i * 4 + c] * alpha + 255 * (255 - alpha) + 127) / 255);
    }
}
