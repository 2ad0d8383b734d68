/* kernels_elementwise.h - checks of the kernels from numbers to as many numbers. Included once for float and once for
 * double, after check.h.
 *
 * One operation a number (add, relu) is exact. Where a variant may fuse a product and a sum, results differ by the
 * rounding of the product: two roundings against one. */

/* y = f(a, b) with one rounding; also with y in the place of a. */
static void check_binary(struct check *c, void (*ref)(const real *, const real *, real *, size_t),
                         void (*alt)(const real *, const real *, real *, size_t))
{
    for (size_t k = 0; k < CHECK_SIZES; k++) {
        const size_t n = check_sizes[k];
        const real *a = check_random(c, n, -4, 4), *b = check_random(c, n, -4, 4);
        real *want = check_blank(c, n), *got = check_blank(c, n), *same = check_copy(c, a, n);
        ref(a, b, want, n);
        alt(a, b, got, n);
        alt(same, b, same, n);
        check_exact(c, got, want, n);
        check_exact(c, same, want, n);
        check_release(c);
    }
}

static void bench_binary(struct check *c, void (*ref)(const real *, const real *, real *, size_t),
                         void (*alt)(const real *, const real *, real *, size_t))
{
    const size_t n = 1000;
    const real *a = check_random(c, n, 1, 2), *b = check_random(c, n, 1, 2);
    real *y = check_copy(c, a, n);
    BENCH_PAIR(n, ref(a, b, y, n), alt(a, b, y, n));
    check_release(c);
}

CHECK_KERNEL(add)
{
    check_binary(c, ref->add, alt->add);
    bench_binary(c, ref->add, alt->add);
}

CHECK_KERNEL(sub)
{
    check_binary(c, ref->sub, alt->sub);
    bench_binary(c, ref->sub, alt->sub);
}

CHECK_KERNEL(mul)
{
    check_binary(c, ref->mul, alt->mul);
    bench_binary(c, ref->mul, alt->mul);
}

CHECK_KERNEL(div)
{
    check_binary(c, ref->div, alt->div);
    bench_binary(c, ref->div, alt->div);
}

/* |a b| + |y| bounds both roundings: half an ulp of the product and one of the sum, on either side. */
static double fused_bound(real a, real b, real y)
{
    return 2 * (double)REAL_EPSILON * (fabs((double)a * (double)b) + fabs((double)y));
}

CHECK_KERNEL(affine)
{
    double bound[1024];
    for (size_t k = 0; k < CHECK_SIZES; k++) {
        const size_t n = check_sizes[k];
        const real *x = check_random(c, n, -4, 4), mul = (real)1.7, add = (real)-0.3;
        real *want = check_blank(c, n), *got = check_blank(c, n), *same = check_copy(c, x, n);
        for (size_t i = 0; i < n; i++) bound[i] = fused_bound(x[i], mul, add);
        ref->affine(x, mul, add, want, n);
        alt->affine(x, mul, add, got, n);
        alt->affine(same, mul, add, same, n);
        check_bound(c, got, want, bound, n);
        check_exact(c, same, got, n);
        if (n == 1000) BENCH(n, affine, (x, mul, add, got, n));
        check_release(c);
    }
}

CHECK_KERNEL(axpy)
{
    double bound[1024];
    for (size_t k = 0; k < CHECK_SIZES; k++) {
        const size_t n = check_sizes[k];
        const real *x = check_random(c, n, -4, 4), *y = check_random(c, n, -4, 4), alpha = (real)0.6;
        real *want = check_copy(c, y, n), *got = check_copy(c, y, n);
        for (size_t i = 0; i < n; i++) bound[i] = fused_bound(x[i], alpha, y[i]);
        ref->axpy(alpha, x, want, n);
        alt->axpy(alpha, x, got, n);
        check_bound(c, got, want, bound, n);
        if (n == 1000) BENCH(n, axpy, (alpha, x, got, n));
        check_release(c);
    }
}

CHECK_KERNEL(mul_add)
{
    double bound[1024];
    for (size_t k = 0; k < CHECK_SIZES; k++) {
        const size_t n = check_sizes[k];
        const real *a = check_random(c, n, -4, 4), *b = check_random(c, n, -4, 4), *y = check_random(c, n, -4, 4);
        real *want = check_copy(c, y, n), *got = check_copy(c, y, n);
        for (size_t i = 0; i < n; i++) bound[i] = fused_bound(a[i], b[i], y[i]);
        ref->mul_add(a, b, want, n);
        alt->mul_add(a, b, got, n);
        check_bound(c, got, want, bound, n);
        if (n == 1000) BENCH(n, mul_add, (a, b, got, n));
        check_release(c);
    }
}

/* The promised 2 ulp against the exponential in long double, densely: beside a reference that is rounded itself, an
 * error of up to 2.5 ulp would pass. */
static void check_exp_error(struct check *c, const check_table *t, double low, double high)
{
    enum { BATCH = 1000, BATCHES = 100 };
    const int digits = sizeof(real) == sizeof(float) ? FLT_MANT_DIG : DBL_MANT_DIG;
    for (size_t k = 0; k < BATCHES; k++) {
        const real *x = check_random(c, BATCH, low, high);
        real *y = check_blank(c, BATCH);
        t->exp(x, y, BATCH);
        for (size_t i = 0; i < BATCH; i++) {
            const long double want = expl((long double)x[i]);
            int exponent;
            frexpl(want, &exponent);
            const double ulps = (double)ldexpl(fabsl((long double)y[i] - want), digits - exponent);
            if (!(ulps <= 2)) check_failed(c, "exp(%.17g) is %.17g, off by %.3f ulp", (double)x[i], (double)y[i], ulps);
        }
        check_release(c);
    }
}

/* exp over the whole range, and at its edges: 2 ulp, exact limits. */
CHECK_KERNEL(exp)
{
    const double edge = sizeof(real) == sizeof(float) ? 90 : 712;
    for (size_t k = 0; k < CHECK_SIZES; k++) {
        const size_t n = check_sizes[k];
        const real *x = check_random(c, n, -edge, edge);
        real *want = check_blank(c, n), *got = check_blank(c, n), *same = check_copy(c, x, n);
        ref->exp(x, want, n);
        alt->exp(x, got, n);
        alt->exp(same, same, n);
        check_ulps(c, got, want, n, 2);
        check_exact(c, same, got, n);
        if (n == 1000) BENCH(n, exp, (x, got, n));
        check_release(c);
    }
    check_exp_error(c, alt, -0.97 * edge, 0.98 * edge);
    check_exp_error(c, alt, -1, 1);
    enum { SPECIAL = 7 };
    const double special[SPECIAL] = {0, -0.0, (double)INFINITY, (double)-INFINITY, (double)NAN, edge, -1e30};
    real x[SPECIAL], want[SPECIAL], got[SPECIAL];
    for (size_t i = 0; i < SPECIAL; i++) x[i] = (real)special[i];
    ref->exp(x, want, SPECIAL);
    alt->exp(x, got, SPECIAL);
    check_exact(c, got, want, SPECIAL);
}

CHECK_KERNEL(relu)
{
    for (size_t k = 0; k < CHECK_SIZES; k++) {
        const size_t n = check_sizes[k];
        real *x = check_random(c, n, -4, 4), *want = check_blank(c, n), *got = check_blank(c, n);
        if (n > 2) x[n - 1] = (real)NAN, x[n / 2] = (real)-0.0, x[0] = (real)NAN;
        ref->relu(x, want, n);
        alt->relu(x, got, n);
        check_exact(c, got, want, n);
        if (n == 1000) BENCH(n, relu, (x, got, n));
        check_release(c);
    }
}
