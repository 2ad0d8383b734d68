/* featurewise.c - the feature-wise transformation: off it is nothing, on it moves channels as wholes, and it has a gradient. */
#include "nets/featurewise.h"
#include "tests/nets/rig.h"
#include "tests/test.h"
#include <stdlib.h>

enum { N = 2, SIDE = 4, C = 3, COUNT = N * SIDE * SIDE * C, POOLED = COUNT / 4 };

struct block {
    struct world w;
    struct params *p;
    double x[COUNT], residual[COUNT];
};

static bool block_open(struct block *b)
{
    struct random r = test_random();
    if (!world_open(&b->w, 1, DT_F64, TAPE_TRAINING)) return false;
    b->p = params_new(b->w.dev);
    struct layer_list l = {b->p, DT_F64, &r};
    for (size_t i = 0; i < COUNT; i++) {
        b->x[i] = random_normal(&r);
        b->residual[i] = random_normal(&r);
    }
    return b->p && layer_norm_params(&l, "a", C) == OK && layer_norm_params(&l, "b", C) == OK;
}

static void block_close(struct block *b)
{
    params_free(b->p);
    world_close(&b->w);
}

static const struct layer_after plain = {.momentum = 0.1, .slope = 1},
                                usual = {.momentum = 0.1, .slope = 0.1, .pool = true};

/* The block's end with random stream `stream`; gives how many numbers it has. *x is the leaf. */
static size_t run(struct block *b, const struct featurewise *f, enum net_mode mode, uint64_t stream,
                  const struct layer_after *after, double *out, var **x, var **y)
{
    struct net_pass pass = {.mode = mode, .random = {.seed = 1, .stream = stream}};
    const struct layer_pass l = {b->w.t, b->p, &pass};
    tape_reset(b->w.t, TAPE_TRAINING);
    *x = world_leaf(&b->w, DIMS(N, SIDE, SIDE, C), b->x);
    var *residual = world_constant(&b->w, DIMS(N, SIDE, SIDE, C), b->residual);
    *y = featurewise_norm_both(&l, f, "a", *x, "b", residual, after);
    EXPECT_OK(tape_status(b->w.t));
    return *y && world_read(&b->w, &(*y)->value, out) ? tensor_count(&(*y)->value) : 0;
}

TEST(feature_wise_transformation_is_off_outside_training)
{
    struct block b;
    double on[COUNT], off[COUNT], other[COUNT];
    const struct featurewise ft = {true, 0.3, 0.5}, none = {false, 0.3, 0.5};
    var *x, *y;
    REQUIRE(block_open(&b));
    EXPECT_INT(run(&b, &ft, NET_EVAL, 1, &usual, on, &x, &y), POOLED);
    EXPECT_INT(run(&b, &none, NET_EVAL, 1, &usual, off, &x, &y), POOLED);
    EXPECT(!memcmp(on, off, POOLED * sizeof *on));
    EXPECT_INT(run(&b, &none, NET_TRAIN, 1, &usual, off, &x, &y), POOLED);
    EXPECT_INT(run(&b, &ft, NET_TRAIN, 1, &usual, on, &x, &y), POOLED);
    EXPECT(memcmp(on, off, POOLED * sizeof *on));
    EXPECT_INT(run(&b, &ft, NET_TRAIN, 1, &usual, other, &x, &y), POOLED);
    EXPECT(!memcmp(on, other, POOLED * sizeof *on)); /* a function of the stream */
    EXPECT_INT(run(&b, &ft, NET_TRAIN, 2, &usual, other, &x, &y), POOLED);
    EXPECT(memcmp(on, other, POOLED * sizeof *on));
    block_close(&b);
}

/* With the residual held at zero, every number of a channel is moved by one gain and one shift, in all pictures. Over many
 * draws the gains have mean 1 and spread 0.3, the two shifts together spread 0.5 sqrt(2). */
TEST(feature_wise_transformation_moves_channels_as_wholes)
{
    enum { DRAWS = 400 };
    struct block b;
    double before[COUNT], after[COUNT], gain[2] = {0}, shift[2] = {0};
    const struct featurewise ft = {true, 0.3, 0.5}, none = {0};
    var *x, *y;
    REQUIRE(block_open(&b));
    memset(b.residual, 0, sizeof b.residual);
    run(&b, &none, NET_TRAIN, 0, &plain, before, &x, &y);
    for (uint64_t d = 0; d < DRAWS; d++) {
        REQUIRE(run(&b, &ft, NET_TRAIN, d, &plain, after, &x, &y) == COUNT);
        for (size_t c = 0; c < C; c++) {
            const double g = (after[C + c] - after[c]) / (before[C + c] - before[c]), s = after[c] - g * before[c];
            for (size_t i = c; i < COUNT; i += C) EXPECT_NEAR(after[i], g * before[i] + s, 1e-9);
            gain[0] += g / (DRAWS * C);
            gain[1] += (g - 1) * (g - 1) / (DRAWS * C);
            shift[0] += s / (DRAWS * C);
            shift[1] += s * s / (DRAWS * C);
        }
    }
    EXPECT_NEAR(gain[0], 1, 0.03);
    EXPECT_NEAR(sqrt(gain[1]), 0.3, 0.03);
    EXPECT_NEAR(shift[0], 0, 0.08);
    EXPECT_NEAR(sqrt(shift[1]), 0.5 * sqrt(2), 0.07);
    block_close(&b);
}

TEST(feature_wise_transformation_has_the_gradient_that_differences_show)
{
    struct block b;
    struct random r = test_random();
    const struct featurewise ft = {true, 0.3, 0.5};
    double out[COUNT], weights[COUNT], grad[COUNT], start[COUNT], direction[COUNT], slope = 0, ends[2] = {0};
    var *x, *y;
    REQUIRE(block_open(&b));
    for (size_t i = 0; i < COUNT; i++) {
        weights[i] = random_normal(&r);
        direction[i] = random_normal(&r);
    }
    REQUIRE(run(&b, &ft, NET_TRAIN, 7, &usual, out, &x, &y) == POOLED);
    EXPECT_OK(world_back(&b.w, y, weights));
    REQUIRE(world_read(&b.w, &x->grad, grad));
    for (size_t i = 0; i < COUNT; i++) slope += grad[i] * direction[i];
    memcpy(start, b.x, sizeof start);
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < COUNT; i++) b.x[i] = start[i] + (k ? 1e-6 : -1e-6) * direction[i];
        run(&b, &ft, NET_TRAIN, 7, &usual, out, &x, &y);
        for (size_t i = 0; i < POOLED; i++) ends[k] += weights[i] * out[i];
    }
    EXPECT_NEAR(slope, (ends[1] - ends[0]) / 2e-6, 1e-6 * (1 + fabs(slope)));
    block_close(&b);
}

TEST(resnet12_takes_the_feature_wise_transformation_in_training)
{
    static double seen[4][64];
    struct net_rig r;
    REQUIRE(net_rig_open(&r, NULL, 2, DT_F32, "resnet12"));
    EXPECT_OK(option_set(r.net->options, "net.", "widths", "2,2,4,4", r.settings.bytes));
    params_free(r.p);
    r.p = params_new(r.w.dev);
    struct random start = {.seed = 2};
    REQUIRE(r.p && r.net->params(&r.settings, DT_F32, &start, r.p) == OK);
    double *pixels = calloc((size_t)2 * 3 * 32 * 32, sizeof *pixels);
    REQUIRE(pixels);
    for (size_t i = 0; i < (size_t)2 * 3 * 32 * 32; i++) pixels[i] = random_normal(&start);
    for (int k = 0; k < 4; k++) { /* off and on, in training and in evaluation */
        struct net_pass pass = {.mode = k < 2 ? NET_TRAIN : NET_EVAL, .random = {.seed = 3}};
        EXPECT_OK(option_set(r.net->options, "net.", "ft", k % 2 ? "1" : "0", r.settings.bytes));
        tape_reset(r.w.t, TAPE_TRAINING);
        var *x = world_constant(&r.w, DIMS(2, 3, 32, 32), pixels);
        const var *y = r.net->forward(r.w.t, &r.settings, r.p, &pass, x);
        EXPECT_OK(tape_status(r.w.t));
        REQUIRE(y && tensor_count(&y->value) <= 64 && world_read(&r.w, &y->value, seen[k]));
    }
    EXPECT(memcmp(seen[0], seen[1], sizeof seen[0]));
    EXPECT(!memcmp(seen[2], seen[3], sizeof seen[2]));
    free(pixels);
    net_rig_close(&r);
}
