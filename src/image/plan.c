/* plan.c - what chance decides about one picture, apart from doing it: the host draws, and any device can carry it out. */
#include "image/transform.h"
#include <assert.h>

/* A square in a picture of this size: draws top, then left; nothing where there is no choice. */
static status draw_square(size_t width, size_t height, size_t side, struct random *r, struct box *out)
{
    *out = (struct box){0, 0, side, side};
    if (width < side || height < side)
        return fail(ST_SHAPE, "a picture of %zu x %zu pixels has no crop of %zu x %zu", width, height, side, side);
    if (width == side && height == side) return OK;
    out->top = (size_t)random_below(r, height - side + 1);
    out->left = (size_t)random_below(r, width - side + 1);
    return OK;
}

static status draw_padded(const struct transform *t, size_t width, size_t height, struct random *r, struct box *out)
{
    if (t->pad >= width || t->pad >= height)
        return fail(ST_VALUE, "a picture of %zu x %zu pixels cannot be mirrored %zu pixels beyond its edge", width,
                    height, t->pad);
    return draw_square(width + 2 * t->pad, height + 2 * t->pad, t->side, r, out);
}

status transform_plan(const struct transform *t, size_t width, size_t height, struct random *r,
                      struct picture_plan *out)
{
    status st = OK;
    *out = (struct picture_plan){.jitter = {{3, 3, 3, 3}, 1, 1, 1}};
    assert(t->kind != TRANSFORM_SHORTER_CROP);
    if (t->kind == TRANSFORM_RESIZE_CROP) st = draw_square(t->side + t->pad, t->side + t->pad, t->side, r, &out->box);
    if (t->kind == TRANSFORM_PAD_CROP) st = draw_padded(t, width, height, r, &out->box);
    if (t->kind == TRANSFORM_RESIZED_CROP) {
        out->box = picture_random_box(width, height, r);
        if (t->jitter > 0) out->jitter = jitter_draw(r, t->jitter);
    }
    if (st == OK) out->flip = random_unit(r) < 0.5;
    return st;
}
