/* kernels_depthwise.h - the checks of a depthwise convolution's rows. Included once for float and once for double.
 *
 * Sums run in one order everywhere; they differ by the rounding of products that are not fused: 15 of numbers below 4, then
 * scale and shift below 1. */

static const size_t depthwise_channels[] = {0, 1, 7, 8, 15, 16, 17, 33, 40};
static const struct {
    size_t columns, rows, taps, stride, left, pixels, height;
} depthwise_forms[] = {
    {9, 3, 3, 1, 1, 9, 1},  {9, 2, 3, 1, 1, 9, 1},   {10, 3, 3, 2, 0, 5, 3},  {11, 3, 3, 2, 1, 6, 7},
    {1, 1, 3, 1, 1, 1, 2},  {2, 3, 3, 2, 1, 1, 4},   {13, 2, 5, 1, 2, 13, 3}, {12, 3, 2, 3, 0, 4, 2},
    {5, 3, 3, 1, 2, 7, 4},  {30, 3, 3, 1, 0, 28, 7}, {9, 3, 3, 1, 1, 0, 2},   {9, 3, 3, 1, 1, 9, 0},
    {11, 2, 3, 2, 1, 6, 2}, {9, 3, 2, 1, 1, 9, 5},   {9, 2, 2, 2, 1, 5, 2},   {23, 3, 3, 2, 0, 11, 6}};
enum {
    DEPTHWISE_CHANNELS = sizeof depthwise_channels / sizeof *depthwise_channels,
    DEPTHWISE_FORMS = sizeof depthwise_forms / sizeof *depthwise_forms,
    DEPTHWISE_MOST = 7 * 28 * 40
};

static void check_depthwise_rows(struct check *c, const check_table *ref, const check_table *alt, size_t channels,
                                 size_t form, bool scales, double ceiling)
{
    static double bound[DEPTHWISE_MOST];
    const size_t columns = depthwise_forms[form].columns, rows = depthwise_forms[form].rows;
    const size_t taps = depthwise_forms[form].taps, height = depthwise_forms[form].height;
    const size_t n = height * depthwise_forms[form].pixels * channels;
    const size_t under = height ? (height - 1) * depthwise_forms[form].stride + rows : 0; /* rows of the map */
    real *x = check_random(c, under * columns * channels, -4, 4);
    const struct depthwise_rows r = {.x = x,
                                     .columns = columns,
                                     .line = columns * channels,
                                     .w = check_random(c, rows * taps * channels, -1, 1),
                                     .rows = rows,
                                     .taps = taps,
                                     .stride = depthwise_forms[form].stride,
                                     .left = depthwise_forms[form].left,
                                     .height = height,
                                     .pixels = depthwise_forms[form].pixels,
                                     .channels = channels,
                                     .scale = scales ? check_random(c, channels, -1, 1) : NULL,
                                     .shift = scales ? check_random(c, channels, -1, 1) : NULL,
                                     .ceiling = ceiling};
    real *want = check_blank(c, n), *got = check_blank(c, n);
    if (form == 0 && channels) x[0] = (real)NAN; /* under the first two pixels alone */
    ref->depthwise(&r, want);
    alt->depthwise(&r, got);
    if (form == 0 && channels && (!isnan((double)want[0]) || isnan((double)want[n - 1])))
        check_failed(c, "a NaN is not seen, or not in its place");
    for (size_t i = 0; i < n; i++) bound[i] = 32 * 15 * 4 * (double)REAL_EPSILON;
    check_bound(c, got, want, bound, n);
    if (channels == 40 && form == 9) BENCH(n, depthwise, (&r, got));
    check_release(c);
}

CHECK_KERNEL(depthwise)
{
    for (size_t i = 0; i < DEPTHWISE_CHANNELS; i++)
        for (size_t form = 0; form < DEPTHWISE_FORMS; form++)
            for (int k = 0; k < 4; k++)
                check_depthwise_rows(c, ref, alt, depthwise_channels[i], form, k & 1, k & 2 ? 1.5 : 0);
}

CHECK_KERNEL(scale_shift_clip)
{
    static double bound[3 * 40];
    for (size_t k = 0; k < DEPTHWISE_CHANNELS; k++) {
        const size_t n = depthwise_channels[k], rows = k % 4, extent = rows * n;
        const real *scale = check_random(c, n, -1, 1), *shift = check_random(c, n, -1, 1);
        real *before = check_random(c, extent, -8, 8);
        if (extent) before[extent - 1] = (real)NAN;
        real *want = check_copy(c, before, extent), *got = check_copy(c, before, extent);
        ref->scale_shift_clip(rows, n, scale, shift, (real)3, want);
        alt->scale_shift_clip(rows, n, scale, shift, (real)3, got);
        if (extent && !isnan((double)want[extent - 1])) check_failed(c, "a NaN does not stay");
        for (size_t i = 0; i < extent; i++) bound[i] = 32 * (double)REAL_EPSILON;
        check_bound(c, got, want, bound, extent);
        check_release(c);
    }
}
