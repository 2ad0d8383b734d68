/* prims_bottleneck.c - a block of MobileNetV2 in one against the same layer by layer, over odd shapes: so many rows that they come
 * in several bands and pieces, strides and borders of every kind, few and many pictures. */
#include "tests/cpu/prims_rig.h"

struct shape {
    size_t n, h, w, in, hidden, out; /* hidden 0: the map is not widened */
    struct depthwise_shape s;
    bool residual;
};

static const struct shape shapes[] = {
    {1, 9, 14, 3, 18, 5, {1, 1, 1, 1, 1}, false},    {2, 16, 15, 8, 48, 8, {1, 1, 1, 1, 1}, true},
    {1, 31, 30, 16, 96, 24, {2, 0, 0, 1, 1}, false}, {5, 14, 14, 16, 33, 16, {1, 1, 1, 1, 1}, true},
    {1, 60, 40, 24, 144, 24, {1, 1, 1, 1, 1}, true}, {4, 17, 29, 7, 40, 9, {2, 1, 1, 1, 1}, false},
    {2, 21, 16, 12, 0, 6, {1, 1, 1, 1, 1}, false},   {1, 33, 50, 20, 0, 20, {1, 1, 1, 1, 1}, true},
    {0, 14, 14, 4, 8, 4, {1, 1, 1, 1, 1}, true},     {1, 1, 20, 4, 8, 4, {1, 1, 1, 1, 1}, true},
    {6, 15, 15, 8, 16, 8, {3, 2, 0, 1, 2}, false},   {5, 7, 7, 16, 96, 16, {1, 1, 1, 1, 1}, true},
    {4, 13, 7, 9, 40, 24, {2, 0, 0, 1, 1}, false},   {2, 90, 3, 5, 300, 7, {1, 2, 2, 0, 1}, false},
    {7, 2, 7, 4, 8, 4, {1, 2, 1, 2, 1}, false},
};

struct folded {
    tensor w, scale, shift;
};

static struct folded layer(struct rig *r, size_t out, size_t in, size_t side)
{
    const double reach = 1 / sqrt((double)(in * side * side));
    return (struct folded){rig_random(r, -reach, reach, DIMS(out, in, side, side)), rig_random(r, -2, 2, DIMS(out)),
                           rig_random(r, -1, 1, DIMS(out))};
}

static struct bottleneck_part part(const struct folded *f)
{
    return (struct bottleneck_part){&f->w, NULL, &f->scale, &f->shift};
}

/* Without the block's primitive. */
static double *by_layers(struct rig *r, const struct shape *s, const struct bottleneck_args *a, const tensor *like)
{
    const size_t hidden = s->hidden ? s->hidden : s->in;
    tensor wide = rig_blank(r, DIMS(s->n, s->h, s->w, hidden)), y = rig_blank(r, 4, like->dim);
    tensor inner = rig_blank(r, DIMS(s->n, like->dim[1], like->dim[2], hidden));
    if (s->hidden) {
        const struct conv_affine_args first = {.x = a->x,
                                               .w = a->expand.w,
                                               .shape = {1, 0},
                                               .scale = a->expand.scale,
                                               .shift = a->expand.shift,
                                               .ceiling = a->ceiling};
        EXPECT_OK(PRIM(r, conv2d_affine, &first, &wide));
    }
    const struct depthwise_args middle = {.x = s->hidden ? &wide : a->x,
                                          .w = a->depthwise.w,
                                          .shape = a->shape,
                                          .scale = a->depthwise.scale,
                                          .shift = a->depthwise.shift,
                                          .ceiling = a->ceiling};
    EXPECT_OK(PRIM(r, depthwise, &middle, &inner));
    const struct conv_affine_args last = {.x = &inner,
                                          .w = a->project.w,
                                          .shape = {1, 0},
                                          .scale = a->project.scale,
                                          .shift = a->project.shift,
                                          .slope = 1};
    EXPECT_OK(PRIM(r, conv2d_affine, &last, &y));
    if (s->residual) EXPECT_OK(PRIM(r, axpy, 1, a->x, &y));
    return rig_numbers(r, &y);
}

static void check_shape(struct rig *r, const struct shape *s)
{
    const size_t hidden = s->hidden ? s->hidden : s->in;
    const size_t oh = (s->h + s->s.top + s->s.bottom - 3) / s->s.stride + 1;
    const size_t ow = (s->w + s->s.left + s->s.right - 3) / s->s.stride + 1;
    tensor x = rig_random(r, -1, 1, DIMS(s->n, s->h, s->w, s->in)), y = rig_blank(r, DIMS(s->n, oh, ow, s->out));
    const struct folded first = layer(r, hidden, s->in, 1), middle = layer(r, hidden, 1, 3),
                        last = layer(r, s->out, hidden, 1);
    struct bottleneck_args a = {.x = &x, .shape = s->s, .ceiling = 0.75, .residual = s->residual};
    if (s->hidden) a.expand = part(&first);
    a.depthwise = part(&middle);
    a.project = part(&last);
    const double *want = by_layers(r, s, &a, &y);
    EXPECT_OK(PRIM(r, bottleneck, &a, &y));
    EXPECT_TENSOR(r, y, want, 64);
}

static void check_bottleneck(struct rig *r)
{
    if (!r->dev->prim[r->type].bottleneck) {
        test_skip("the device under test makes such blocks layer by layer");
        return;
    }
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) check_shape(r, &shapes[i]);
}
TEST(bottleneck_in_one_is_the_same_layer_by_layer) { rig_each(check_bottleneck); }

/* conv2d_affine with a ceiling, by products, by Winograd's method and by a first layer's kernel. */
static void check_ceiling(struct rig *r)
{
    static const size_t cases[][4] = {{1, 1, 0, 9}, {3, 2, 1, 5}, {3, 1, 1, 3}, {3, 1, 1, 20}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t k = cases[i][0], in = cases[i][3], side = (12 + 2 * cases[i][2] - k) / cases[i][1] + 1;
        tensor x = rig_random(r, -1, 1, DIMS(2, 12, 12, in)), w = rig_random(r, -0.3, 0.3, DIMS(17, in, k, k));
        tensor scale = rig_random(r, -1, 1, DIMS(17)), shift = rig_random(r, -1, 1, DIMS(17));
        tensor y = rig_blank(r, DIMS(2, side, side, 17)), cut = rig_blank(r, DIMS(2, side, side, 17));
        struct conv_affine_args a = {
            .x = &x, .w = &w, .shape = {cases[i][1], cases[i][2]}, .scale = &scale, .shift = &shift};
        EXPECT_OK(PRIM(r, conv2d_affine, &a, &y));
        double *want = rig_numbers(r, &y);
        for (size_t j = 0; j < tensor_count(&y); j++) want[j] = fmin(want[j], 0.25);
        a.ceiling = 0.25;
        EXPECT_OK(PRIM(r, conv2d_affine, &a, &cut));
        EXPECT_TENSOR(r, cut, want, 0);
    }
}
TEST(conv2d_affine_is_cut_at_its_ceiling_whatever_way_it_takes) { rig_each(check_ceiling); }
