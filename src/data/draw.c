/* draw.c - shapes by their signed distance: a pixel is covered by as much as its centre lies inside. */
#include "data/draw.h"
#include "base/size.h"
#include <math.h>
#include <stdlib.h>

static float clamp(float v, float low, float high) { return v < low ? low : v > high ? high : v; }

struct colour colour_mix(struct colour a, struct colour b, float share)
{
    return (struct colour){a.r + share * (b.r - a.r), a.g + share * (b.g - a.g), a.b + share * (b.b - a.b)};
}

/* How much of one primary colour a hue has; `from` is where on the wheel it stands alone. */
static float primary(float hue, float from)
{
    float apart = fabsf(hue - from);
    if (apart > 3) apart = 6 - apart;
    return clamp(2 - apart, 0, 1);
}

struct colour colour_from_hue(float hue, float saturation, float value)
{
    const float h = hue - 6 * floorf(hue / 6), grey = value * (1 - saturation), span = value * saturation;
    return (struct colour){grey + span * primary(h, 0), grey + span * primary(h, 2), grey + span * primary(h, 4)};
}

status canvas_new(size_t side, struct canvas *out)
{
    if (!side || side > PICTURE_MOST_PIXELS / side)
        return fail(ST_VALUE, "a picture cannot have a side of %zu pixels", side);
    float *rgb = malloc(side * side * 3 * sizeof *rgb);
    if (!rgb) return fail(ST_MEMORY, "no memory for a picture of %zu x %zu pixels", side, side);
    *out = (struct canvas){side, rgb};
    return OK;
}

void canvas_free(struct canvas *c)
{
    free(c->rgb);
    *c = (struct canvas){0};
}

status canvas_picture(const struct canvas *c, struct picture *out)
{
    const status st = picture_new(c->side, c->side, out);
    if (st != OK) return st;
    for (size_t i = 0; i < c->side * c->side * 3; i++) out->rgb[i] = (uint8_t)(clamp(c->rgb[i], 0, 1) * 255.0f + 0.5f);
    return OK;
}

struct drawn { /* a shape in pixels */
    enum shape_kind kind;
    float x, y, ux, uy, length, width;
};

static struct drawn in_pixels(const struct shape *s, const struct place *at)
{
    return (struct drawn){.kind = s->kind,
                          .x = at->x + at->radius * (at->c * s->x - at->s * s->y),
                          .y = at->y + at->radius * (at->s * s->x + at->c * s->y),
                          .ux = at->c * s->ux - at->s * s->uy,
                          .uy = at->s * s->ux + at->c * s->uy,
                          .length = s->length * at->radius,
                          .width = s->width * at->radius};
}

/* How far a point lies outside; negative inside. A box's corners are taken as square outside too. */
static float distance(const struct drawn *d, float x, float y)
{
    const float dx = x - d->x, dy = y - d->y, along = fabsf(dx * d->ux + dy * d->uy),
                across = fabsf(dy * d->ux - dx * d->uy);
    switch (d->kind) {
    case SHAPE_DISC: return sqrtf(dx * dx + dy * dy) - d->length;
    case SHAPE_RING: return fabsf(sqrtf(dx * dx + dy * dy) - d->length) - d->width;
    case SHAPE_BOX: return fmaxf(along - d->length, across - d->width);
    case SHAPE_STROKE:
    case SHAPE_KINDS: break;
    }
    const float beyond = fmaxf(along - d->length, 0);
    return sqrtf(beyond * beyond + across * across) - d->width;
}

/* Pixels from `from` up to `to` are all that a shape of that reach around `at` can touch. */
static void span(float at, float reach, size_t side, size_t *from, size_t *to)
{
    *from = (size_t)clamp(floorf(at - reach), 0, (float)side);
    *to = (size_t)clamp(ceilf(at + reach), 0, (float)side);
}

void canvas_draw(struct canvas *to, const struct shape *shape, const struct place *at)
{
    const struct drawn d = in_pixels(shape, at);
    const float reach = d.length + d.width + 1;
    size_t left, right, top, bottom;
    span(d.x, reach, to->side, &left, &right);
    span(d.y, reach, to->side, &top, &bottom);
    for (size_t y = top; y < bottom; y++)
        for (size_t x = left; x < right; x++) {
            const float cover = clamp(0.5f - distance(&d, (float)x + 0.5f, (float)y + 0.5f), 0, 1);
            float *rgb = to->rgb + (y * to->side + x) * 3;
            if (cover <= 0) continue;
            rgb[0] += cover * (shape->colour.r - rgb[0]);
            rgb[1] += cover * (shape->colour.g - rgb[1]);
            rgb[2] += cover * (shape->colour.b - rgb[2]);
        }
}

enum { LATTICE = 64 }; /* points a side; finer noise than that repeats */

void canvas_noise(struct canvas *to, struct random *r, float cell, float strength, struct colour a, struct colour b)
{
    float lattice[LATTICE][LATTICE];
    const float step = 1 / cell;
    const size_t used = size_min(LATTICE, (size_t)((float)to->side * step) + 2);
    for (size_t y = 0; y < used; y++)
        for (size_t x = 0; x < used; x++) lattice[y][x] = (float)(random_u32(r) >> 8) * 0x1p-24f - 0.5f;
    for (size_t y = 0; y < to->side; y++) {
        const float fy = (float)y * step, ty = fy - floorf(fy);
        const float *upper = lattice[(size_t)fy % LATTICE], *lower = lattice[((size_t)fy + 1) % LATTICE];
        for (size_t x = 0; x < to->side; x++) {
            const float fx = (float)x * step, tx = fx - floorf(fx);
            const size_t i = (size_t)fx % LATTICE, j = (i + 1) % LATTICE;
            const float over = upper[i] + tx * (upper[j] - upper[i]), under = lower[i] + tx * (lower[j] - lower[i]);
            const float amount = strength * (over + ty * (under - over));
            float *rgb = to->rgb + (y * to->side + x) * 3;
            rgb[0] += amount * (b.r - a.r);
            rgb[1] += amount * (b.g - a.g);
            rgb[2] += amount * (b.b - a.b);
        }
    }
}
