/* prims_conv_ready.c - weights in the device's own form: the same bits as without, whatever maps they then meet. */
#include "tests/cpu/prims_rig.h"

struct layer {
    size_t side, in, out, k, stride, pad;
};

/* A first layer; maps that go by Winograd's method, and such that do not; 1x1; a stride. */
static const struct layer layers[] = {{12, 3, 20, 3, 1, 1}, {12, 20, 33, 3, 1, 1}, {5, 16, 16, 3, 1, 1},
                                      {9, 24, 40, 1, 1, 0}, {9, 17, 18, 3, 2, 1},  {6, 300, 70, 3, 1, 1},
                                      {13, 5, 7, 5, 1, 2}};
enum { LAYERS = sizeof layers / sizeof *layers };

/* conv2d_affine of maps of this side with the form, without it, and by conv2d: scale NULL. */
static void check_side(struct rig *r, const struct layer *l, size_t side, const tensor *w,
                       const struct conv_ready *ready)
{
    const size_t to = (side + 2 * l->pad - l->k) / l->stride + 1;
    const tensor x = rig_random(r, -1, 1, DIMS(2, side, side, l->in)), scale = rig_random(r, -1, 1, DIMS(l->out));
    struct conv_affine_args a = {.x = &x, .w = w, .shape = {l->stride, l->pad}, .slope = 0.2};
    for (int form = 0; form < 3; form++) { /* bare, scaled, pooled */
        const size_t high = form == 2 ? to / 2 : to;
        tensor with = rig_blank(r, DIMS(2, high, high, l->out)), without = rig_blank(r, DIMS(2, high, high, l->out));
        a.scale = a.shift = form ? &scale : NULL;
        a.pool = form == 2;
        a.ready = NULL;
        EXPECT_OK(form ? PRIM(r, conv2d_affine, &a, &without) : PRIM(r, conv2d, &x, w, a.shape, &without));
        a.ready = ready;
        EXPECT_OK(PRIM(r, conv2d_affine, &a, &with));
        EXPECT_TENSOR(r, with, rig_numbers(r, &without), 0);
    }
}

static void check_layer(struct rig *r, const struct layer *l)
{
    struct conv_ready ready = {0};
    tensor w = rig_random(r, -1, 1, DIMS(l->out, l->in, l->k, l->k));
    const tensor x = rig_blank(r, DIMS(1, l->side, l->side, l->in));
    EXPECT_OK(PRIM(r, conv2d_prepare, &x, &w, ((struct conv_shape){l->stride, l->pad}), &ready));
    EXPECT(ready.made);
    check_side(r, l, l->side, &w, &ready);
    check_side(r, l, 4, &w, &ready); /* for such maps it was not made */
    check_side(r, l, 16, &w, &ready);
    if (ready.memory) r->dev->release(r->dev, ready.memory);
}

static void check(struct rig *r)
{
    for (size_t i = 0; i < LAYERS; i++) check_layer(r, &layers[i]);
}
TEST(conv2d_of_prepared_weights_has_the_same_bits) { rig_each(check); }

/* Without this, the test above could pass with forms that nobody reads. */
static void check_read(struct rig *r)
{
    const struct layer *l = &layers[1];
    struct conv_ready ready = {0};
    tensor w = rig_random(r, -1, 1, DIMS(l->out, l->in, 3, 3)), zero = rig_filled(r, 0, DIMS(l->out, l->in, 3, 3));
    const tensor x = rig_random(r, -1, 1, DIMS(1, 12, 12, l->in));
    tensor want = rig_blank(r, DIMS(1, 12, 12, l->out)), y = rig_blank(r, DIMS(1, 12, 12, l->out));
    const struct conv_affine_args a = {.x = &x, .w = &zero, .ready = &ready, .shape = {1, 1}};
    EXPECT_OK(PRIM(r, conv2d_prepare, &x, &w, a.shape, &ready));
    EXPECT_OK(PRIM(r, conv2d, &x, &w, a.shape, &want));
    EXPECT_OK(PRIM(r, conv2d_affine, &a, &y));
    EXPECT_TENSOR(r, y, rig_numbers(r, &want), 0);
    if (ready.memory) r->dev->release(r->dev, ready.memory);
}
TEST(conv2d_reads_prepared_weights_instead_of_the_weights)
{
    if (!test_is_for_cpu()) rig_each(check_read);
}
