/* augment.c - the random box of RandomResizedCrop and the colours of ColorJitter. Draws are apart from what is done with
 * them, so that a test can give the numbers. */
#include "image/picture.h"
#include <math.h>

static double between(struct random *r, double low, double high) { return low + (high - low) * random_unit(r); }

/* A picture longer or taller than the ratios allow, ten times refused: the largest box in its middle. */
static struct box middle_box(size_t width, size_t height)
{
    const double ratio = (double)width / (double)height;
    struct box b = {0, 0, width, height};
    if (ratio < 3.0 / 4.0) b.height = (size_t)rint((double)width / (3.0 / 4.0));
    else if (ratio > 4.0 / 3.0) b.width = (size_t)rint((double)height * (4.0 / 3.0));
    b.top = (height - b.height) / 2;
    b.left = (width - b.width) / 2;
    return b;
}

struct box picture_random_box(size_t width, size_t height, struct random *r)
{
    for (int attempt = 0; attempt < 10; attempt++) {
        const double area = (double)width * (double)height * between(r, 0.08, 1.0);
        const double ratio = exp(between(r, log(3.0 / 4.0), log(4.0 / 3.0)));
        const double w = rint(sqrt(area * ratio)), h = rint(sqrt(area / ratio)); /* rint: halves to even */
        if (w < 1 || h < 1 || w > (double)width || h > (double)height) continue;
        struct box b = {0, 0, (size_t)w, (size_t)h};
        b.top = (size_t)random_below(r, height - b.height + 1);
        b.left = (size_t)random_below(r, width - b.width + 1);
        return b;
    }
    return middle_box(width, height);
}

struct jitter jitter_draw(struct random *r, float strength)
{
    struct jitter j = {.order = {0, 1, 2, 3}};
    const double low = strength < 1 ? 1.0 - strength : 0.0, high = 1.0 + strength;
    for (int i = 3; i > 0; i--) {
        const int other = (int)random_below(r, (uint64_t)i + 1), keep = j.order[i];
        j.order[i] = j.order[other];
        j.order[other] = keep;
    }
    j.brightness = (float)between(r, low, high);
    j.contrast = (float)between(r, low, high);
    j.saturation = (float)between(r, low, high);
    return j;
}

static int grey_of(const uint8_t *rgb) { return (19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + 32768) >> 16; }

/* From the degenerate value d towards x and, with factors above 1, beyond. Cut, not rounded: as Pillow does. */
static uint8_t blend(int d, int x, float factor)
{
    if (factor == 1.0f) return (uint8_t)x;
    const float t = (float)d + factor * (float)(x - d);
    return (uint8_t)(t <= 0 ? 0 : t >= 255 ? 255 : t);
}

static void brighten(struct picture *p, float factor)
{
    for (size_t i = 0; i < p->width * p->height * 3; i++) p->rgb[i] = blend(0, p->rgb[i], factor);
}

static void contrast(struct picture *p, float factor)
{
    const size_t pixels = p->width * p->height;
    uint64_t sum = 0;
    for (size_t i = 0; i < pixels; i++) sum += (uint64_t)grey_of(p->rgb + i * 3);
    const int mean = (int)((double)sum / (double)pixels + 0.5);
    for (size_t i = 0; i < pixels * 3; i++) p->rgb[i] = blend(mean, p->rgb[i], factor);
}

static void saturate(struct picture *p, float factor)
{
    for (size_t i = 0; i < p->width * p->height; i++) {
        uint8_t *rgb = p->rgb + i * 3;
        const int grey = grey_of(rgb);
        for (int c = 0; c < 3; c++) rgb[c] = blend(grey, rgb[c], factor);
    }
}

void picture_jitter(struct picture *p, const struct jitter *j)
{
    for (int i = 0; i < 4; i++) {
        if (j->order[i] == 0) brighten(p, j->brightness);
        if (j->order[i] == 1) contrast(p, j->contrast);
        if (j->order[i] == 2) saturate(p, j->saturation);
    }
}
