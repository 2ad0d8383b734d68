/* kernels_conv.h - the check of a first layer's rows. Included once for float and once for double.
 *
 * Sums run in one order everywhere; they differ by the rounding of products that are not fused: 27 of numbers below 4,
 * then scale and shift below 1. */
#include "base/size.h"

static const size_t rgb_channels[] = {0, 1, 8, 15, 16, 17, 33, 64, 70};
static const size_t rgb_pixels[] = {0, 1, 2, 5, 6, 7, 13};
enum { RGB_CHANNELS = sizeof rgb_channels / sizeof *rgb_channels, RGB_PIXELS = sizeof rgb_pixels / sizeof *rgb_pixels };
enum { RGB_MOST = 13 * 70 };

static void check_rgb(struct check *c, const check_table *ref, const check_table *alt, size_t channels, size_t pixels,
                      int form)
{
    static double bound[RGB_MOST];
    const bool pool = form & 1, scales = form & 2;
    const size_t unit = pool ? 2 : 1, line = 3 * (unit * pixels + 2), n = pixels * channels;
    real *x = check_random(c, (unit + 2) * line, -4, 4),
         *w = check_random(c, RGB_TAPS * size_round_up(channels, RGB_LANES), -1, 1);
    const struct rgb_row r = {.x = x,
                              .line = line,
                              .w = w,
                              .pixels = pixels,
                              .channels = channels,
                              .scale = scales ? check_random(c, channels, -1, 1) : NULL,
                              .shift = scales ? check_random(c, channels, -1, 1) : NULL,
                              .slope = 0.25,
                              .pool = pool};
    real *want = check_blank(c, n), *got = check_blank(c, n);
    if (pixels == 13) x[(unit + 2) * line - 1] = (real)NAN; /* under the last pixel alone */
    ref->conv_rgb(&r, want);
    alt->conv_rgb(&r, got);
    if (pixels == 13 && channels && (!isnan((double)want[n - 1]) || isnan((double)want[0])))
        check_failed(c, "a NaN is not seen, or not in its place");
    for (size_t i = 0; i < n; i++) bound[i] = 32 * 27 * 4 * (double)REAL_EPSILON;
    check_bound(c, got, want, bound, n);
    if (channels == 64 && pixels == 13) BENCH(n, conv_rgb, (&r, got));
    check_release(c);
}

CHECK_KERNEL(conv_rgb)
{
    for (size_t i = 0; i < RGB_CHANNELS; i++)
        for (size_t j = 0; j < RGB_PIXELS; j++)
            for (int form = 0; form < 4; form++) check_rgb(c, ref, alt, rgb_channels[i], rgb_pixels[j], form);
}
