/* transform.c - the steps between a decoded picture and a network's input. */
#include "image/transform.h"
#include <string.h>

struct transform transform_standard(enum transform_kind kind, size_t side, size_t pad)
{
    return (struct transform){
        .kind = kind,
        .side = side,
        .pad = pad,
        .jitter = kind == TRANSFORM_RESIZED_CROP ? 0.4f : 0,
        .mean = {(float)(125.3 / 255), (float)(123.0 / 255), (float)(113.9 / 255)},
        .std = {(float)(63.0 / 255), (float)(62.1 / 255), (float)(66.7 / 255)},
    };
}

static status cut(const struct picture *p, const struct picture_plan *plan, struct picture *out)
{
    const struct box *b = &plan->box;
    const status st = picture_crop(p, (int64_t)b->left, (int64_t)b->top, b->width, b->height, out);
    if (st == OK && plan->flip) picture_flip(out);
    return st;
}

static status resize_crop(const struct transform *t, const struct picture *p, struct random *r, struct picture *out)
{
    const size_t large = t->side + t->pad;
    struct picture_plan plan = {.box = picture_centre_box(large, large, t->side, t->side)};
    status st = OK;
    if (r) TRY(transform_plan(t, p->width, p->height, r, &plan));
    TRY(picture_resize_part(p, large, large, &plan.box, out));
    if (plan.flip) picture_flip(out);
done:
    return st;
}

static status shorter_crop(const struct transform *t, const struct picture *p, struct picture *out)
{
    size_t width, height;
    status st = OK;
    TRY(picture_shorter_size(p, t->side + t->pad, &width, &height));
    const struct box middle = picture_centre_box(width, height, t->side, t->side);
    TRY(picture_resize_part(p, width, height, &middle, out));
done:
    return st;
}

static status pad_crop(const struct transform *t, const struct picture *p, struct random *r, struct picture *out)
{
    status st = OK;
    struct picture padded = {0};
    struct picture_plan plan;
    if (!r && (p->width != t->side || p->height != t->side))
        return fail(ST_SHAPE, "this transform does not resize, so pictures must have %zu x %zu pixels, not %zu x %zu",
                    t->side, t->side, p->width, p->height);
    if (!r) return picture_crop(p, 0, 0, t->side, t->side, out);
    TRY(transform_plan(t, p->width, p->height, r, &plan));
    TRY(picture_pad_reflect(p, t->pad, &padded));
    TRY(cut(&padded, &plan, out));
done:
    picture_free(&padded);
    return st;
}

static status resized_crop(const struct transform *t, const struct picture *p, struct random *r, struct picture *out)
{
    status st = OK;
    struct picture part = {0};
    struct picture_plan plan;
    TRY(transform_plan(t, p->width, p->height, r, &plan));
    const struct box b = plan.box;
    TRY(picture_crop(p, (int64_t)b.left, (int64_t)b.top, b.width, b.height, &part));
    TRY(picture_resize(&part, t->side, t->side, out));
    picture_jitter(out, &plan.jitter);
    if (plan.flip) picture_flip(out);
done:
    picture_free(&part);
    return st;
}

static status shape(const struct transform *t, const struct picture *p, struct random *r, struct picture *out)
{
    if (!t->side || t->side > PICTURE_MOST_PIXELS || t->pad > PICTURE_MOST_PIXELS)
        return fail(ST_VALUE, "a side of %zu and a border of %zu pixels make no picture", t->side, t->pad);
    switch (t->kind) {
    case TRANSFORM_RESIZE_CROP: return resize_crop(t, p, r, out);
    case TRANSFORM_PAD_CROP: return pad_crop(t, p, r, out);
    case TRANSFORM_RESIZED_CROP: return r ? resized_crop(t, p, r, out) : shorter_crop(t, p, out);
    case TRANSFORM_SHORTER_CROP: break;
    }
    return shorter_crop(t, p, out);
}

status transform_apply_bytes(const struct transform *t, const struct picture *p, struct random *r, uint8_t *out)
{
    struct picture done = {0};
    const status st = shape(t, p, r, &done);
    if (st == OK) memcpy(out, done.rgb, t->side * t->side * 3);
    picture_free(&done);
    return st;
}

status transform_apply(const struct transform *t, const struct picture *p, struct random *r, float *out)
{
    struct picture done = {0};
    const status st = shape(t, p, r, &done);
    if (st == OK) transform_normalise(t, done.rgb, t->side * t->side, out);
    picture_free(&done);
    return st;
}

void transform_normalise(const struct transform *t, const uint8_t *rgb, size_t pixels, float *out)
{
    float value[3][256]; /* what each byte becomes */
    for (size_t c = 0; c < 3; c++)
        for (int v = 0; v < 256; v++) value[c][v] = ((float)v / 255.0f - t->mean[c]) / t->std[c];
    float *red = out, *green = out + pixels, *blue = out + 2 * pixels;
    for (size_t i = 0; i < pixels; i++, rgb += 3) {
        red[i] = value[0][rgb[0]];
        green[i] = value[1][rgb[1]];
        blue[i] = value[2][rgb[2]];
    }
}
