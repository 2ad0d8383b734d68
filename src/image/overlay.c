/* overlay.c - a map of weights over a picture.
 *
 * The map's cells lie in the middle of their part of the picture and are joined linearly, so that no edges appear which
 * the head never saw. A pixel is mixed with the ramp's colour of its weight. Of the picture its light and dark remain
 * everywhere, pressed into a narrower span so that they cannot be mistaken for weight, and its colours where the weight
 * is large: what is looked at stays recognisable, and what is not steps back. */
#include "image/overlay.h"
#include "base/size.h"
#include "image/ramp.h"
#include <math.h>
#include <string.h>

static const float LEAST_TINT = 0.50f, MORE_TINT = 0.18f; /* the ramp's part of a pixel: at weight 0, and what 1 adds */
static const float LEAST_COLOUR = 0.10f;                  /* the part of its colour that weight 0 leaves a pixel */

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
    return r.most > r.least ? fminf(fmaxf((a + y.part * (b - a) - r.least) / (r.most - r.least), 0), 1) : 0.5f;
}

static void blend(const uint8_t *in, float weight, const struct ramp *ramp, uint8_t *out)
{
    const float grey = 0.299f * (float)in[0] + 0.587f * (float)in[1] + 0.114f * (float)in[2];
    const float colour = LEAST_COLOUR + (1 - LEAST_COLOUR) * weight, tint = LEAST_TINT + MORE_TINT * weight;
    const uint8_t *shade = ramp->rgb[(size_t)(weight * (RAMP_STEPS - 1) + 0.5f)];
    for (size_t c = 0; c < 3; c++) {
        const float own = grey + colour * ((float)in[c] - grey);
        out[c] = (uint8_t)(own + tint * ((float)shade[c] - own) + 0.5f);
    }
}

status picture_overlay(const struct picture *p, const float *map, size_t height, size_t width, struct picture *out)
{
    struct picture made = {0};
    if (!height || !width) return fail(ST_SHAPE, "a map of %zu x %zu cells covers no picture", height, width);
    const status st = picture_new(p->width, p->height, &made);
    if (st != OK) return st;
    const struct range r = range_of(map, height * width);
    struct ramp ramp;
    ramp_fill(&ramp);
    for (size_t y = 0; y < p->height; y++) {
        const struct between row = between_cells(y, p->height, height);
        for (size_t x = 0; x < p->width; x++) {
            const size_t i = 3 * (y * p->width + x);
            blend(p->rgb + i, weight_at(map, width, row, between_cells(x, p->width, width), r), &ramp, made.rgb + i);
        }
    }
    *out = made;
    return OK;
}
