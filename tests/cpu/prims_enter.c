/* prims_enter.c - a first layer straight from pictures: the same bits as the convolution of those pictures framed and turned to
 * channels-last before, whatever way it takes. */
#include "tests/cpu/prims_rig.h"

struct layer {
    size_t n, in, h, w, out, k, stride, top, left, bottom, right;
};

/* By products, by the kernel for three colours, by Winograd's method; borders on no side, on some, wider than the filter. */
static const struct layer layers[] = {
    {2, 3, 20, 33, 18, 3, 2, 1, 1, 1, 1},  {1, 3, 21, 16, 32, 3, 2, 0, 0, 1, 1}, {2, 3, 12, 13, 20, 3, 1, 1, 1, 1, 1},
    {1, 3, 30, 31, 9, 7, 2, 3, 3, 3, 3},   {2, 8, 12, 14, 16, 3, 1, 1, 1, 1, 1}, {1, 1, 9, 8, 5, 3, 1, 2, 0, 1, 3},
    {3, 5, 7, 6, 4, 1, 1, 0, 0, 0, 0},     {0, 3, 8, 8, 4, 3, 2, 1, 1, 1, 1},    {1, 3, 3, 2, 4, 5, 1, 4, 5, 6, 7},
    {1, 16, 32, 24, 24, 3, 1, 0, 2, 1, 0},
};

/* Pictures [n, c, h, w] as maps [n, top + h + bottom, left + w + right, c], number by number. */
static tensor framed(struct rig *r, const struct layer *l, const tensor *pictures)
{
    const size_t high = l->top + l->h + l->bottom, wide = l->left + l->w + l->right;
    const double *x = rig_numbers(r, pictures);
    double *y = rig_zeros(r, l->n * high * wide * l->in + 1);
    for (size_t i = 0; i < l->n * l->in * l->h * l->w; i++) {
        const size_t column = i % l->w, row = i / l->w % l->h, c = i / l->w / l->h % l->in, n = i / l->w / l->h / l->in;
        y[((n * high + l->top + row) * wide + l->left + column) * l->in + c] = x[i];
    }
    return rig_given(r, y, DIMS(l->n, high, wide, l->in));
}

static void check_form(struct rig *r, const struct layer *l, const struct conv_affine_args *form,
                       const tensor *pictures, const tensor *maps)
{
    const size_t unit = form->pool ? 2 : 1, oh = ((maps->dim[1] - l->k) / l->stride + 1) / unit,
                 ow = ((maps->dim[2] - l->k) / l->stride + 1) / unit;
    tensor want = rig_blank(r, DIMS(l->n, oh, ow, l->out)), y = rig_blank(r, DIMS(l->n, oh, ow, l->out));
    struct conv_affine_args plain = *form;
    plain.x = maps;
    EXPECT_OK(PRIM(r, conv2d_affine, &plain, &want));
    const struct conv_enter_args enter = {*form, l->top, l->left, l->bottom, l->right};
    EXPECT(enter.conv.x == pictures);
    EXPECT_OK(PRIM(r, conv2d_enter, &enter, &y));
    EXPECT_TENSOR(r, y, rig_numbers(r, &want), 0);
}

static void check_layer(struct rig *r, const struct layer *l)
{
    struct conv_ready ready = {0};
    const struct conv_shape shape = {l->stride, 0};
    const tensor pictures = rig_random(r, -1, 1, DIMS(l->n, l->in, l->h, l->w)), maps = framed(r, l, &pictures);
    const tensor w = rig_random(r, -1, 1, DIMS(l->out, l->in, l->k, l->k));
    const tensor scale = rig_random(r, -1, 1, DIMS(l->out)), shift = rig_random(r, -1, 1, DIMS(l->out));
    EXPECT_OK(PRIM(r, conv2d_prepare, &maps, &w, shape, &ready));
    for (int i = 0; i < 6; i++) { /* cut at a ceiling, leaky and pooled, bare; each with and without the form */
        const struct conv_affine_args form = {.x = &pictures,
                                              .w = &w,
                                              .ready = i % 2 && ready.memory ? &ready : NULL,
                                              .shape = shape,
                                              .scale = i < 4 ? &scale : NULL,
                                              .shift = i < 4 ? &shift : NULL,
                                              .slope = i < 2   ? 0
                                                       : i < 4 ? 0.2
                                                               : 1,
                                              .ceiling = i < 2 ? 0.75 : 0,
                                              .pool = i / 2 == 1 && l->h > 3};
        check_form(r, l, &form, &pictures, &maps);
    }
    if (ready.memory) r->dev->release(r->dev, ready.memory);
}

static void check(struct rig *r)
{
    if (!r->dev->prim[r->type].conv2d_enter) {
        test_skip("the device under test does not read pictures as they come");
        return;
    }
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) check_layer(r, &layers[i]);
}
TEST(conv2d_enter_has_the_bits_of_framed_and_turned_pictures) { rig_each(check); }
