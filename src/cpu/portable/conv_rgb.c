/* conv_rgb.c - the specification of a first layer's row: 3x3 taps of three colours. */
#include "base/size.h"
#include "cpu/portable/portable.h"

enum { BLOCK = RGB_LANES }; /* channels at a time: an innermost loop that compilers turn into vectors */

static void sum_pixel(const struct rgb_row *r, const real *x, size_t first, real sum[BLOCK])
{
    const real *w = (const real *)r->w + first;
    const size_t step = size_round_up(r->channels, RGB_LANES);
    const real *scale = r->scale, *shift = r->shift;
    real total[BLOCK] = {0}; /* not `sum`, which compilers would keep in memory */
    for (size_t line = 0; line < 3; line++, x += r->line)
        for (const real *end = w + 9 * step, *at = x; w < end; w += step, at++) /* by count it would be unrolled */
            for (size_t c = 0; c < BLOCK; c++) total[c] += *at * w[c];
    for (size_t c = 0; c < BLOCK; c++) sum[c] = total[c];
    for (size_t c = 0; scale && c < size_min(BLOCK, r->channels - first); c++)
        sum[c] = sum[c] * scale[first + c] + shift[first + c];
}

static void raise_to(real top[BLOCK], const real other[BLOCK])
{
    for (size_t c = 0; c < BLOCK; c++)
        if (other[c] > top[c] || other[c] != other[c]) top[c] = other[c];
}

void K(conv_rgb)(const struct rgb_row *r, real *y)
{
    real top[BLOCK], other[BLOCK];
    for (size_t i = 0; i < r->pixels; i++)
        for (size_t first = 0; first < r->channels; first += BLOCK) {
            const real *x = (const real *)r->x + (r->pool ? 6 * i : 3 * i);
            sum_pixel(r, x, first, top);
            for (size_t k = 1; r->pool && k < 4; k++) {
                sum_pixel(r, x + k / 2 * r->line + k % 2 * 3, first, other);
                raise_to(top, other);
            }
            for (size_t c = 0; c < size_min(BLOCK, r->channels - first); c++)
                y[i * r->channels + first + c] = r->scale && top[c] <= 0 ? (real)r->slope * top[c] : top[c];
        }
}
