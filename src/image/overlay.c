/* overlay.c - a map of weights over a picture.
 *
 * The map's cells lie in the middle of their part of the picture and are joined linearly, so that no edges appear which
 * the head never saw. Little weight makes a pixel grey and dark; much keeps its colour and adds some warmth, so that the
 * place stands out on every background and in print. */
#include "image/overlay.h"
#include "base/size.h"
#include <math.h>
#include <string.h>

static const float DIM = 0.30f;                    /* brightness that the least weight leaves */
static const float GLOW[3] = {1.0f, 0.55f, 0.05f}; /* amber */
static const float GLOW_PART = 0.38f;              /* of a pixel with the most weight */

/* A place along an axis between the cells `from` and `to`. */
struct between {
    size_t from, to;
    float part; /* 0: from, 1: to */
};

static struct between between_cells(size_t pixel, size_t pixels, size_t cells)
{
    const float at = ((float)pixel + 0.5f) * (float)cells / (float)pixels - 0.5f;
    const float inside = fminf(fmaxf(at, 0), (float)(cells - 1));
    const size_t from = (size_t)inside;
    return (struct between){from, size_min(from + 1, cells - 1), inside - (float)from};
}

struct range {
    float least, most;
};

static struct range range_of(const float *map, size_t n)
{
    struct range r = {map[0], map[0]};
    for (size_t i = 1; i < n; i++) {
        r.least = fminf(r.least, map[i]);
        r.most = fmaxf(r.most, map[i]);
    }
    return r;
}

static float weight_at(const float *map, size_t width, struct between y, struct between x, struct range r)
{
    const float *above = map + y.from * width, *below = map + y.to * width;
    const float a = above[x.from] + x.part * (above[x.to] - above[x.from]);
    const float b = below[x.from] + x.part * (below[x.to] - below[x.from]);
    return r.most > r.least ? (a + y.part * (b - a) - r.least) / (r.most - r.least) : 0.5f;
}

static void blend(const uint8_t *in, float weight, uint8_t *out)
{
    const float grey = 0.299f * (float)in[0] + 0.587f * (float)in[1] + 0.114f * (float)in[2];
    const float light = DIM + (1 - DIM) * weight, glow = GLOW_PART * weight * weight;
    for (size_t c = 0; c < 3; c++) {
        const float colour = grey + weight * ((float)in[c] - grey);
        out[c] = (uint8_t)(light * colour * (1 - glow) + 255 * GLOW[c] * glow + 0.5f);
    }
}

status picture_overlay(const struct picture *p, const float *map, size_t height, size_t width, struct picture *out)
{
    struct picture made = {0};
    if (!height || !width) return fail(ST_SHAPE, "a map of %zu x %zu cells covers no picture", height, width);
    const status st = picture_new(p->width, p->height, &made);
    if (st != OK) return st;
    const struct range r = range_of(map, height * width);
    for (size_t y = 0; y < p->height; y++) {
        const struct between row = between_cells(y, p->height, height);
        for (size_t x = 0; x < p->width; x++) {
            const size_t i = 3 * (y * p->width + x);
            blend(p->rgb + i, weight_at(map, width, row, between_cells(x, p->width, width), r), made.rgb + i);
        }
    }
    *out = made;
    return OK;
}
