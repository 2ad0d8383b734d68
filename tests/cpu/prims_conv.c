/* prims_conv.c - convolution and its derivatives against loops straight from the definition, over odd shapes. */
#include "tests/cpu/prims_rig.h"

struct shape {
    size_t n, h, w, in, out, kh, kw, stride, pad;
};

static const struct shape shapes[] = {
    {1, 1, 1, 1, 1, 1, 1, 1, 0},    {2, 5, 4, 3, 2, 3, 3, 1, 1},    {2, 7, 6, 3, 17, 5, 5, 1, 2},
    {1, 9, 9, 16, 17, 3, 3, 2, 1},  {2, 6, 5, 17, 64, 1, 1, 1, 0},  {1, 8, 7, 16, 3, 1, 1, 2, 0},
    {1, 6, 6, 64, 33, 3, 3, 1, 1},  {3, 7, 7, 1, 16, 5, 5, 2, 0},   {1, 5, 8, 3, 4, 3, 3, 1, 0},
    {1, 4, 4, 2, 3, 1, 1, 1, 1},    {1, 4, 5, 2, 3, 1, 1, 2, 2},    {2, 5, 6, 3, 4, 3, 1, 1, 1},
    {1, 6, 5, 2, 3, 3, 5, 2, 2},    {0, 5, 5, 3, 4, 3, 3, 1, 1},    {1, 3, 3, 300, 5, 3, 3, 1, 1},
    {2, 90, 70, 20, 3, 3, 3, 1, 1}, {2, 7, 7, 3, 2, 3, 3, 3, 1},    {3, 9, 11, 20, 40, 1, 1, 1, 0},
    {1, 3, 3, 8, 300, 1, 1, 1, 0},  {5, 17, 17, 8, 33, 1, 1, 1, 0},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static size_t out_size(size_t in, size_t k, const struct shape *s) { return (in + 2 * s->pad - k) / s->stride + 1; }

/* Calls `meet` for every product in the sum: y's element, x's and w's. */
struct triple {
    const double *x, *w, *dy;
    double *y, *dx, *dw;
};

DEFINITION static void meet(const struct triple *t, size_t y, size_t x, size_t w)
{
    if (t->y) t->y[y] += t->x[x] * t->w[w];
    if (t->dx) t->dx[x] += t->dy[y] * t->w[w];
    if (t->dw) t->dw[w] += t->dy[y] * t->x[x];
}

DEFINITION static void pixel(const struct shape *s, const struct triple *t, size_t p, size_t y)
{
    const size_t oh = out_size(s->h, s->kh, s), ow = out_size(s->w, s->kw, s);
    const size_t picture = p / ow / oh, oy = p / ow % oh, ox = p % ow, o = y % s->out;
    for (size_t i = 0; i < s->in * s->kh * s->kw; i++) {
        const size_t c = i / s->kw / s->kh, iy = oy * s->stride + i / s->kw % s->kh, ix = ox * s->stride + i % s->kw;
        if (iy < s->pad || iy >= s->h + s->pad || ix < s->pad || ix >= s->w + s->pad) continue;
        meet(t, y, ((picture * s->h + iy - s->pad) * s->w + ix - s->pad) * s->in + c, o * s->in * s->kh * s->kw + i);
    }
}

/* `more` times the tolerance of plain sums. */
static void check_shape_within(struct rig *r, const struct shape *s, double more)
{
    const size_t oh = out_size(s->h, s->kh, s), ow = out_size(s->w, s->kw, s);
    const struct conv_shape how = {s->stride, s->pad};
    tensor x = rig_random(r, -1, 1, DIMS(s->n, s->h, s->w, s->in));
    tensor w = rig_random(r, -1, 1, DIMS(s->out, s->in, s->kh, s->kw));
    tensor y = rig_blank(r, DIMS(s->n, oh, ow, s->out)), dy = rig_random(r, -1, 1, DIMS(s->n, oh, ow, s->out));
    tensor dx = rig_random(r, -1, 1, DIMS(s->n, s->h, s->w, s->in)); /* what is there counts */
    tensor dw = rig_random(r, -1, 1, DIMS(s->out, s->in, s->kh, s->kw));
    struct triple t = {rig_numbers(r, &x),  rig_numbers(r, &w), rig_numbers(r, &dy), rig_zeros(r, tensor_count(&y)),
                       rig_numbers(r, &dx), rig_numbers(r, &dw)};
    for (size_t i = 0; i < tensor_count(&y); i++) pixel(s, &t, i / s->out, i);
    EXPECT_OK(PRIM(r, conv2d, &x, &w, how, &y));
    EXPECT_TENSOR(r, y, t.y, more * (8 + (double)(s->in * s->kh * s->kw) / 2));
    double *before = rig_numbers(r, &dx);
    EXPECT_OK(PRIM(r, conv2d_grad_x, &w, NULL, &dy, how, true, &dx));
    EXPECT_TENSOR(r, dx, t.dx, more * (8 + (double)(s->out * s->kh * s->kw) / 2));
    tensor fresh = rig_blank(r, DIMS(s->n, s->h, s->w, s->in)); /* not a number anywhere */
    for (size_t i = 0; i < tensor_count(&dx); i++) t.dx[i] -= before[i];
    EXPECT_OK(PRIM(r, conv2d_grad_x, &w, NULL, &dy, how, false, &fresh));
    EXPECT_TENSOR(r, fresh, t.dx, more * (8 + (double)(s->out * s->kh * s->kw) / 2));
    EXPECT_OK(PRIM(r, conv2d_grad_w, &x, &dy, how, &dw));
    EXPECT_TENSOR(r, dw, t.dw, more * (8 + (double)(s->n * oh * ow) / 2));
}

static void check_shape(struct rig *r, const struct shape *s) { check_shape_within(r, s, 1); }

static void check_conv(struct rig *r)
{
    for (size_t i = 0; i < SHAPES; i++) check_shape(r, &shapes[i]);
}
TEST(conv2d_and_its_derivatives_of_all_shapes) { rig_each(check_conv); }

/* Tiles that fill and do not fill a map, borders of every width, channels beside every vector's, few and many of them,
 * and so many tiles that they come in several blocks or groups. */
static const struct shape winograd_shapes[] = {
    {1, 1, 1, 1, 1, 3, 3, 1, 1},     {1, 2, 3, 3, 5, 3, 3, 1, 1},     {2, 3, 3, 2, 4, 3, 3, 1, 0},
    {1, 4, 4, 16, 16, 3, 3, 1, 1},   {3, 5, 7, 17, 15, 3, 3, 1, 1},   {2, 6, 6, 8, 33, 3, 3, 1, 0},
    {1, 7, 6, 31, 64, 3, 3, 1, 2},   {2, 9, 13, 33, 20, 3, 3, 1, 0},  {0, 5, 5, 3, 4, 3, 3, 1, 1},
    {2, 21, 21, 20, 40, 3, 3, 1, 1}, {9, 10, 10, 24, 16, 3, 3, 1, 1}, {1, 10, 10, 300, 36, 3, 3, 1, 1},
    {1, 30, 34, 3, 150, 3, 3, 1, 1}, {1, 8, 8, 18, 310, 3, 3, 1, 1},  {8, 64, 63, 1, 2, 3, 3, 1, 1},
};

static void check_winograd(struct rig *r)
{
    static const enum cpu_conv ways[] = {CPU_CONV_WINOGRAD, CPU_CONV_PANELS};
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        if (r->dev->on_host) cpu_of(r->dev)->conv = ways[way];
        for (size_t i = 0; i < sizeof winograd_shapes / sizeof *winograd_shapes; i++)
            check_shape_within(r, &winograd_shapes[i], 8);
    }
}
TEST(winograd_convolution_and_its_derivatives_of_all_shapes) { rig_each(check_winograd); }

static double root_mean_square(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i] * x[i];
    return n ? sqrt(sum / (double)n) : 0;
}

/* The distance between a result's two ways, as a share of its size. */
static double distance(struct rig *r, const tensor *one, const tensor *other)
{
    const size_t n = tensor_count(one);
    double *a = rig_numbers(r, one), *b = rig_numbers(r, other), most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs(a[i] - b[i]));
    return most / root_mean_square(a, n);
}

/* A layer of a real network: the loss of precision is that of a few more roundings. */
static void check_precision(struct rig *r)
{
    const struct conv_shape how = {1, 1};
    tensor x = rig_random(r, -1, 1, DIMS(2, 21, 21, 64)), w = rig_random(r, -0.1, 0.1, DIMS(64, 64, 3, 3));
    tensor dy = rig_random(r, -1, 1, DIMS(2, 21, 21, 64)), y[2], dx[2], dw[2];
    for (int i = 0; i < 2; i++) {
        cpu_of(r->dev)->conv = i ? CPU_CONV_WINOGRAD : CPU_CONV_DIRECT;
        y[i] = rig_blank(r, DIMS(2, 21, 21, 64));
        dx[i] = rig_filled(r, 0, DIMS(2, 21, 21, 64));
        dw[i] = rig_filled(r, 0, DIMS(64, 64, 3, 3));
        EXPECT_OK(PRIM(r, conv2d, &x, &w, how, &y[i]));
        EXPECT_OK(PRIM(r, conv2d_grad_x, &w, NULL, &dy, how, true, &dx[i]));
        EXPECT_OK(PRIM(r, conv2d_grad_w, &x, &dy, how, &dw[i]));
    }
    EXPECT(distance(r, &y[0], &y[1]) < 100 * r->epsilon);
    EXPECT(distance(r, &dx[0], &dx[1]) < 100 * r->epsilon);
    EXPECT(distance(r, &dw[0], &dw[1]) < 100 * r->epsilon);
    EXPECT(memcmp(y[0].data, y[1].data, tensor_bytes(&y[0])) != 0); /* both ways were taken */
}
TEST(winograd_convolution_is_as_precise_as_direct_to_a_hundred_roundings)
{
    if (!test_is_for_cpu()) rig_each(check_precision);
}

/* The largest of 2x2 outputs [n, oh, ow, out]; the result is the caller's. */
static double *pool_of(struct rig *r, const double *y, const struct shape *s, size_t oh, size_t ow)
{
    const size_t high = oh / 2, wide = ow / 2;
    double *to = rig_zeros(r, s->n * high * wide * s->out);
    for (size_t i = 0; i < s->n * high * wide * s->out; i++) {
        const size_t pixel_at = i / s->out, row = pixel_at / wide % high, picture = pixel_at / wide / high;
        const double *at = y + ((picture * oh + 2 * row) * ow + 2 * (pixel_at % wide)) * s->out + i % s->out;
        to[i] = fmax(fmax(at[0], at[s->out]), fmax(at[ow * s->out], at[(ow + 1) * s->out]));
    }
    return to;
}

static void check_affine_shape(struct rig *r, const struct shape *s, double slope)
{
    const size_t oh = out_size(s->h, s->kh, s), ow = out_size(s->w, s->kw, s);
    const struct conv_shape how = {s->stride, s->pad};
    tensor x = rig_random(r, -1, 1, DIMS(s->n, s->h, s->w, s->in));
    tensor w = rig_random(r, -1, 1, DIMS(s->out, s->in, s->kh, s->kw)), y = rig_blank(r, DIMS(s->n, oh, ow, s->out));
    tensor scale = rig_random(r, -1, 1, DIMS(s->out)), shift = rig_random(r, -1, 1, DIMS(s->out));
    const double *k = rig_numbers(r, &scale), *b = rig_numbers(r, &shift);
    struct triple t = {rig_numbers(r, &x), rig_numbers(r, &w), NULL, rig_zeros(r, tensor_count(&y)), NULL, NULL};
    for (size_t i = 0; i < tensor_count(&y); i++) {
        pixel(s, &t, i / s->out, i);
        t.y[i] = t.y[i] * k[i % s->out] + b[i % s->out];
        if (t.y[i] <= 0) t.y[i] *= slope;
    }
    struct conv_affine_args args = {.x = &x, .w = &w, .shape = how, .scale = &scale, .shift = &shift, .slope = slope};
    EXPECT_OK(PRIM(r, conv2d_affine, &args, &y));
    EXPECT_TENSOR(r, y, t.y, 8 * (8 + (double)(s->in * s->kh * s->kw) / 2));
    if (oh < 2 || ow < 2) return;
    tensor pooled = rig_blank(r, DIMS(s->n, oh / 2, ow / 2, s->out));
    args.pool = true;
    EXPECT_OK(PRIM(r, conv2d_affine, &args, &pooled));
    EXPECT_TENSOR(r, pooled, pool_of(r, t.y, s, oh, ow), 8 * (8 + (double)(s->in * s->kh * s->kw) / 2));
}

static void check_affine(struct rig *r)
{
    for (size_t i = 0; i < SHAPES; i++) check_affine_shape(r, &shapes[i], i % 3 ? 0.1 : 1);
    if (r->dev->on_host) cpu_of(r->dev)->conv = CPU_CONV_WINOGRAD;
    for (size_t i = 0; i < sizeof winograd_shapes / sizeof *winograd_shapes; i++)
        check_affine_shape(r, &winograd_shapes[i], i % 3 ? 0.1 : 1);
}
TEST(conv2d_affine_scales_shifts_bends_and_pools_the_convolution) { rig_each(check_affine); }

/* First layers, whose kernel adds up in the products' order: the same bits where both fuse. */
static const struct shape rgb_shapes[] = {{2, 84, 84, 3, 64, 3, 3, 1, 1}, {3, 20, 13, 3, 37, 3, 3, 1, 1},
                                          {1, 5, 4, 3, 1, 3, 3, 1, 0},    {2, 3, 40, 3, 16, 3, 3, 1, 2},
                                          {1, 33, 2, 3, 80, 3, 3, 1, 1},  {0, 8, 8, 3, 64, 3, 3, 1, 1}};

static void check_rgb_bits(struct rig *r, const struct shape *s)
{
    const struct conv_shape how = {s->stride, s->pad};
    tensor x = rig_random(r, -1, 1, DIMS(s->n, s->h, s->w, s->in));
    tensor w = rig_random(r, -1, 1, DIMS(s->out, s->in, s->kh, s->kw)), y[2];
    for (int i = 0; i < 2; i++) {
        y[i] = rig_blank(r, DIMS(s->n, out_size(s->h, 3, s), out_size(s->w, 3, s), s->out));
        cpu_of(r->dev)->conv = i ? CPU_CONV_DIRECT : CPU_CONV_AUTO;
        EXPECT_OK(PRIM(r, conv2d, &x, &w, how, &y[i]));
    }
    EXPECT(memcmp(y[0].data, y[1].data, tensor_bytes(&y[0])) == 0);
    cpu_of(r->dev)->conv = CPU_CONV_AUTO;
}

static void check_rgb(struct rig *r)
{
    for (size_t i = 0; i < sizeof rgb_shapes / sizeof *rgb_shapes; i++) {
        check_affine_shape(r, &rgb_shapes[i], 0.2);
        if (r->dev->on_host) check_rgb_bits(r, &rgb_shapes[i]);
    }
}
TEST(conv2d_of_a_first_layer_has_the_bits_of_the_products) { rig_each(check_rgb); }

/* More pictures than are taken at a time. */
static void check_chunks(struct rig *r) { check_shape(r, &(struct shape){20, 40, 40, 1, 65, 3, 3, 2, 1}); }
TEST(conv2d_weight_gradients_join_many_chunks_of_pictures) { rig_each(check_chunks); }

/* Few channels, in bands of rows, and more bands than pieces. */
static const struct shape thin_shapes[] = {{2, 70, 9, 3, 64, 3, 3, 1, 1},  {1, 67, 12, 2, 32, 5, 5, 2, 2},
                                           {3, 33, 5, 7, 32, 3, 3, 3, 0},  {2, 40, 3, 3, 32, 1, 1, 1, 0},
                                           {300, 3, 2, 1, 32, 3, 3, 1, 1}, {0, 5, 5, 3, 32, 3, 3, 1, 1}};

static void check_thin(struct rig *r)
{
    for (size_t i = 0; i < sizeof thin_shapes / sizeof *thin_shapes; i++) check_shape(r, &thin_shapes[i]);
}
TEST(conv2d_of_few_channels_and_its_derivatives) { rig_each(check_thin); }

static void check_by_hand(struct rig *r)
{
    tensor x = rig_given(r, NUMBERS(1, 2, 3, 4), DIMS(1, 2, 2, 1)),
           w = rig_given(r, NUMBERS(0, 0, 0, 0, 1, 10, 0, 100, 1000), DIMS(1, 1, 3, 3));
    tensor y = rig_blank(r, DIMS(1, 2, 2, 1));
    EXPECT_OK(PRIM(r, conv2d, &x, &w, ((struct conv_shape){1, 1}), &y)); /* not flipped */
    EXPECT_TENSOR(r, y, NUMBERS(4321, 402, 43, 4), 0);
}
TEST(conv2d_by_hand) { rig_each(check_by_hand); }
