/* kernels_winograd.h - checks of the maps of Winograd's convolution. Included once for float and once for double.
 *
 * The maps are linear with numbers below 4 in rows of 6, so a result is below 4 * 75 for inputs below 4; the reference
 * sums in double, and the bound is 32 roundings of that. */

static const size_t winograd_channels[] = {0, 1, 3, 4, 8, 15, 16, 17, 33, 64};
enum { WINOGRAD_CASES = sizeof winograd_channels / sizeof *winograd_channels, WINOGRAD_MOST = 36 * 80 };

static void winograd_near(struct check *c, const real *got, const real *want, size_t n)
{
    static double bound[WINOGRAD_MOST];
    for (size_t i = 0; i < n; i++) bound[i] = isnan((double)want[i]) ? 0 : 32 * 300 * (double)REAL_EPSILON;
    check_bound(c, got, want, bound, n);
}

/* Numbers that `places` of `step` numbers take, of which the last has only `channels`. */
static size_t winograd_extent(size_t places, size_t step, size_t channels)
{
    return channels ? (places - 1) * step + channels : 0;
}

CHECK_KERNEL(winograd_input)
{
    for (size_t k = 0; k < WINOGRAD_CASES; k++) {
        const size_t n = winograd_channels[k], pixel = n + k % 3, row = 6 * pixel + k % 2, step = n + k % 4;
        const size_t extent = winograd_extent(36, step, n);
        const real *x = check_random(c, n ? 5 * row + 5 * pixel + n : 0, -4, 4);
        real *want = check_blank(c, extent), *got = check_blank(c, extent);
        ref->winograd_input(n, x, row, pixel, want, step);
        alt->winograd_input(n, x, row, pixel, got, step);
        winograd_near(c, got, want, extent);
        if (n == 64) BENCH(n, winograd_input, (n, x, row, pixel, got, step));
        check_release(c);
    }
}

CHECK_KERNEL(winograd_output_grad)
{
    for (size_t k = 0; k < WINOGRAD_CASES; k++) {
        const size_t n = winograd_channels[k], pixel = n + k % 3, row = 4 * pixel + k % 2, step = n + k % 4;
        const size_t extent = winograd_extent(36, step, n);
        const real *x = check_random(c, n ? 3 * row + 3 * pixel + n : 0, -4, 4);
        real *want = check_blank(c, extent), *got = check_blank(c, extent);
        ref->winograd_output_grad(n, x, row, pixel, want, step);
        alt->winograd_output_grad(n, x, row, pixel, got, step);
        winograd_near(c, got, want, extent);
        if (n == 64) BENCH(n, winograd_output_grad, (n, x, row, pixel, got, step));
        check_release(c);
    }
}

/* One number of channels, rows and columns: plain (form 0), added (1), with scale, shift and slope (2), with those and
 * pooled (3), pooled alone (4). */
static void check_output(struct check *c, const check_table *ref, const check_table *alt, size_t k, size_t form)
{
    const size_t n = winograd_channels[k / 16], rows = 1 + k / 4 % 4, columns = 1 + k % 4, unit = form > 2 ? 2 : 1;
    const size_t pixel = n + k % 3, row = 4 * pixel + k % 2, step = n + k % 5, high = rows / unit,
                 wide = columns / unit;
    const size_t extent = n && high && wide ? (high - 1) * row + (wide - 1) * pixel + n : 0;
    real *m = check_random(c, winograd_extent(36, step, n), -4, 4);
    const bool scales = form == 2 || form == 3;
    const struct winograd_end end = {.scale = scales ? check_random(c, n, -1, 1) : NULL,
                                     .shift = scales ? check_random(c, n, -1, 1) : NULL,
                                     .slope = 0.2,
                                     .add = form == 1,
                                     .pool = form > 2,
                                     .rows = rows,
                                     .columns = columns};
    const real *before = form == 1 ? check_random(c, extent, -4, 4) : check_blank(c, extent);
    real *want = check_copy(c, before, extent), *got = check_copy(c, before, extent);
    for (size_t p = 0; n == 17 && p < 36; p++) m[p * step + 16] = (real)NAN; /* must be seen, in its channel */
    ref->winograd_output(n, m, step, &end, want, row, pixel);
    alt->winograd_output(n, m, step, &end, got, row, pixel);
    if (n == 17 && extent && !isnan((double)want[16])) check_failed(c, "a NaN is not seen");
    winograd_near(c, got, want, extent);
    if (n == 64 && rows * columns == 16) BENCH(n, winograd_output, (n, m, step, &end, got, row, pixel));
    check_release(c);
}

/* Every number of rows and columns in every form. */
CHECK_KERNEL(winograd_output)
{
    for (size_t k = 0; k < 16 * WINOGRAD_CASES; k++)
        for (size_t form = 0; form < 5; form++) check_output(c, ref, alt, k, form);
}

CHECK_KERNEL(winograd_weights)
{
    for (size_t k = 0; k < WINOGRAD_CASES; k++) {
        const size_t n = winograd_channels[k], step = n + k % 4, extent = winograd_extent(36, step, n);
        const real *w = check_random(c, 9 * n, -4, 4);
        real *want = check_blank(c, extent), *got = check_blank(c, extent), *rows = check_blank(c, extent);
        ref->winograd_weights(n, w, 0, 6, want, step);
        alt->winograd_weights(n, w, 0, 6, got, step);
        for (size_t row = 0; n && row < 6; row++) alt->winograd_weights(n, w, row, 1, rows + 6 * row * step, step);
        winograd_near(c, got, want, extent);
        if (extent && memcmp(rows, got, extent * sizeof *got)) check_failed(c, "row by row it is another spectrum");
        if (n == 64) BENCH(n, winograd_weights, (n, w, 0, 6, got, step));
        check_release(c);
    }
}

CHECK_KERNEL(winograd_weights_grad)
{
    for (size_t k = 0; k < WINOGRAD_CASES; k++) {
        const size_t n = winograd_channels[k], step = n + k % 4;
        const real *u = check_random(c, winograd_extent(36, step, n), -4, 4);
        real *want = check_blank(c, 9 * n), *got = check_blank(c, 9 * n);
        ref->winograd_weights_grad(n, u, step, want);
        alt->winograd_weights_grad(n, u, step, got);
        winograd_near(c, got, want, 9 * n);
        if (n == 64) BENCH(n, winograd_weights_grad, (n, u, step, got));
        check_release(c);
    }
}

/* The last row is NaN, which must stay. */
CHECK_KERNEL(scale_shift_leaky)
{
    for (size_t k = 0; k < WINOGRAD_CASES; k++) {
        const size_t n = winograd_channels[k], rows = k % 4, extent = rows * n;
        const real *scale = check_random(c, n, -1, 1), *shift = check_random(c, n, -1, 1);
        real *before = check_random(c, extent, -4, 4);
        for (size_t i = 0; rows && i < n; i++) before[extent - n + i] = rows > 2 ? (real)NAN : 3;
        real *want = check_copy(c, before, extent), *got = check_copy(c, before, extent);
        ref->scale_shift_leaky(rows, n, scale, shift, (real)0.2, want);
        alt->scale_shift_leaky(rows, n, scale, shift, (real)0.2, got);
        winograd_near(c, got, want, extent);
        check_release(c);
    }
}
