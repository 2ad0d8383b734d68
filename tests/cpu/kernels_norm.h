/* kernels_norm.h - checks of batch norm with activation and pooling. Included once for float and once for double, after
 * check.h.
 *
 * All numbers are small multiples of 1/4, so that products and sums are exact, fused or not, and ties are many: results
 * must be equal bit by bit. */
#include "base/size.h"

static const size_t norm_shapes[][2] = {{1, 1}, {3, 5}, {2, 16}, {5, 17}, {4, 40}, {7, 64}}; /* pixels, channels */
enum { NORM_SHAPES = sizeof norm_shapes / sizeof *norm_shapes };

static real *quarters(struct check *c, size_t n, double low, double high)
{
    real *x = check_random(c, n, low, high);
    for (size_t i = 0; i < n; i++) x[i] = (real)(floor((double)x[i] * 4) / 4);
    return x;
}

static double *norm_sums(const double *start, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++) out[i] = start[i];
    return out;
}

static void check_sums(struct check *c, const double *got, const double *want, size_t c_real, size_t lanes, int rows)
{
    for (int r = 0; r < rows; r++)
        for (size_t j = 0; j < c_real; j++)
            if (got[(size_t)r * lanes + j] != want[(size_t)r * lanes + j])
                check_failed(c, "sum %d of channel %zu is %.17g, wanted %.17g", r, j, got[(size_t)r * lanes + j],
                             want[(size_t)r * lanes + j]);
}

enum { MOST_LANES = 64 };
static const double norm_start[3 * MOST_LANES] = {1, 2, 3};

CHECK_KERNEL(moments)
{
    double want[2 * MOST_LANES], got[2 * MOST_LANES];
    for (size_t s = 0; s < NORM_SHAPES; s++) {
        const size_t n = norm_shapes[s][0], width = norm_shapes[s][1], lanes = size_round_up(width, NORM_LANES);
        const real *x = quarters(c, n * width, -4, 4), *pivot = quarters(c, width, -4, 4);
        norm_sums(norm_start, 2 * lanes, want);
        norm_sums(norm_start, 2 * lanes, got);
        ref->moments(x, n, width, pivot, want, want + lanes);
        alt->moments(x, n, width, pivot, got, got + lanes);
        check_sums(c, got, want, width, lanes, 2);
        if (width == 64) BENCH(n * width, moments, (x, n, width, pivot, got, got + lanes));
        check_release(c);
    }
}

/* One shape in one of the four forms: bit 0 a residual, bit 1 pooling. */
static struct norm_pixels norm_case(struct check *c, size_t shape, int form, size_t *elements)
{
    const size_t n = norm_shapes[shape][0], width = norm_shapes[shape][1], lanes = size_round_up(width, NORM_LANES);
    struct norm_pixels p = {.n = n, .c = width, .slope = 0.25, .below = form & 2 ? (2 * n + 1) * width : 0};
    *elements = p.below ? p.below + 2 * n * width : n * width;
    for (int i = 0; i < (form & 1 ? 2 : 1); i++) {
        p.x[i] = quarters(c, *elements, -2, 2);
        p.mean[i] = quarters(c, lanes, -1, 1);
        p.scale[i] = quarters(c, lanes, -1, 2);
        p.bias[i] = quarters(c, lanes, -1, 1);
        p.tilt[i] = quarters(c, lanes, -1, 1);
        p.offset[i] = quarters(c, lanes, -1, 1);
        p.add[i] = (shape + (size_t)i) % 2;
    }
    return p;
}

CHECK_KERNEL(norm_act)
{
    for (size_t s = 0; s < NORM_SHAPES; s++)
        for (int form = 0; form < 4; form++) {
            size_t elements;
            const struct norm_pixels p = norm_case(c, s, form, &elements);
            real *want = check_blank(c, p.n * p.c), *got = check_blank(c, p.n * p.c);
            if (s == 3) ((real *)p.x[0])[elements - 1] = (real)NAN; /* is seen in the result */
            ref->norm_act(&p, want);
            alt->norm_act(&p, got);
            if (s == 3 && !isnan(want[p.n * p.c - 1])) check_failed(c, "a NaN is not seen");
            check_exact(c, got, want, p.n * p.c);
            if (s == NORM_SHAPES - 1) BENCH(elements, norm_act, (&p, got));
            check_release(c);
        }
}

CHECK_KERNEL(norm_act_sums)
{
    double want[3 * MOST_LANES], got[3 * MOST_LANES];
    for (size_t s = 0; s < NORM_SHAPES; s++)
        for (int form = 0; form < 4; form++) {
            size_t elements;
            const struct norm_pixels p = norm_case(c, s, form, &elements);
            const size_t lanes = size_round_up(p.c, NORM_LANES);
            const real *dy = quarters(c, p.n * p.c, -2, 2);
            norm_sums(norm_start, 3 * lanes, want);
            norm_sums(norm_start, 3 * lanes, got);
            ref->norm_act_sums(&p, dy, want);
            alt->norm_act_sums(&p, dy, got);
            check_sums(c, got, want, p.c, lanes, form & 1 ? 3 : 2);
            if (s == NORM_SHAPES - 1) BENCH(elements, norm_act_sums, (&p, dy, got));
            check_release(c);
        }
}

static void check_norm_grad(struct check *c, const check_table *ref, const check_table *alt, size_t s, int form,
                            bool zero)
{
    size_t elements;
    const struct norm_pixels p = norm_case(c, s, form, &elements);
    const real *dy = zero ? NULL : quarters(c, p.n * p.c, -2, 2), *before = quarters(c, elements, -2, 2);
    real *want[2], *got[2];
    for (int i = 0; i < 2; i++) {
        want[i] = check_copy(c, before, elements);
        got[i] = check_copy(c, before, elements);
    }
    ref->norm_act_grad(&p, dy, want[0], want[1]);
    alt->norm_act_grad(&p, dy, got[0], got[1]);
    for (int i = 0; i < 2; i++) check_exact(c, got[i], want[i], elements);
    alt->norm_act_grad(&p, dy, NULL, NULL); /* wants nothing, writes nothing */
    if (s == NORM_SHAPES - 1 && !zero) BENCH(elements, norm_act_grad, (&p, dy, got[0], got[1]));
    check_release(c);
}

CHECK_KERNEL(norm_act_grad)
{
    for (size_t s = 0; s < NORM_SHAPES; s++)
        for (int form = 0; form < 4; form++) {
            check_norm_grad(c, ref, alt, s, form, false);
            check_norm_grad(c, ref, alt, s, form, true);
        }
}
