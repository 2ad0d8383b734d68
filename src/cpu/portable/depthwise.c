/* depthwise.c - the specification of a depthwise convolution's rows, and of what follows a convolution that is cut at a
 * ceiling. */
#include "cpu/portable/portable.h"

/* Between 0 and the ceiling; NaN stays. */
static real cut(real z, real ceiling) { return z < 0 ? 0 : z > ceiling ? ceiling : z; }

/* Output `pixel` of channel c, of the row of outputs above which x lies. */
static real sum_taps(const struct depthwise_rows *r, const real *x, size_t pixel, size_t c)
{
    const real *w = r->w;
    real sum = 0;
    for (size_t tap = 0; tap < r->taps; tap++) {
        const size_t at = pixel * r->stride + tap; /* from `left` columns before the map */
        if (at < r->left || at - r->left >= r->columns) continue;
        for (size_t row = 0; row < r->rows; row++)
            sum += x[row * r->line + (at - r->left) * r->channels + c] * w[(row * r->taps + tap) * r->channels + c];
    }
    return sum;
}

void K(depthwise)(const struct depthwise_rows *r, real *y)
{
    const real *scale = r->scale, *shift = r->shift;
    for (size_t row = 0; row < r->height; row++)
        for (size_t i = 0; i < r->pixels; i++)
            for (size_t c = 0; c < r->channels; c++) {
                real z = sum_taps(r, (const real *)r->x + row * r->stride * r->line, i, c);
                if (scale) z = z * scale[c] + shift[c];
                *y++ = r->ceiling > 0 ? cut(z, (real)r->ceiling) : z;
            }
}

void K(scale_shift_clip)(size_t rows, size_t channels, const real *scale, const real *shift, real ceiling, real *y)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t c = 0; c < channels; c++)
            y[i * channels + c] = cut(y[i * channels + c] * scale[c] + shift[c], ceiling);
}
