/* onednn.c - our convolutions against oneDNN's, an implementation that shares nothing with ours. */
#include "tests/cpu/prims_rig.h"
#ifdef CENTRA_HAVE_ONEDNN
#include "cpu/onednn.h"
#include <math.h>

/* Those of the networks, small, and odd ones: n, h, w, in, out, k, stride, pad. */
static const size_t shapes[][8] = {{2, 21, 21, 3, 64, 3, 1, 1},   {2, 21, 21, 64, 64, 3, 1, 1},
                                   {1, 10, 10, 160, 64, 3, 1, 1}, {2, 10, 10, 64, 160, 1, 1, 0},
                                   {1, 9, 11, 17, 19, 3, 2, 1},   {1, 5, 5, 40, 24, 5, 1, 2}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Both ways from the same numbers: nearly equal beside the largest number. */
static void expect_agreement(struct rig *r, const char *what, const tensor *ours, const tensor *theirs)
{
    const double *a = rig_numbers(r, ours), *b = rig_numbers(r, theirs);
    double most = 0, apart = 0;
    for (size_t i = 0; i < tensor_count(ours); i++) {
        most = fmax(most, fabs(b[i]));
        apart = fmax(apart, fabs(a[i] - b[i]));
    }
    if (!(apart <= 2e-5 * most))
        test_failed(__FILE__, __LINE__, "%s: ours and oneDNN's are %g apart, the largest is %g", what, apart, most);
}

static void check_shape(struct rig *r, struct device *other, const size_t *s)
{
    const struct conv_shape how = {s[6], s[7]};
    const size_t oh = (s[1] + 2 * s[7] - s[5]) / s[6] + 1, ow = (s[2] + 2 * s[7] - s[5]) / s[6] + 1;
    const tensor x = rig_random(r, -1, 1, DIMS(s[0], s[1], s[2], s[3])),
                 w = rig_random(r, -1, 1, DIMS(s[4], s[3], s[5], s[5]));
    const tensor dy = rig_random(r, -1, 1, DIMS(s[0], oh, ow, s[4]));
    tensor y[2], dx[2], dw[2];
    for (int i = 0; i < 2; i++) {
        struct device *d = i ? other : r->dev;
        const struct prims *p = &d->prim[DT_F32];
        y[i] = rig_blank(r, DIMS(s[0], oh, ow, s[4]));
        dx[i] = rig_blank(r, DIMS(s[0], s[1], s[2], s[3]));
        dw[i] = rig_blank(r, DIMS(s[4], s[3], s[5], s[5]));
        EXPECT_OK(p->fill(d, 0.5, &dx[i])); /* derivatives add to what is there */
        EXPECT_OK(p->fill(d, -0.5, &dw[i]));
        EXPECT_OK(p->conv2d(d, &x, &w, how, &y[i]));
        EXPECT_OK(p->conv2d_grad_x(d, &w, NULL, &dy, how, true, &dx[i]));
        EXPECT_OK(p->conv2d_grad_w(d, &x, &dy, how, &dw[i]));
    }
    expect_agreement(r, "the convolution", &y[0], &y[1]);
    expect_agreement(r, "the derivative of the map", &dx[0], &dx[1]);
    expect_agreement(r, "the derivative of the weights", &dw[0], &dw[1]);
}

static void check(struct rig *r)
{
    struct device other;
    if (r->type != DT_F32) return;
    other = *r->dev;
    onednn_take_over(&other);
    for (size_t i = 0; i < SHAPES; i++) check_shape(r, &other, shapes[i]);
}

TEST(convolutions_agree_with_onednn)
{
    if (test_is_for_cpu()) return;
    rig_each(check);
}
#else
TEST(convolutions_agree_with_onednn) { test_skip("oneDNN (libdnnl-dev) was not found when this was built"); }
#endif
