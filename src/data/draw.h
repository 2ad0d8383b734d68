/* draw.h - a few anti-aliased shapes on a canvas of floats, for the synthetic pictures.
 *
 * Only additions, products, quotients and square roots are used, which every machine rounds alike, so that a picture has the
 * same bytes everywhere. */
#ifndef DATA_DRAW_H
#define DATA_DRAW_H
#include "image/picture.h"

struct colour {
    float r, g, b; /* 0 .. 1 */
};
/* `hue` 0 .. 6 around the wheel (taken modulo 6), 0 is red. */
struct colour colour_from_hue(float hue, float saturation, float value);
struct colour colour_mix(struct colour a, struct colour b, float share_of_b);

struct canvas {
    size_t side;
    float *rgb; /* owned, [side, side, 3], nominally 0 .. 1 */
};
status canvas_new(size_t side, struct canvas *out); /* not cleared */
void canvas_free(struct canvas *c);
status canvas_picture(const struct canvas *c, struct picture *out); /* cut to 0 .. 255 and rounded */

enum shape_kind { SHAPE_DISC, SHAPE_RING, SHAPE_STROKE, SHAPE_BOX, SHAPE_KINDS };

/* In the pattern's own coordinates, where a pattern fills the unit disc. */
struct shape {
    enum shape_kind kind;
    float x, y;          /* centre */
    float ux, uy;        /* unit vector along stroke or box */
    float length, width; /* half length, or the radius of disc and ring; half width of ring, stroke and box */
    struct colour colour;
};

/* Where a pattern stands: pixels of its centre, pixels of its radius, cosine and sine of its turn. */
struct place {
    float x, y, radius, c, s;
};
void canvas_draw(struct canvas *to, const struct shape *shape, const struct place *at);

/* Smooth noise between 0 and 1 with lumps of about `cell` pixels: random values at lattice points, mixed linearly. Adds
 * `strength` * (noise - 1/2) of the way from `a` to `b` to every pixel. */
void canvas_noise(struct canvas *to, struct random *r, float cell, float strength, struct colour a, struct colour b);
#endif
