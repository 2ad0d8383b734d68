/* draw.c - figures whose edges are smooth: a pixel is covered by as much as half a pixel more than its distance from
 * the figure's edge says, which is exact for straight edges along the pixels and good for all others. */
#include "image/draw.h"
#include "base/size.h"
#include <math.h>
#include <string.h>

void draw_box(struct picture *to, size_t left, size_t top, size_t width, size_t height, const uint8_t rgb[3])
{
    const size_t right = left + size_min(width, to->width), bottom = top + size_min(height, to->height);
    for (size_t y = top; y < size_min(bottom, to->height); y++)
        for (size_t x = left; x < size_min(right, to->width); x++) memcpy(to->rgb + 3 * (y * to->width + x), rgb, 3);
}

void draw_picture(struct picture *to, const struct picture *from, size_t left, size_t top)
{
    if (left >= to->width) return;
    const size_t columns = size_min(from->width, to->width - left);
    for (size_t y = 0; y < from->height && top + y < to->height; y++)
        memcpy(to->rgb + 3 * ((top + y) * to->width + left), from->rgb + 3 * y * from->width, 3 * columns);
}

static void cover(struct picture *to, size_t x, size_t y, float part, struct ink ink)
{
    uint8_t *pixel = to->rgb + 3 * (y * to->width + x);
    const float mix = fminf(fmaxf(part, 0), 1) * ink.opacity;
    for (size_t c = 0; c < 3; c++)
        pixel[c] = (uint8_t)((float)pixel[c] + mix * ((float)ink.rgb[c] - (float)pixel[c]) + 0.5f);
}

/* The first pixel at or behind a place, and the one behind the last before it, on an axis of n pixels. */
static size_t pixel_from(float place, size_t n) { return (size_t)fminf(fmaxf(floorf(place), 0), (float)n); }
static size_t pixel_to(float place, size_t n) { return (size_t)fminf(fmaxf(ceilf(place), 0), (float)n); }

/* The distance of p from the line between a and b. */
static float away(struct spot p, struct spot a, struct spot b)
{
    const float dx = b.x - a.x, dy = b.y - a.y, square = dx * dx + dy * dy;
    const float along = square > 0 ? ((p.x - a.x) * dx + (p.y - a.y) * dy) / square : 0;
    const float t = fminf(fmaxf(along, 0), 1);
    return hypotf(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

void draw_line(struct picture *to, struct spot from, struct spot end, float thickness, struct ink ink)
{
    const float half = thickness / 2, reach = half + 1;
    const size_t left = pixel_from(fminf(from.x, end.x) - reach, to->width);
    const size_t right = pixel_to(fmaxf(from.x, end.x) + reach, to->width);
    const size_t top = pixel_from(fminf(from.y, end.y) - reach, to->height);
    const size_t bottom = pixel_to(fmaxf(from.y, end.y) + reach, to->height);
    for (size_t y = top; y < bottom; y++)
        for (size_t x = left; x < right; x++) {
            const struct spot middle = {(float)x + 0.5f, (float)y + 0.5f};
            cover(to, x, y, half + 0.5f - away(middle, from, end), ink);
        }
}

void draw_disc(struct picture *to, struct spot centre, float radius, struct ink ink)
{
    draw_line(to, centre, centre, 2 * radius, ink);
}
