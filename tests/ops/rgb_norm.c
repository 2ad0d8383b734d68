/* rgb_norm.c - a first layer in one op against the convolution and the norm that it stands for: values, gradients and running
 * statistics, and the same bits for any number of threads. */
#include "tests/device.h"
#include "tests/ops/world.h"
#include "tests/test.h"
#include <stdlib.h>

struct layer {
    size_t n, h, w, out, pad;
    double slope;
    bool still; /* pictures of one colour */
};

enum { GAIN = 1, BIAS, MEAN, VARIANCE, LEAVES }; /* behind the weights */

struct side {
    var *leaf[LEAVES], *y;
    struct param p[LEAVES];
};

static double *numbers(struct random *r, size_t n, double low, double high)
{
    double *x = malloc(n * sizeof *x);
    for (size_t i = 0; x && i < n; i++) x[i] = low + (high - low) * random_unit(r);
    return x;
}

static void add_param(struct world *w, struct side *s, int i, int rank, const size_t *dim, const double *x)
{
    static const char *const names[] = {"weight", "gain", "bias", "mean", "variance"};
    var *v = s->leaf[i] = world_leaf(w, rank, dim, x);
    s->p[i] = (struct param){.name = names[i], .value = v->value, .grad = v->grad, .trained = i <= BIAS};
    EXPECT_OK(w->dev->zero(w->dev, v->grad.data, tensor_bytes(&v->grad)));
}

static struct side side_make(struct world *w, const struct layer *l, bool fused)
{
    static const double low[] = {-1, -1, -1, -1, 0.5}, high[] = {1, 2, 1, 1, 2};
    struct random r = test_random(); /* the same for both sides */
    struct side s;
    const size_t count = l->n * l->h * l->w * 3;
    double *x = numbers(&r, count, -1, 2), *dy = numbers(&r, l->n * l->h * l->w * l->out * 4, -1, 1);
    for (size_t i = 0; l->still && i < count; i++) x[i] = 0.75;
    var *pictures = world_constant(w, DIMS(l->n, l->h, l->w, 3), x);
    for (int i = 0; i < LEAVES; i++) {
        double *value = numbers(&r, i ? l->out : 27 * l->out, low[i], high[i]);
        if (i == GAIN) value[0] = 0; /* which has a gradient all the same */
        add_param(w, &s, i, i ? 1 : 4, i ? &l->out : (size_t[]){l->out, 3, 3, 3}, value);
        free(value);
    }
    const struct batch_norm bn = {&s.p[GAIN], &s.p[BIAS], &s.p[MEAN], &s.p[VARIANCE], 0.1, 1e-5};
    const struct norm_act how = {l->slope, true, true, 0};
    var *weight = tape_param(w->t, &s.p[0]);
    s.y = fused ? op_rgb_norm(w->t, pictures, weight, &bn, l->pad, l->slope)
                : op_norm_act_pool(w->t, op_conv2d(w->t, pictures, weight, 1, l->pad), &bn, NULL, NULL, &how);
    EXPECT_OK(s.y ? world_back(w, s.y, dy) : tape_status(w->t));
    free(x);
    free(dy);
    return s;
}

/* The result, the gradients of what is trained, and the running statistics. */
static const tensor *part(const struct side *s, int i)
{
    if (i == LEAVES) return &s->y->value;
    return i <= BIAS ? &s->p[i].grad : &s->p[i].value;
}

static void expect_alike(struct world *w, const struct side *a, const struct side *b, double tolerance)
{
    for (int i = 0; i <= LEAVES; i++) {
        const size_t n = tensor_count(part(b, i));
        double *seen = malloc(2 * n * sizeof *seen), *wanted = seen + n, largest = 1;
        REQUIRE(seen && world_read(w, part(a, i), seen) && world_read(w, part(b, i), wanted));
        for (size_t k = 0; k < n; k++) largest = fmax(largest, fabs(wanted[k]));
        for (size_t k = 0; k < n; k++)
            if (!(fabs(seen[k] - wanted[k]) <= tolerance * largest)) {
                test_failed(__FILE__, __LINE__, "tensor %d, number %zu is %.17g, wanted %.17g", i, k, seen[k],
                            wanted[k]);
                break;
            }
        free(seen);
    }
}

static const struct layer layers[] = {{2, 8, 8, 16, 1, 0.2, false}, {3, 5, 7, 5, 1, 0.1, false},
                                      {1, 9, 6, 64, 0, 0.2, false}, {2, 4, 5, 33, 2, 1, false},
                                      {1, 2, 2, 1, 1, 0, false},    {5, 84, 84, 64, 1, 0.2, false}};
enum { LAYERS = sizeof layers / sizeof *layers };

static bool offered(struct world *w)
{
    if (w->dev->prim[w->type].rgb_norm_grad) return true;
    test_skip("this device has no first layer in one op");
    return false;
}

static void compare(struct world *w, const struct layer *l, double tolerance)
{
    struct world other = *w;
    tape_reset(w->t, TAPE_TRAINING);
    const struct side want = side_make(w, l, false);
    REQUIRE(tape_new(w->dev, TAPE_TRAINING, &other.t) == OK); /* a recording goes back once */
    const struct side got = side_make(&other, l, true);
    REQUIRE(want.y && got.y);
    expect_alike(&other, &got, &want, tolerance);
    tape_free(other.t);
}

VALUE_TEST(a_first_layer_in_one_op_is_its_convolution_and_its_norm)
{
    if (!offered(w)) return;
    for (size_t i = 0; i < LAYERS; i++) compare(w, &layers[i], w->type == DT_F32 ? 5e-5 : 1e-11);
}

/* Without a border nothing varies: all results are the biases. */
VALUE_TEST(a_first_layer_in_one_op_takes_pictures_of_one_colour)
{
    const struct layer flat = {2, 8, 8, 16, 0, 0.2, true};
    if (!offered(w)) return;
    const struct side s = side_make(w, &flat, true);
    double y[2 * 3 * 3 * 16], bias[16], grad[27 * 16];
    REQUIRE(s.y && world_read(w, &s.y->value, y) && world_read(w, &s.p[BIAS].value, bias));
    for (size_t i = 0; i < sizeof y / sizeof *y; i++)
        EXPECT_NEAR(y[i], bias[i % 16] > 0 ? bias[i % 16] : 0.2 * bias[i % 16], w->type == DT_F32 ? 1e-3 : 1e-9);
    REQUIRE(world_read(w, &s.p[0].grad, grad));
    for (size_t i = 0; i < sizeof grad / sizeof *grad; i++) EXPECT(isfinite(grad[i]));
}

TEST(a_first_layer_in_one_op_has_the_same_bits_for_any_number_of_threads)
{
    struct world one, many;
    if (test_is_for_cpu()) return;
    REQUIRE(world_open(&one, 1, DT_F32, TAPE_TRAINING));
    const struct side want = side_make(&one, &layers[5], true);
    for (size_t threads = 2; threads <= 8; threads += 3) {
        REQUIRE(world_open(&many, threads, DT_F32, TAPE_TRAINING));
        const struct side got = side_make(&many, &layers[5], true);
        REQUIRE(want.y && got.y);
        for (int i = 0; i <= LEAVES; i++)
            EXPECT(!memcmp(part(&want, i)->data, part(&got, i)->data, tensor_bytes(part(&want, i))));
        world_close(&many);
    }
    world_close(&one);
}

VALUE_TEST(a_first_layer_in_one_op_is_refused_in_words)
{
    const size_t three[] = {3};
    double x[2 * 4 * 4 * 3] = {0}, weights[3 * 3 * 3 * 3] = {0}, ones[3] = {1, 1, 1};
    struct side s;
    if (!offered(w)) return;
    for (int i = 1; i < LEAVES; i++) add_param(w, &s, i, 1, three, ones);
    struct batch_norm bn = {&s.p[GAIN], &s.p[BIAS], &s.p[MEAN], &s.p[VARIANCE], 0.1, 1e-5};
    var *pictures = world_constant(w, DIMS(2, 4, 4, 3), x), *wanting = world_leaf(w, DIMS(2, 4, 4, 3), x);
    var *weight = world_leaf(w, DIMS(3, 3, 3, 3), weights), *other = world_leaf(w, DIMS(2, 3, 3, 3), weights);
    EXPECT(!op_rgb_norm_offered(w->t, wanting, &weight->value) && op_rgb_norm_offered(w->t, pictures, &weight->value));
    EXPECT(!op_rgb_norm(w->t, wanting, weight, &bn, 1, 0.2));
    EXPECT_STATUS(tape_status(w->t), ST_USAGE);
    EXPECT_TEXT(error_text(), "op rgb_norm: it is for constant pictures and 3x3 filters of three colours; use the "
                              "convolution and norm_act_pool");
    tape_reset(w->t, TAPE_TRAINING);
    pictures = world_constant(w, DIMS(2, 4, 4, 3), x);
    other = world_leaf(w, DIMS(2, 3, 3, 3), weights);
    for (int i = 1; i < LEAVES; i++) add_param(w, &s, i, 1, three, ones);
    EXPECT(!op_rgb_norm(w->t, pictures, other, &bn, 1, 0.2));
    EXPECT_STATUS(tape_status(w->t), ST_SHAPE);
    EXPECT_TEXT(error_text(), w->type == DT_F32 ? "op rgb_norm: the gain is f32 [3]; there are 2 channels of f32"
                                                : "op rgb_norm: the gain is f64 [3]; there are 2 channels of f64");
    tape_reset(w->t, TAPE_TRAINING);
}

/* Three channels, three rows and three columns: none of them may be missing. */
VALUE_TEST(a_first_layer_in_one_op_is_for_3x3_filters_of_three_colours)
{
    static const size_t bad[][4] = {{3, 4, 3, 3}, {3, 3, 1, 3}, {3, 3, 3, 1}};
    double x[2 * 4 * 4 * 4] = {0}, weights[3 * 4 * 3 * 3] = {0};
    if (!offered(w)) return;
    var *pictures = world_constant(w, DIMS(2, 4, 4, 3), x), *flat = world_constant(w, DIMS(2, 4, 12), x);
    const var *good = world_leaf(w, DIMS(3, 3, 3, 3), weights), *vectors = world_leaf(w, DIMS(3, 3, 3), weights);
    EXPECT(op_rgb_norm_offered(w->t, pictures, &good->value) && !op_rgb_norm_offered(w->t, flat, &good->value));
    EXPECT(!op_rgb_norm_offered(w->t, pictures, &vectors->value));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const var *other = world_leaf(w, 4, bad[i], weights);
        EXPECT(!op_rgb_norm_offered(w->t, pictures, &other->value));
    }
}

/* Each of them alone is reason enough: no pictures, one row or one column of results, a slope below 0. */
VALUE_TEST(a_first_layer_in_one_op_refuses_what_cannot_be_pooled)
{
    static const struct {
        size_t dim[3];
        double slope;
        const char *why;
    } bad[] = {{{0, 4, 4}, 0.2, "0 maps of 2 x 2 and slope 0.2"},
               {{2, 3, 4}, 0.2, "2 maps of 1 x 2 and slope 0.2"},
               {{2, 4, 3}, 0.2, "2 maps of 2 x 1 and slope 0.2"},
               {{2, 4, 4}, -0.2, "2 maps of 2 x 2 and slope -0.2"}};
    const size_t three[] = {3};
    double x[2 * 4 * 4 * 3] = {0}, weights[3 * 3 * 3 * 3] = {0}, ones[3] = {1, 1, 1};
    if (!offered(w)) return;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct side s;
        tape_reset(w->t, TAPE_TRAINING);
        for (int k = 1; k < LEAVES; k++) add_param(w, &s, k, 1, three, ones);
        const struct batch_norm bn = {&s.p[GAIN], &s.p[BIAS], &s.p[MEAN], &s.p[VARIANCE], 0.1, 1e-5};
        var *pictures = world_constant(w, DIMS(bad[i].dim[0], bad[i].dim[1], bad[i].dim[2], 3), x);
        EXPECT(!op_rgb_norm(w->t, pictures, world_leaf(w, DIMS(3, 3, 3, 3), weights), &bn, 0, bad[i].slope));
        EXPECT_STATUS(tape_status(w->t), ST_SHAPE);
        if (!strstr(error_text(), bad[i].why))
            test_failed(__FILE__, __LINE__, "'%s' does not say '%s'", error_text(), bad[i].why);
    }
    tape_reset(w->t, TAPE_TRAINING);
}
