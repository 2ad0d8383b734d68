/* bounds.c - shapes at the edge of what ops take, and batches in which one input serves all. */
#include "tests/ops/world.h"
#include "tests/test.h"
#include <stdio.h>

static const double zeros[1024];

static void expect_taken(struct world *w, int line, const var *y, const char *text, const size_t *dim)
{
    if (!y) {
        test_failed(__FILE__, line, "%s is refused: %s", text, error_text());
        return;
    }
    tensor wanted = {.rank = y->value.rank};
    char a[SHAPE_TEXT], b[SHAPE_TEXT];
    memcpy(wanted.dim, dim, (size_t)wanted.rank * sizeof *dim);
    if (strcmp(tensor_shape_text(&y->value, a), tensor_shape_text(&wanted, b)))
        test_failed(__FILE__, line, "%s gives %s, wanted %s", text, a, b);
    (void)w;
}

static var *map(struct world *w, size_t n, size_t h, size_t wide, size_t c)
{
    return world_constant(w, DIMS(n, h, wide, c), zeros);
}
static var *line(struct world *w, int rank, const size_t *dim) { return world_constant(w, rank, dim, zeros); }

#define TAKES(w, call, ...) \
    do { \
        tape_reset((w)->t, TAPE_INFERENCE); \
        expect_taken(w, __LINE__, call, #call, (size_t[]){__VA_ARGS__}); \
    } while (0)
#define REFUSES(w, call, sentence) \
    do { \
        tape_reset((w)->t, TAPE_INFERENCE); \
        if (call) test_failed(__FILE__, __LINE__, "%s is taken", #call); \
        else if (tape_status((w)->t) == OK || !strstr(error_text(), sentence)) /* the tape puts it back */ \
            test_failed(__FILE__, __LINE__, "%s says %s", #call, error_text()); \
    } while (0)

/* Filters as large as the map with its border, and larger by one, in each direction. */
static void filters(struct world *w)
{
    TAKES(w, op_conv2d(w->t, map(w, 1, 3, 5, 2), map(w, 4, 2, 3, 5), 1, 0), 1, 1, 1, 4);
    TAKES(w, op_conv2d(w->t, map(w, 1, 1, 3, 2), map(w, 4, 2, 3, 5), 1, 1), 1, 1, 1, 4);
    TAKES(w, op_conv2d(w->t, map(w, 1, 4, 7, 2), map(w, 4, 2, 3, 5), 2, 1), 1, 2, 3, 4);
    REFUSES(w, op_conv2d(w->t, map(w, 1, 2, 5, 2), map(w, 4, 2, 3, 5), 1, 0), "the filter is larger than the map");
    REFUSES(w, op_conv2d(w->t, map(w, 1, 3, 4, 2), map(w, 4, 2, 3, 5), 1, 0), "the filter is larger than the map");
    REFUSES(w, op_conv2d(w->t, map(w, 1, 1, 2, 2), map(w, 4, 2, 3, 5), 1, 1), "the filter is larger than the map");
    REFUSES(w, op_conv2d(w->t, map(w, 1, 0, 3, 2), map(w, 4, 2, 3, 5), 1, 1), "the filter is larger than the map");
    REFUSES(w, op_conv2d(w->t, map(w, 1, 3, 3, 2), map(w, 0, 2, 3, 3), 1, 1), "the weights are empty");
    REFUSES(w, op_conv2d(w->t, map(w, 1, 3, 3, 2), map(w, 1, 2, 3, 0), 1, 1), "the weights are empty");
    TAKES(w, op_conv2d(w->t, map(w, 1, 1, 1, 1), map(w, 1, 1, 1, 1), 65536, 0), 1, 1, 1, 1);
    REFUSES(w, op_conv2d(w->t, map(w, 1, 1, 1, 1), map(w, 1, 1, 1, 1), 1, 65537), "the border at most 65536");
}

#define DEPTHWISE(top_, left_, bottom_, right_) \
    (&(struct depthwise_shape){.stride = 1, .top = top_, .left = left_, .bottom = bottom_, .right = right_})
static void own_filters(struct world *w)
{
    TAKES(w, op_depthwise(w->t, map(w, 1, 2, 4, 1), map(w, 1, 1, 2, 3), DEPTHWISE(0, 0, 0, 0)), 1, 1, 2, 1);
    TAKES(w, op_depthwise(w->t, map(w, 1, 4, 3, 1), map(w, 1, 1, 2, 3), DEPTHWISE(0, 0, 0, 0)), 1, 3, 1, 1);
    TAKES(w, op_depthwise(w->t, map(w, 1, 1, 1, 1), map(w, 1, 1, 2, 3), DEPTHWISE(1, 1, 0, 1)), 1, 1, 1, 1);
    TAKES(w, op_depthwise(w->t, map(w, 1, 1, 1, 1), map(w, 1, 1, 2, 3), DEPTHWISE(1, 2, 1, 2)), 1, 2, 3, 1);
    REFUSES(w, op_depthwise(w->t, map(w, 1, 1, 3, 1), map(w, 1, 1, 2, 3), DEPTHWISE(0, 0, 0, 0)), "filter is larger");
    REFUSES(w, op_depthwise(w->t, map(w, 1, 2, 2, 1), map(w, 1, 1, 2, 3), DEPTHWISE(0, 0, 0, 0)), "filter is larger");
    REFUSES(w, op_depthwise(w->t, map(w, 1, 2, 1, 1), map(w, 1, 1, 2, 3), DEPTHWISE(0, 1, 0, 0)), "filter is larger");
    REFUSES(w, op_depthwise(w->t, map(w, 1, 2, 1, 1), map(w, 1, 1, 2, 3), DEPTHWISE(0, 0, 0, 1)), "filter is larger");
    REFUSES(w, op_depthwise(w->t, map(w, 1, 2, 4, 1), map(w, 1, 1, 2, 3), DEPTHWISE(2, 0, 0, 0)), "must be narrower");
    REFUSES(w, op_depthwise(w->t, map(w, 1, 2, 4, 1), map(w, 1, 1, 2, 3), DEPTHWISE(0, 3, 0, 0)), "must be narrower");
    REFUSES(w, op_depthwise(w->t, map(w, 1, 2, 4, 1), map(w, 1, 1, 2, 3), DEPTHWISE(0, 0, 2, 0)), "must be narrower");
    REFUSES(w, op_depthwise(w->t, map(w, 1, 2, 4, 1), map(w, 1, 1, 2, 3), DEPTHWISE(0, 0, 0, 3)), "must be narrower");
    REFUSES(w, op_depthwise(w->t, map(w, 1, 0, 3, 1), map(w, 1, 1, 2, 3), DEPTHWISE(1, 1, 1, 1)), "nothing to meet");
    REFUSES(w, op_depthwise(w->t, map(w, 1, 2, 0, 1), map(w, 1, 1, 2, 3), DEPTHWISE(1, 2, 1, 2)), "nothing to meet");
    REFUSES(w, op_depthwise(w->t, map(w, 1, 2, 3, 1), map(w, 1, 1, 0, 3), DEPTHWISE(0, 0, 0, 0)), "nothing to meet");
    REFUSES(w, op_depthwise(w->t, map(w, 1, 2, 3, 1), map(w, 1, 1, 2, 0), DEPTHWISE(0, 0, 0, 0)), "nothing to meet");
    REFUSES(w, op_depthwise(w->t, map(w, 1, 2, 4, 2), map(w, 2, 2, 2, 3), DEPTHWISE(0, 0, 0, 0)),
            "one filter for each");
    REFUSES(w, op_depthwise(w->t, map(w, 1, 2, 4, 2), map(w, 1, 1, 2, 3), DEPTHWISE(0, 0, 0, 0)),
            "one filter for each");
}

#define WINDOW(size_, stride_, pad_) (&(struct pool_shape){.size = size_, .stride = stride_, .pad = pad_})
static void windows(struct world *w)
{
    TAKES(w, op_max_pool2(w->t, map(w, 1, 2, 2, 1)), 1, 1, 1, 1);
    TAKES(w, op_max_pool2(w->t, map(w, 1, 2, 5, 1)), 1, 1, 2, 1);
    REFUSES(w, op_max_pool2(w->t, map(w, 1, 2, 1, 1)), "at least 2");
    REFUSES(w, op_max_pool2(w->t, map(w, 1, 1, 2, 1)), "at least 2");
    TAKES(w, op_max_pool(w->t, map(w, 1, 3, 4, 1), WINDOW(3, 1, 0)), 1, 1, 2, 1);
    TAKES(w, op_max_pool(w->t, map(w, 1, 4, 3, 1), WINDOW(3, 1, 0)), 1, 2, 1, 1);
    TAKES(w, op_max_pool(w->t, map(w, 1, 1, 1, 1), WINDOW(3, 2, 1)), 1, 1, 1, 1);
    TAKES(w, op_max_pool(w->t, map(w, 1, 1, 1, 1), WINDOW(3, 2, 2)), 1, 2, 2, 1);
    REFUSES(w, op_max_pool(w->t, map(w, 1, 2, 3, 1), WINDOW(3, 1, 0)), "not smaller than a window of 3");
    REFUSES(w, op_max_pool(w->t, map(w, 1, 3, 2, 1), WINDOW(3, 1, 0)), "not smaller than a window of 3");
    REFUSES(w, op_max_pool(w->t, map(w, 1, 0, 3, 1), WINDOW(3, 1, 2)), "not smaller than a window of 3");
    REFUSES(w, op_max_pool(w->t, map(w, 1, 3, 0, 1), WINDOW(3, 1, 2)), "not smaller than a window of 3");
    REFUSES(w, op_max_pool(w->t, map(w, 1, 3, 3, 1), WINDOW(3, 0, 0)), "windows of 3, 0 apart");
    REFUSES(w, op_max_pool(w->t, map(w, 1, 3, 3, 1), WINDOW(3, 1, 3)), "the border must be narrower");
}

#define BORDER(...) (&(struct pad){__VA_ARGS__})
static void borders(struct world *w)
{
    TAKES(w, op_pad(w->t, line(w, DIMS(2, 3)), BORDER(1, 2, 3, 4)), 6, 9);
    TAKES(w, op_pad(w->t, line(w, DIMS(2, 1, 3)), BORDER(0, 65536, 0, 0)), 2, 1, 65539);
    REFUSES(w, op_pad(w->t, line(w, DIMS(2, 3)), BORDER(65537, 0, 0, 0)), "borders at most 65536");
    REFUSES(w, op_pad(w->t, line(w, DIMS(2, 3)), BORDER(0, 65537, 0, 0)), "borders at most 65536");
    REFUSES(w, op_pad(w->t, line(w, DIMS(2, 3)), BORDER(0, 0, 65537, 0)), "borders at most 65536");
    REFUSES(w, op_pad(w->t, line(w, DIMS(2, 3)), BORDER(0, 0, 0, 65537)), "borders at most 65536");
    REFUSES(w, op_pad(w->t, line(w, DIMS(0, 3)), BORDER(1, 1, 1, 1)), "not empty");
    TAKES(w, op_drop_block_at(w->t, map(w, 1, 2, 3, 1), (const unsigned char *)"\1\0", 2), 1, 2, 3, 1);
    TAKES(w, op_drop_block_at(w->t, map(w, 1, 3, 2, 1), (const unsigned char *)"\1\0", 2), 1, 3, 2, 1);
    REFUSES(w, op_drop_block_at(w->t, map(w, 1, 1, 3, 1), (const unsigned char *)"", 2), "does not fit");
    REFUSES(w, op_drop_block_at(w->t, map(w, 1, 3, 1, 1), (const unsigned char *)"", 2), "does not fit");
    REFUSES(w, op_drop_block_at(w->t, map(w, 1, 3, 3, 1), (const unsigned char *)"", 0), "does not fit");
    TAKES(w, op_concat(w->t, 1, (var *[]){line(w, DIMS(2, 3))}, -1), 2, 3);
    TAKES(w, op_concat(w->t, 2, (var *[]){line(w, DIMS(2, 3)), line(w, DIMS(2, 1))}, -1), 2, 4);
    TAKES(w, op_slice(w->t, line(w, DIMS(2, 3)), 1, 2, 3), 2, 1);
    TAKES(w, op_top_k(w->t, line(w, DIMS(2, 3)), 1, 3, NULL), 2, 3);
}

/* Problems of up to 4096 places. */
static void places(struct world *w)
{
    static double half[4097 * 2];
    for (size_t i = 0; i < 4097 * 2; i++) half[i] = 1;
    REFUSES(w,
            op_transport(w->t, world_constant(w, DIMS(1, 4097, 1, 1), half), world_constant(w, DIMS(1, 1, 4097), half),
                         world_constant(w, DIMS(1, 1, 1), half)),
            "1 to 4096 places");
    REFUSES(w,
            op_transport(w->t, world_constant(w, DIMS(1, 1, 1, 4097), half), world_constant(w, DIMS(1, 1, 1), half),
                         world_constant(w, DIMS(1, 1, 4097), half)),
            "1 to 4096 places");
    REFUSES(w,
            op_transport(w->t, world_constant(w, DIMS(1, 0, 1, 2), half), world_constant(w, DIMS(1, 1, 0), half),
                         world_constant(w, DIMS(1, 1, 2), half)),
            "1 to 4096 places");
    TAKES(w,
          op_transport(w->t, world_constant(w, DIMS(1, 4096, 1, 1), half), world_constant(w, DIMS(1, 1, 4096), half),
                       world_constant(w, DIMS(1, 1, 1), half)),
          1, 1);
    TAKES(w,
          op_transport(w->t, world_constant(w, DIMS(1, 1, 1, 4096), half), world_constant(w, DIMS(1, 1, 1), half),
                       world_constant(w, DIMS(1, 1, 4096), half)),
          1, 1);
    TAKES(w,
          op_transport(w->t, world_constant(w, DIMS(1, 2, 3, 2), half), world_constant(w, DIMS(1, 3, 2), half),
                       world_constant(w, DIMS(1, 3, 2), half)),
          1, 3);
}

/* Memory of the tape that was used before must not matter: the second time all corners are those of a rate of 0. */
static void corners(struct world *w)
{
    static double ones[36], y[36];
    struct random r = {.seed = 1};
    for (size_t i = 0; i < 36; i++) ones[i] = 1;
    for (int k = 0; k < 3; k++) {
        tape_reset(w->t, TAPE_INFERENCE);
        const var *out = op_drop_block(w->t, world_constant(w, DIMS(1, 6, 6, 1), ones), k == 1 ? 1 : 0, 2, &r);
        REQUIRE(out && world_read(w, &out->value, y));
        for (size_t i = 0; i < 36; i++) EXPECT_NEAR(y[i], k == 1 ? 0 : 1, 0);
    }
}

TEST(ops_take_what_just_fits_and_refuse_the_next)
{
    static void (*const each[])(struct world * w) = {filters, own_filters, windows, borders, places, corners};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        struct world w;
        REQUIRE(world_open(&w, 1, DT_F32, TAPE_INFERENCE));
        each[i](&w);
        world_close(&w);
    }
}

static struct param *channel(struct params *p, const char *name, size_t channels)
{
    struct param *out = NULL;
    EXPECT_OK(params_add(p, name, DT_F64, 1, &channels, &out));
    return out;
}

TEST(norms_take_what_just_fits_and_refuse_the_next)
{
    struct world w;
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_INFERENCE));
    struct params *p = params_new(w.dev);
    REQUIRE(p);
    struct param *two = channel(p, "two", 2), *three = channel(p, "three", 3), *none = channel(p, "none", 0);
    const struct batch_norm fits = {two, two, two, two, 0.1, 1e-5}, empty = {none, none, none, none, 0.1, 1e-5};
    const struct norm_act plain = {.slope = 0}, pooled = {.slope = 1, .pool = true};
    TAKES(&w, op_batch_norm(w.t, line(&w, DIMS(2, 2)), &fits, true), 2, 2);
    REFUSES(&w, op_batch_norm(w.t, line(&w, DIMS(1, 2)), &fits, true), "fewer than 2 numbers a channel");
    TAKES(&w, op_batch_norm(w.t, line(&w, DIMS(1, 2)), &fits, false), 1, 2);
    TAKES(&w, op_batch_norm(w.t, line(&w, DIMS(1, 2, 2)), &fits, true), 1, 2, 2);
    REFUSES(&w, op_batch_norm(w.t, line(&w, DIMS(2, 0)), &empty, false), "it must be [..., channels]");
    REFUSES(&w, op_batch_norm(w.t, line(&w, DIMS(2)), &fits, false), "it must be [..., channels]");
    for (int i = 0; i < 4; i++) { /* each of the four by another length */
        struct batch_norm wrong = fits;
        struct param **const at[] = {&wrong.gain, &wrong.bias, &wrong.mean, &wrong.variance};
        static const char *const names[] = {"the gain is", "the bias is", "the running mean is",
                                            "the running variance is"};
        *at[i] = three;
        REFUSES(&w, op_batch_norm(w.t, line(&w, DIMS(2, 2)), &wrong, true), names[i]);
        REFUSES(&w, op_norm_act_pool(w.t, line(&w, DIMS(2, 2)), &wrong, NULL, NULL, &plain), names[i]);
        REFUSES(&w, op_norm_act_pool(w.t, line(&w, DIMS(2, 2)), &fits, line(&w, DIMS(2, 2)), &wrong, &plain), names[i]);
        REFUSES(&w,
                op_conv2d_norm(w.t, map(&w, 1, 2, 2, 1), map(&w, 2, 1, 1, 1), &wrong, &(struct conv_norm){.stride = 1}),
                "one number for each of 2 channels");
        *at[i] = NULL;
        REFUSES(&w, op_batch_norm(w.t, line(&w, DIMS(2, 2)), &wrong, true), "was never added");
        REFUSES(&w, op_norm_act_pool(w.t, line(&w, DIMS(2, 2)), &wrong, NULL, NULL, &plain), "was never added");
    }
    TAKES(&w, op_norm_act_pool(w.t, map(&w, 1, 2, 2, 2), &fits, NULL, NULL, &pooled), 1, 1, 1, 2);
    TAKES(&w, op_norm_act_pool(w.t, map(&w, 1, 3, 2, 2), &fits, map(&w, 1, 3, 2, 2), &fits, &pooled), 1, 1, 1, 2);
    REFUSES(&w, op_norm_act_pool(w.t, map(&w, 1, 1, 2, 2), &fits, NULL, NULL, &pooled), "at least 2");
    REFUSES(&w, op_norm_act_pool(w.t, map(&w, 1, 2, 1, 2), &fits, NULL, NULL, &pooled), "at least 2");
    TAKES(&w, op_norm_act_pool(w.t, map(&w, 1, 1, 1, 2), &fits, NULL, NULL, &plain), 1, 1, 1, 2);
    const struct conv_norm halves = {.stride = 1, .pad = 1, .slope = 0, .pool = true};
    TAKES(&w, op_conv2d_norm(w.t, map(&w, 1, 4, 7, 1), map(&w, 2, 1, 3, 3), &fits, &halves), 1, 2, 3, 2);
    TAKES(&w, op_conv2d_norm(w.t, map(&w, 1, 2, 2, 1), map(&w, 2, 1, 3, 3), &fits, &halves), 1, 1, 1, 2);
    REFUSES(&w, op_conv2d_norm(w.t, map(&w, 1, 2, 1, 1), map(&w, 2, 1, 3, 3), &fits, &halves), "pooling needs 2 x 2");
    REFUSES(&w, op_conv2d_norm(w.t, map(&w, 1, 1, 2, 1), map(&w, 2, 1, 3, 3), &fits, &halves), "pooling needs 2 x 2");
    params_free(p);
    world_close(&w);
}

/* A block that does not widen: its depthwise filter is 2 x 3. */
static var *block_of(struct world *w, struct params *p, var *x, struct depthwise_shape shape, var *project)
{
    struct param *two = params_find(p, "two"), *three = params_find(p, "three");
    const struct bottleneck b = {.depthwise = {map(w, 2, 1, 2, 3), {two, two, two, two, 0.1, 1e-5}},
                                 .project = {project, {three, three, three, three, 0.1, 1e-5}},
                                 .shape = shape,
                                 .ceiling = 6};
    return op_bottleneck(w->t, x, &b);
}
static var *block(struct world *w, struct params *p, var *x, struct depthwise_shape shape)
{
    return block_of(w, p, x, shape, map(w, 3, 2, 1, 1));
}

TEST(blocks_take_what_just_fits_and_refuse_the_next)
{
    static const struct {
        size_t h, wide, top, left, bottom, right, to[2];
        const char *sentence;
    } cases[] = {{2, 3, 0, 0, 0, 0, {1, 1}, NULL},
                 {1, 3, 1, 0, 0, 0, {1, 1}, NULL},
                 {1, 1, 1, 2, 1, 2, {2, 3}, NULL},
                 {1, 3, 0, 0, 0, 0, {0}, "the filter is larger"},
                 {2, 2, 0, 0, 0, 0, {0}, "the filter is larger"},
                 {0, 3, 1, 0, 1, 0, {0}, "the filter is larger"},
                 {2, 0, 0, 2, 0, 2, {0}, "the filter is larger"},
                 {2, 3, 2, 0, 0, 0, {0}, "a border narrower than the filter"},
                 {2, 3, 0, 3, 0, 0, {0}, "a border narrower than the filter"},
                 {2, 3, 0, 0, 2, 0, {0}, "a border narrower than the filter"},
                 {2, 3, 0, 0, 0, 3, {0}, "a border narrower than the filter"}};
    struct world w;
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_INFERENCE));
    struct params *p = params_new(w.dev);
    REQUIRE(p);
    channel(p, "two", 2);
    channel(p, "three", 3);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tape_reset(w.t, TAPE_INFERENCE);
        const struct depthwise_shape s = {.stride = 1,
                                          .top = cases[i].top,
                                          .left = cases[i].left,
                                          .bottom = cases[i].bottom,
                                          .right = cases[i].right};
        const var *y = block(&w, p, map(&w, 1, cases[i].h, cases[i].wide, 2), s);
        if (!cases[i].sentence) {
            REQUIRE(y);
            EXPECT_DIMS(y->value, 1, cases[i].to[0], cases[i].to[1], 3);
        } else if (y || tape_status(w.t) == OK || !strstr(error_text(), cases[i].sentence)) {
            test_failed(__FILE__, __LINE__, "case %zu: %s", i, y ? "is taken" : error_text());
        }
    }
    static const struct {
        size_t out, in, h, wide;
        const char *sentence;
    } outer[] = {{3, 2, 2, 1, "must be 1 x 1"},
                 {3, 2, 1, 2, "must be 1 x 1"},
                 {3, 1, 1, 1, "the numbers of channels differ"},
                 {0, 2, 1, 1, "the numbers of channels differ"}};
    for (size_t i = 0; i < sizeof outer / sizeof *outer; i++)
        REFUSES(&w,
                block_of(&w, p, map(&w, 1, 3, 3, 2), (struct depthwise_shape){.stride = 1},
                         map(&w, outer[i].out, outer[i].in, outer[i].h, outer[i].wide)),
                outer[i].sentence);
    REFUSES(&w, block(&w, p, map(&w, 1, 3, 3, 2), (struct depthwise_shape){.stride = 0}), "a stride is at least 1");
    REFUSES(&w, block(&w, p, map(&w, 1, 3, 3, 3), (struct depthwise_shape){.stride = 1}), "the numbers of channels");
    REFUSES(&w, block(&w, p, line(&w, DIMS(3, 3, 2)), (struct depthwise_shape){.stride = 1}), "the input has rank 3");
    params_free(p);
    world_close(&w);
}

/* Batches: what one input that serves all gives is what it gives with each of the others alone. */

typedef var *two_inputs(struct world *w, var *a, var *b);
static var *b_sqdist(struct world *w, var *a, var *b) { return op_sqdist(w->t, a, b); }
static var *b_nn(struct world *w, var *a, var *b) { return op_matmul(w->t, a, false, b, false); }
static var *b_nt(struct world *w, var *a, var *b) { return op_matmul(w->t, a, false, b, true); }
static var *b_tn(struct world *w, var *a, var *b) { return op_matmul(w->t, a, true, b, false); }
static var *b_tt(struct world *w, var *a, var *b) { return op_matmul(w->t, a, true, b, true); }
static var *b_solve(struct world *w, var *a, var *b) { return op_solve(w->t, a, b); }
static var *b_cholesky(struct world *w, var *a, var *b) { return op_cholesky_solve(w->t, a, b); }

struct stretched {
    const char *name;
    two_inputs *op;
    size_t a[2], b[2]; /* of each matrix */
};
static const struct stretched pairs[] = {{"sqdist", b_sqdist, {3, 4}, {2, 4}},
                                         {"nn", b_nn, {3, 4}, {4, 2}},
                                         {"nt", b_nt, {3, 4}, {2, 4}},
                                         {"tn", b_tn, {4, 3}, {4, 2}},
                                         {"tt", b_tt, {4, 3}, {2, 4}},
                                         {"solve", b_solve, {3, 3}, {3, 2}},
                                         {"cholesky", b_cholesky, {3, 3}, {3, 2}}};

/* na or nb is 1, or both are `n`. Forward and, with ones, back. */
static void check_pair(struct world *w, const struct stretched *s, size_t na, size_t nb, struct random *r)
{
    const size_t n = na > nb ? na : nb, ea = s->a[0] * s->a[1], eb = s->b[0] * s->b[1];
    double a[64], b[64], y[64], da[64], db[64], one[16], d_one[16], wanted_da[64] = {0}, wanted_db[64] = {0}, dy[64];
    for (size_t i = 0; i < na * ea; i++) a[i] = random_normal(r) + (s->op == b_solve && i % ea % 4 == 0 ? 4 : 0);
    for (size_t i = 0; s->op == b_cholesky && i < na * ea; i++) /* definite, with one triangle's numbers in both */
        a[i] = i % ea % 4 == 0 ? 5 : 0.3 * (double)(i % ea % 3 + i % ea / 3 + i / ea);
    for (size_t i = 0; i < nb * eb; i++) b[i] = random_normal(r);
    for (size_t i = 0; i < 64; i++) dy[i] = random_normal(r);
    tape_reset(w->t, TAPE_TRAINING);
    var *x = world_leaf(w, DIMS(na, s->a[0], s->a[1]), a), *z = world_leaf(w, DIMS(nb, s->b[0], s->b[1]), b);
    var *out = s->op(w, x, z);
    REQUIRE(out && world_read(w, &out->value, y));
    EXPECT_OK(world_back(w, out, dy));
    REQUIRE(world_read(w, &x->grad, da) && world_read(w, &z->grad, db));
    const size_t each = tensor_count(&out->value) / n;
    EXPECT_INT(out->value.dim[0], n);
    for (size_t k = 0; k < n; k++) {
        const size_t at = na == 1 ? 0 : k, bt = nb == 1 ? 0 : k;
        tape_reset(w->t, TAPE_TRAINING);
        x = world_leaf(w, DIMS(s->a[0], s->a[1]), a + at * ea);
        z = world_leaf(w, DIMS(s->b[0], s->b[1]), b + bt * eb);
        out = s->op(w, x, z);
        REQUIRE(out && world_read(w, &out->value, one));
        for (size_t i = 0; i < each; i++) EXPECT_NEAR(y[k * each + i], one[i], 1e-12);
        EXPECT_OK(world_back(w, out, dy + k * each));
        REQUIRE(world_read(w, &x->grad, d_one));
        for (size_t i = 0; i < ea; i++) wanted_da[at * ea + i] += d_one[i];
        REQUIRE(world_read(w, &z->grad, d_one));
        for (size_t i = 0; i < eb; i++) wanted_db[bt * eb + i] += d_one[i];
    }
    for (size_t i = 0; i < na * ea; i++) EXPECT_NEAR(da[i], wanted_da[i], 1e-11);
    for (size_t i = 0; i < nb * eb; i++) EXPECT_NEAR(db[i], wanted_db[i], 1e-11);
}

TEST(batches_are_their_matrices_one_by_one)
{
    struct random r = test_random();
    struct world w;
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_TRAINING));
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        check_pair(&w, &pairs[i], 1, 1, &r);
        check_pair(&w, &pairs[i], 3, 1, &r);
        check_pair(&w, &pairs[i], 1, 2, &r);
        check_pair(&w, &pairs[i], 1, 3, &r);
        check_pair(&w, &pairs[i], 2, 2, &r);
    }
    world_close(&w);
}
