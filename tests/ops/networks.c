/* networks.c - the ops of networks on numbers worked out by hand, and what dropout promises. */
#include "tests/ops/world.h"
#include "tests/test.h"

VALUE_TEST(conv2d_sums_over_the_window)
{
    var *x = world_leaf(w, DIMS(1, 1, 3, 2), NUMBERS(1, 2, 3, 4, 5, 6));
    var *k = world_leaf(w, DIMS(1, 2, 1, 2), NUMBERS(1, 10, 100, 1000)); /* channel 0: 1, 10; channel 1: 100, 1000 */
    var *y = op_conv2d(w->t, x, k, 1, 0);
    REQUIRE(y);
    EXPECT_DIMS(y->value, 1, 1, 2, 1);
    EXPECT_NUMBERS(w, y->value, 4231, 6453);
    EXPECT_OK(world_back(w, y, NUMBERS(1, 2)));
    EXPECT_NUMBERS(w, x->grad, 1, 100, 12, 1200, 20, 2000);
    EXPECT_NUMBERS(w, k->grad, 7, 13, 10, 16);
}

VALUE_TEST(depthwise_gives_each_channel_its_own_filter)
{
    var *x = world_leaf(w, DIMS(1, 1, 3, 2), NUMBERS(1, 2, 3, 4, 5, 6));
    var *k = world_leaf(w, DIMS(2, 1, 1, 2), NUMBERS(1, 10, 100, 1000));
    var *y = op_depthwise(w->t, x, k, &(struct depthwise_shape){2, 0, 0, 0, 1}); /* one column of zeros at the right */
    REQUIRE(y);
    EXPECT_DIMS(y->value, 1, 1, 2, 2);
    EXPECT_NUMBERS(w, y->value, 31, 4200, 5, 600);
    EXPECT_OK(world_back(w, y, NUMBERS(1, 2, 3, 4)));
    EXPECT_NUMBERS(w, x->grad, 1, 200, 10, 2000, 3, 400);
    EXPECT_NUMBERS(w, k->grad, 16, 3, 28, 8);
}

VALUE_TEST(clip_is_flat_at_and_beyond_its_bounds)
{
    var *x = world_leaf(w, DIMS(5), NUMBERS(-2, 0, 3, 6, 7));
    var *y = op_clip(w->t, x, 0, 6);
    REQUIRE(y);
    EXPECT_NUMBERS(w, y->value, 0, 0, 3, 6, 6);
    EXPECT_OK(world_back(w, y, NUMBERS(1, 2, 4, 8, 16)));
    EXPECT_NUMBERS(w, x->grad, 0, 0, 4, 0, 0);
}

VALUE_TEST(max_pool_looks_through_overlapping_windows_and_never_at_the_border)
{
    var *x = world_leaf(w, DIMS(1, 3, 4, 1), NUMBERS(-5, -4, -9, -9, -5, -2, -2, -7, -9, -9, -3, -1));
    var *y = op_max_pool(w->t, x, &(struct pool_shape){3, 2, 1}); /* windows from -1 and 1 on */
    REQUIRE(y);
    EXPECT_DIMS(y->value, 1, 2, 2, 1);
    EXPECT_NUMBERS(w, y->value, -2, -2, -2, -1);
    EXPECT_OK(world_back(w, y, NUMBERS(1, 2, 4, 8)));
    EXPECT_NUMBERS(w, x->grad, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 8);
}

VALUE_TEST(pad_puts_zeros_around_every_map)
{
    var *x = world_leaf(w, DIMS(2, 1, 2), NUMBERS(1, 2, 3, 4));
    var *y = op_pad(w->t, x, &(struct pad){1, 0, 0, 1});
    REQUIRE(y);
    EXPECT_DIMS(y->value, 2, 2, 3);
    EXPECT_NUMBERS(w, y->value, 0, 0, 0, 1, 2, 0, 0, 0, 0, 3, 4, 0);
    EXPECT_OK(world_back(w, y, NUMBERS(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)));
    EXPECT_NUMBERS(w, x->grad, 4, 5, 10, 11);
}

VALUE_TEST(leaky_relu_has_its_slope_at_zero)
{
    var *x = world_leaf(w, DIMS(3), NUMBERS(-2, 0, 3));
    var *y = op_leaky_relu(w->t, x, 0.25);
    REQUIRE(y);
    EXPECT_NUMBERS(w, y->value, -0.5, 0, 3);
    EXPECT_OK(world_back(w, y, NUMBERS(1, 2, 4)));
    EXPECT_NUMBERS(w, x->grad, 0.25, 0.5, 4);
}

VALUE_TEST(max_pool2_gives_ties_to_the_first)
{
    var *x = world_leaf(w, DIMS(1, 3, 4, 1), NUMBERS(1, 5, 2, 2, 5, 0, 2, 1, 9, 9, 9, 9));
    var *y = op_max_pool2(w->t, x);
    REQUIRE(y);
    EXPECT_DIMS(y->value, 1, 1, 2, 1);
    EXPECT_NUMBERS(w, y->value, 5, 2);
    EXPECT_OK(world_back(w, y, NUMBERS(3, 4)));
    EXPECT_NUMBERS(w, x->grad, 0, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}

static struct param given(struct world *w, size_t n, const double *x)
{
    var *v = world_constant(w, 1, &n, x);
    return (struct param){.name = "given", .value = v->value};
}

VALUE_TEST(batch_norm_learns_the_running_statistics_unbiased)
{
    var *x = world_leaf(w, DIMS(2, 1), NUMBERS(1, 5)); /* mean 3, variance 4, unbiased 8 */
    struct param gain = given(w, 1, NUMBERS(10)), bias = given(w, 1, NUMBERS(1));
    struct param mean = given(w, 1, NUMBERS(1)), variance = given(w, 1, NUMBERS(2));
    const struct batch_norm bn = {&gain, &bias, &mean, &variance, 0.5, 0};
    var *running = op_batch_norm(w->t, x, &bn, false);
    var *batch = op_batch_norm(w->t, x, &bn, true);
    REQUIRE(running && batch);
    EXPECT_NUMBERS(w, running->value, 1, 1 + 40 / sqrt(2));
    EXPECT_NUMBERS(w, batch->value, -9, 11);
    EXPECT_NUMBERS(w, mean.value, 2);
    EXPECT_NUMBERS(w, variance.value, 5);
    EXPECT_OK(world_back(w, running, NUMBERS(1, 3))); /* by what it was normalised with, not by what came later */
    EXPECT_NUMBERS(w, x->grad, 10 / sqrt(2), 30 / sqrt(2));
}

VALUE_TEST(dropout_keeps_the_mean_and_repeats_by_counter)
{
    enum { N = 10000 };
    static double ones[N], y[N], again[N];
    for (int i = 0; i < N; i++) ones[i] = 1;
    struct random r = {1, 2, 0}, same = r;
    var *x = world_constant(w, DIMS(N), ones);
    var *a = op_dropout(w->t, x, 0.25, &r), *b = op_dropout(w->t, x, 0.25, &same);
    REQUIRE(a && b && world_read(w, &a->value, y) && world_read(w, &b->value, again));
    EXPECT(!memcmp(y, again, sizeof y));
    EXPECT(r.index > 0);
    double sum = 0;
    for (int i = 0; i < N; i++) {
        EXPECT(y[i] == 0 || fabs(y[i] - 4.0 / 3) < 1e-6);
        sum += y[i];
    }
    EXPECT_NEAR(sum / N, 1, 0.03); /* five deviations */
}

VALUE_TEST(drop_block_erases_squares_and_scales_the_rest)
{
    const unsigned char seeds[4] = {0, 1, 0, 0};
    var *x = world_leaf(w, DIMS(1, 3, 3, 1), NUMBERS(1, 2, 3, 4, 5, 6, 7, 8, 9));
    var *y = op_drop_block_at(w->t, x, seeds, 2);
    REQUIRE(y);
    EXPECT_NUMBERS(w, y->value, 1.8, 0, 0, 7.2, 0, 0, 12.6, 14.4, 16.2);
    EXPECT_OK(world_back(w, y, NUMBERS(1, 1, 1, 1, 1, 1, 1, 1, 1)));
    EXPECT_NUMBERS(w, x->grad, 1.8, 0, 0, 1.8, 0, 0, 1.8, 1.8, 1.8);
    var *none = op_drop_block(w->t, x, 1, 2, &(struct random){1, 1, 0}); /* everything erased is 0, not NaN */
    REQUIRE(none);
    EXPECT_NUMBERS(w, none->value, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}
