/* resized.c - crop, flip and normalising in one pass, for pictures that are kept resized and used again and again. */
#include "image/transform.h"
#include <math.h>

/* What transform_apply draws, or the middle, halves to even. */
static struct picture_plan plan_of(const struct transform *t, struct random *r)
{
    const size_t large = t->side + t->pad, middle = (size_t)rint((double)t->pad / 2);
    struct picture_plan plan = {.box = {middle, middle, t->side, t->side}};
    if (r) (void)transform_plan(t, large, large, r, &plan); /* a square within a larger one is always possible */
    return plan;
}

void transform_resized(const struct transform *t, const uint8_t *rgb, struct random *r, float *out)
{
    float value[3][256]; /* what each byte becomes in each channel */
    const struct picture_plan plan = plan_of(t, r);
    const size_t top = plan.box.top, left = plan.box.left;
    for (int c = 0; c < 3; c++)
        for (int v = 0; v < 256; v++) value[c][v] = ((float)v / 255.0f - t->mean[c]) / t->std[c];
    for (size_t y = 0; y < t->side; y++) {
        const uint8_t *row = rgb + ((top + y) * (t->side + t->pad) + left) * 3;
        for (size_t c = 0; c < 3; c++) {
            float *to = out + (c * t->side + y) * t->side;
            if (plan.flip)
                for (size_t x = 0; x < t->side; x++) to[x] = value[c][row[(t->side - 1 - x) * 3 + c]];
            else
                for (size_t x = 0; x < t->side; x++) to[x] = value[c][row[x * 3 + c]];
        }
    }
}
