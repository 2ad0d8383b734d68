/* prims_depthwise.c - depthwise convolution and its derivatives, clipping and pooling over windows, against loops straight from
 * their definitions, over odd shapes. */
#include "tests/cpu/prims_rig.h"

struct shape {
    size_t n, h, w, c, kh, kw;
    struct depthwise_shape s;
};

static const struct shape shapes[] = {
    {1, 1, 1, 1, 1, 1, {1, 0, 0, 0, 0}},   {2, 5, 4, 3, 3, 3, {1, 1, 1, 1, 1}},    {2, 6, 8, 17, 3, 3, {2, 0, 0, 1, 1}},
    {1, 7, 9, 16, 3, 3, {2, 1, 1, 1, 1}},  {1, 3, 2, 33, 5, 4, {1, 2, 3, 2, 0}},   {3, 9, 7, 8, 3, 3, {3, 2, 1, 0, 2}},
    {0, 5, 5, 3, 3, 3, {1, 1, 1, 1, 1}},   {2, 20, 23, 40, 3, 3, {1, 1, 1, 1, 1}}, {1, 2, 2, 5, 3, 3, {2, 1, 0, 0, 1}},
    {1, 30, 3, 96, 3, 3, {2, 0, 0, 1, 1}},
};

static size_t high(const struct shape *s) { return (s->h + s->s.top + s->s.bottom - s->kh) / s->s.stride + 1; }
static size_t wide(const struct shape *s) { return (s->w + s->s.left + s->s.right - s->kw) / s->s.stride + 1; }

/* Calls itself nothing but a triple loop: every product of the sums, in y's and both derivatives'. */
static void products(const struct shape *s, const double *x, const double *w, const double *dy, double *y, double *dx,
                     double *dw)
{
    const size_t oh = high(s), ow = wide(s), taps = s->kh * s->kw;
    for (size_t i = 0; i < s->n * oh * ow * s->c * taps; i++) {
        const size_t t = i % taps, at = i / taps, c = at % s->c, ox = at / s->c % ow, oy = at / s->c / ow % oh;
        const size_t iy = oy * s->s.stride + t / s->kw, ix = ox * s->s.stride + t % s->kw;
        if (iy < s->s.top || iy >= s->h + s->s.top || ix < s->s.left || ix >= s->w + s->s.left) continue;
        const size_t from = ((at / s->c / ow / oh * s->h + iy - s->s.top) * s->w + ix - s->s.left) * s->c + c;
        y[at] += x[from] * w[c * taps + t];
        dx[from] += dy[at] * w[c * taps + t];
        dw[c * taps + t] += dy[at] * x[from];
    }
}

static void check_affine(struct rig *r, const struct shape *s, const tensor *x, const tensor *w, const double *sums)
{
    tensor scale = rig_random(r, -1, 1, DIMS(s->c)), shift = rig_random(r, -1, 1, DIMS(s->c));
    tensor y = rig_blank(r, DIMS(s->n, high(s), wide(s), s->c));
    const double *by = rig_numbers(r, &scale), *add = rig_numbers(r, &shift);
    double *want = rig_zeros(r, tensor_count(&y));
    struct depthwise_args a = {.x = x, .w = w, .shape = s->s, .scale = &scale, .shift = &shift, .ceiling = 0.5};
    struct conv_ready ready = {.made = false};
    for (size_t i = 0; i < tensor_count(&y); i++) want[i] = fmin(fmax(sums[i] * by[i % s->c] + add[i % s->c], 0), 0.5);
    EXPECT_OK(PRIM(r, depthwise, &a, &y));
    EXPECT_TENSOR(r, y, want, 64);
    EXPECT_OK(PRIM(r, depthwise_prepare, w, &ready));
    a.ready = ready.memory ? &ready : NULL;
    tensor again = rig_blank(r, DIMS(s->n, high(s), wide(s), s->c));
    EXPECT_OK(PRIM(r, depthwise, &a, &again));
    EXPECT_TENSOR(r, again, want, 64);
    if (ready.memory) r->dev->release(r->dev, ready.memory);
}

static void check_shape(struct rig *r, const struct shape *s)
{
    tensor x = rig_random(r, -1, 1, DIMS(s->n, s->h, s->w, s->c)),
           w = rig_random(r, -1, 1, DIMS(s->c, 1, s->kh, s->kw));
    tensor y = rig_blank(r, DIMS(s->n, high(s), wide(s), s->c));
    tensor dy = rig_random(r, -1, 1, DIMS(s->n, high(s), wide(s), s->c));
    tensor dx = rig_random(r, -1, 1, DIMS(s->n, s->h, s->w, s->c)); /* what is there counts */
    tensor dw = rig_random(r, -1, 1, DIMS(s->c, 1, s->kh, s->kw));
    double *want_y = rig_zeros(r, tensor_count(&y)), *want_dx = rig_numbers(r, &dx), *want_dw = rig_numbers(r, &dw);
    products(s, rig_numbers(r, &x), rig_numbers(r, &w), rig_numbers(r, &dy), want_y, want_dx, want_dw);
    const struct depthwise_args a = {.x = &x, .w = &w, .shape = s->s};
    EXPECT_OK(PRIM(r, depthwise, &a, &y));
    EXPECT_TENSOR(r, y, want_y, 32);
    EXPECT_OK(PRIM(r, depthwise_grad_x, &w, &dy, s->s, &dx));
    EXPECT_TENSOR(r, dx, want_dx, 32);
    EXPECT_OK(PRIM(r, depthwise_grad_w, &x, &dy, s->s, &dw));
    EXPECT_TENSOR(r, dw, want_dw, 8 + (double)tensor_count(&dy) / 2);
    check_affine(r, s, &x, &w, want_y);
}

static void check_depthwise(struct rig *r)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) check_shape(r, &shapes[i]);
}
TEST(depthwise_and_its_derivatives_of_all_shapes) { rig_each(check_depthwise); }

static void check_clip(struct rig *r)
{
    static const double numbers[] = {-7, -1, 0, 0.5, 2, 9, (double)NAN, (double)INFINITY};
    static const double clipped[] = {-1, -1, 0, 0.5, 2, 2, (double)NAN, 2}, slopes[] = {1, 1, 2, 2, 1, 1, 1, 1};
    tensor x = rig_given(r, numbers, DIMS(8)), y = rig_blank(r, DIMS(8));
    tensor dy = rig_filled(r, 1, DIMS(8)), dx = rig_filled(r, 1, DIMS(8));
    EXPECT_OK(PRIM(r, clip, &x, -1, 2, &y));
    EXPECT_TENSOR(r, y, clipped, 0);
    EXPECT_OK(PRIM(r, clip_grad, &x, &dy, -1, 2, &dx));
    EXPECT_TENSOR(r, dx, slopes, 0);
    EXPECT_OK(PRIM(r, clip, &x, -1, 2, &x));
    EXPECT_TENSOR(r, x, clipped, 0);
}
TEST(clip_keeps_numbers_between_its_bounds_and_nan) { rig_each(check_clip); }

static void check_windows(struct rig *r, size_t n, size_t h, size_t w, size_t c, struct pool_shape s)
{
    const size_t oh = (h + 2 * s.pad - s.size) / s.stride + 1, ow = (w + 2 * s.pad - s.size) / s.stride + 1;
    tensor x = rig_random(r, -2, -1, DIMS(n, h, w, c)),
           y = rig_blank(r, DIMS(n, oh, ow, c)); /* below a border of zeros */
    tensor dy = rig_random(r, -1, 1, DIMS(n, oh, ow, c)), dx = rig_random(r, -1, 1, DIMS(n, h, w, c));
    const double *px = rig_numbers(r, &x), *pdy = rig_numbers(r, &dy);
    double *want = rig_zeros(r, tensor_count(&y)), *want_dx = rig_numbers(r, &dx);
    for (size_t i = 0; i < tensor_count(&y); i++) {
        size_t best = SIZE_MAX;
        for (size_t k = 0; k < s.size * s.size; k++) {
            const size_t iy = i / c / ow % oh * s.stride + k / s.size, ix = i / c % ow * s.stride + k % s.size;
            if (iy < s.pad || iy >= h + s.pad || ix < s.pad || ix >= w + s.pad) continue;
            const size_t at = ((i / c / ow / oh * h + iy - s.pad) * w + ix - s.pad) * c + i % c;
            if (best == SIZE_MAX || px[at] > px[best]) best = at;
        }
        want[i] = px[best];
        want_dx[best] += pdy[i];
    }
    EXPECT_OK(PRIM(r, max_pool, &x, s, &y));
    EXPECT_TENSOR(r, y, want, 0);
    EXPECT_OK(PRIM(r, max_pool_grad, &x, &dy, s, &dx));
    EXPECT_TENSOR(r, dx, want_dx, 16);
}

static void check_max_pool(struct rig *r)
{
    check_windows(r, 2, 9, 8, 5, (struct pool_shape){3, 2, 1});
    check_windows(r, 1, 4, 7, 17, (struct pool_shape){3, 1, 2});
    check_windows(r, 3, 6, 6, 2, (struct pool_shape){2, 3, 0});
    check_windows(r, 1, 40, 33, 32, (struct pool_shape){3, 2, 1});
    check_windows(r, 1, 1, 1, 1, (struct pool_shape){1, 1, 0});
}
TEST(max_pool_and_its_derivative_over_windows) { rig_each(check_max_pool); }
