/* resized.c - crop, flip and normalising in one pass, for pictures that are kept resized and used again and again. */
#include "image/transform.h"
#include <math.h>

/* Where the crop begins: drawn top then left as in transform_apply, or in the middle, halves to even. */
static void corner(const struct transform *t, struct random *r, size_t *top, size_t *left)
{
    *top = *left = r ? 0 : (size_t)rint((double)t->pad / 2);
    if (!r || !t->pad) return;
    *top = (size_t)random_below(r, t->pad + 1);
    *left = (size_t)random_below(r, t->pad + 1);
}

void transform_resized(const struct transform *t, const uint8_t *rgb, struct random *r, float *out)
{
    size_t top, left;
    float value[3][256]; /* what each byte becomes in each channel */
    corner(t, r, &top, &left);
    const bool flip = r && random_unit(r) < 0.5;
    for (int c = 0; c < 3; c++)
        for (int v = 0; v < 256; v++) value[c][v] = ((float)v / 255.0f - t->mean[c]) / t->std[c];
    for (size_t y = 0; y < t->side; y++) {
        const uint8_t *row = rgb + ((top + y) * (t->side + t->pad) + left) * 3;
        for (size_t c = 0; c < 3; c++) {
            float *to = out + (c * t->side + y) * t->side;
            if (flip)
                for (size_t x = 0; x < t->side; x++) to[x] = value[c][row[(t->side - 1 - x) * 3 + c]];
            else
                for (size_t x = 0; x < t->side; x++) to[x] = value[c][row[x * 3 + c]];
        }
    }
}
