/* steps.c - what a traced tape tells: the steps of fused ops, their shapes, and the names of ops that cannot be told. */
#include "ops/steps.h"
#include "tests/device.h"
#include "tests/ops/world.h"
#include "tests/test.h"

static struct param *add(struct params *p, const char *name, size_t channels)
{
    struct param *out = NULL;
    EXPECT_OK(params_add(p, name, DT_F32, 1, &channels, &out));
    return out;
}

static void expect_kinds(const struct steps *s, size_t count, const enum step_kind *wanted)
{
    EXPECT_INT(s->count, count);
    for (size_t i = 1; i <= s->count && i <= count; i++) EXPECT_INT(steps_at(s, i)->kind, wanted[i - 1]);
}

TEST(a_traced_tape_tells_fused_ops_step_by_step)
{
    struct world w;
    struct steps s = {0};
    REQUIRE(world_open(&w, 1, DT_F32, TAPE_INFERENCE));
    struct params *p = params_new(w.dev);
    REQUIRE(p);
    const struct batch_norm bn = {
        add(p, "gain", 2), add(p, "bias", 2), add(p, "mean", 2), add(p, "variance", 2), 0.1, 1e-5};
    static const double zeros[3 * 36];
    var *x = world_constant(&w, DIMS(1, 3, 6, 6), zeros), *k = world_constant(&w, DIMS(2, 3, 3, 3), zeros);
    EXPECT_OK(steps_input(&s, x));
    tape_trace(w.t, &s);
    var *maps = op_permute(w.t, x, (int[]){0, 2, 3, 1});
    var *a = op_conv2d_norm(w.t, maps, k, &bn, &(struct conv_norm){.stride = 1, .pad = 1, .slope = 0.2});
    var *b = op_conv2d(w.t, maps, k, 1, 1);
    var *y = op_norm_act_pool(w.t, a, &bn, b, &bn, &(struct norm_act){.slope = 1, .pool = true});
    y = op_adaptive_pool(w.t, op_permute(w.t, op_relu(w.t, op_add(w.t, y, y)), (int[]){0, 3, 1, 2}), 1, 2);
    tape_trace(w.t, NULL);
    EXPECT_OK(tape_status(w.t));
    static const enum step_kind wanted[] = {
        STEP_INPUT, STEP_PERMUTE, STEP_CONV,     STEP_NORM, STEP_LEAKY_RELU, STEP_CONV,    STEP_NORM,
        STEP_NORM,  STEP_ADD,     STEP_MAX_POOL, STEP_ADD,  STEP_LEAKY_RELU, STEP_PERMUTE, STEP_ADAPTIVE_POOL};
    expect_kinds(&s, sizeof wanted / sizeof wanted[0], wanted);
    REQUIRE(s.count == 14 && y);
    EXPECT_INT(y->step, 14);
    for (size_t i = 3; i < 7; i += 3) { /* both convolutions, with the filters that they were given */
        const struct step_conv *c = &steps_at(&s, i)->conv;
        EXPECT(c->weight.data == k->value.data && tensor_same_shape(&c->weight, &k->value));
        EXPECT(c->stride == 1 && c->groups == 1 && c->pad[0] == 1 && c->pad[1] == 1 && c->pad[2] == 1 &&
               c->pad[3] == 1);
    }
    EXPECT_INT(steps_at(&s, 2)->users, 2);  /* both */
    EXPECT_INT(steps_at(&s, 10)->users, 2); /* the sum of a thing with itself */
    EXPECT_NEAR(steps_at(&s, 5)->slope, 0.2, 0);
    EXPECT(steps_at(&s, 10)->pool.size == 2 && steps_at(&s, 10)->pool.stride == 2 && steps_at(&s, 10)->pool.pad == 0);
    EXPECT(steps_at(&s, 9)->in[0] == 7 && steps_at(&s, 9)->in[1] == 8 && steps_at(&s, 8)->in[0] == 6);
    const struct step *last = steps_at(&s, 14);
    EXPECT(last->rank == 4 && last->dim[0] == 1 && last->dim[1] == 2 && last->dim[2] == 1 && last->dim[3] == 2);
    op_relu(w.t, x);
    EXPECT_INT(s.count, 14); /* nobody listens any more */
    steps_free(&s);
    params_free(p);
    world_close(&w);
}

static void expect_refused(struct world *w, var *x, var *(*op)(tape *t, var *x), const char *sentence)
{
    struct steps s = {0};
    EXPECT_OK(steps_input(&s, x));
    tape_trace(w->t, &s);
    EXPECT(!op(w->t, x));
    EXPECT_STATUS(tape_status(w->t), ST_UNSUPPORTED);
    EXPECT_TEXT(error_text(), sentence);
    tape_trace(w->t, NULL);
    steps_free(&s);
}

static var *softmax(tape *t, var *x) { return op_softmax(t, x, 0); }
static var *twice(tape *t, var *x) { return op_mul(t, x, x); }
static var *with_constant(tape *t, var *x)
{
    var *c = tape_constant(t, &x->value);
    return op_add(t, x, c);
}

TEST(an_op_that_cannot_be_told_is_named)
{
    static const struct {
        var *(*op)(tape *t, var *x);
        const char *sentence;
    } cases[] = {{softmax, "op softmax: it cannot be told to other programs"},
                 {op_exp, "op unary: it cannot be told to other programs: only relu can"},
                 {twice, "op binary: it cannot be told to other programs: only the sum of two maps of one shape can"},
                 {with_constant,
                  "op binary: it cannot be told to other programs: an input does not come from the network's own"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct world w;
        REQUIRE(world_open(&w, 1, DT_F32, TAPE_INFERENCE));
        expect_refused(&w, world_constant(&w, DIMS(2), NUMBERS(1, 2)), cases[i].op, cases[i].sentence);
        world_close(&w);
    }
}

TEST(steps_clip_and_depthwise_convolutions_have_their_shapes)
{
    struct steps s = {0};
    const tensor weight = {.type = DT_F32, .rank = 4, .dim = {4, 1, 3, 3}};
    var x = {.value = {.type = DT_F32, .rank = 4, .dim = {1, 9, 8, 4}}};
    EXPECT_OK(steps_input(&s, &x));
    const struct step_conv depthwise = {.weight = weight, .stride = 2, .pad = {0, 0, 1, 1}, .groups = 4};
    const size_t y = steps_clip(&s, steps_conv(&s, x.step, &depthwise), 0, 6);
    EXPECT_INT(y, 3);
    EXPECT(s.at[y].dim[1] == 4 && s.at[y].dim[2] == 4 && s.at[y].dim[3] == 4);
    EXPECT_NEAR(s.at[y].clip.high, 6, 0);
    EXPECT_INT(steps_clip(&s, 0, 0, 6), 0);
    EXPECT_INT(steps_leaky_relu(&s, y, 1), y);
    EXPECT_INT(s.count, 3);
    steps_free(&s);
}

static var *t_pad(tape *t, var *x) { return op_pad(t, x, &(struct pad){1, 2, 3, 4}); }
static var *t_pool(tape *t, var *x)
{
    return op_max_pool(t, x, &(struct pool_shape){.size = 3, .stride = 2, .pad = 1});
}
static var *t_adaptive(tape *t, var *x) { return op_adaptive_pool(t, x, 2, 3); }
static var *t_permute(tape *t, var *x) { return op_permute(t, x, (int[]){3, 0, 2, 1}); }
static var *t_clip(tape *t, var *x) { return op_clip(t, x, -1, 2); }
static var *filter(tape *t, size_t out, size_t in, size_t h, size_t w)
{
    static const float zeros[64];
    return tape_upload(t, DT_F32, 4, (size_t[]){out, in, h, w}, zeros);
}
static var *t_conv(tape *t, var *x) { return op_conv2d(t, x, filter(t, 3, 4, 3, 1), 2, 1); }
static var *t_depthwise(tape *t, var *x)
{
    return op_depthwise(t, x, filter(t, 4, 1, 3, 2),
                        &(struct depthwise_shape){.stride = 2, .top = 2, .left = 1, .right = 1});
}

/* On maps whose sides all differ. */
TEST(a_told_step_has_the_shape_of_its_result)
{
    static var *(*const ops[])(tape * t, var * x) = {t_pad,  t_pool, op_max_pool2, t_adaptive, t_permute,
                                                     t_clip, t_conv, t_depthwise,  op_relu};
    static const double zeros[2 * 9 * 7 * 4];
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        struct world w;
        struct steps s = {0};
        char seen[SHAPE_TEXT], wanted[SHAPE_TEXT];
        REQUIRE(world_open(&w, 1, DT_F32, TAPE_INFERENCE));
        var *x = world_constant(&w, DIMS(2, 9, 7, 4), zeros);
        EXPECT_OK(steps_input(&s, x));
        tape_trace(w.t, &s);
        const var *y = ops[i](w.t, x);
        tape_trace(w.t, NULL);
        REQUIRE(y && y->step == s.count);
        tensor told = {.rank = steps_at(&s, y->step)->rank};
        memcpy(told.dim, steps_at(&s, y->step)->dim, sizeof told.dim);
        EXPECT_TEXT(tensor_shape_text(&told, seen), tensor_shape_text(&y->value, wanted));
        EXPECT_INT(steps_at(&s, y->step)->in[0], 1);
        EXPECT_INT(steps_at(&s, 1)->users, 1);
        steps_free(&s);
        world_close(&w);
    }
}

TEST(told_borders_and_limits_are_those_of_the_op)
{
    static const double zeros[2 * 9 * 7 * 4];
    struct world w;
    struct steps s = {0};
    REQUIRE(world_open(&w, 1, DT_F32, TAPE_INFERENCE));
    var *x = world_constant(&w, DIMS(2, 9, 7, 4), zeros);
    EXPECT_OK(steps_input(&s, x));
    tape_trace(w.t, &s);
    REQUIRE(t_pad(w.t, x) && t_conv(w.t, x) && t_depthwise(w.t, x) && t_clip(w.t, x) && t_pool(w.t, x) &&
            op_relu(w.t, x));
    const struct step *pad = steps_at(&s, 2), *conv = steps_at(&s, 3), *depthwise = steps_at(&s, 4);
    EXPECT(pad->pad[0] == 1 && pad->pad[1] == 2 && pad->pad[2] == 3 && pad->pad[3] == 4);
    for (int i = 0; i < 4; i++) EXPECT_INT(conv->conv.pad[i], 1);
    EXPECT(conv->conv.stride == 2 && conv->conv.groups == 1 && !conv->conv.bias.data);
    EXPECT(depthwise->conv.pad[0] == 2 && depthwise->conv.pad[1] == 1 && depthwise->conv.pad[2] == 0);
    EXPECT(depthwise->conv.pad[3] == 1 && depthwise->conv.stride == 2 && depthwise->conv.groups == 4);
    EXPECT(steps_at(&s, 5)->clip.low == -1 && steps_at(&s, 5)->clip.high == 2);
    EXPECT(steps_at(&s, 6)->pool.size == 3 && steps_at(&s, 6)->pool.stride == 2 && steps_at(&s, 6)->pool.pad == 1);
    EXPECT(steps_at(&s, 7)->kind == STEP_LEAKY_RELU && steps_at(&s, 7)->slope == 0);
    EXPECT_INT(steps_at(&s, 1)->users, 6);
    const struct step *last = &s.at[s.count];
    REQUIRE(op_max_pool(w.t, x, &(struct pool_shape){3, 1, 1})); /* with a border on both sides: as large as before */
    last = &s.at[s.count];
    EXPECT(last->dim[1] == 9 && last->dim[2] == 7);
    s.count--;
    REQUIRE(t_permute(w.t, x) && op_max_pool2(w.t, x));
    static const int order[] = {3, 0, 2, 1};
    EXPECT(!memcmp(steps_at(&s, 8)->order, order, sizeof order));
    EXPECT(steps_at(&s, 9)->pool.size == 2 && steps_at(&s, 9)->pool.stride == 2 && steps_at(&s, 9)->pool.pad == 0);
    tape_trace(w.t, NULL);
    steps_free(&s);
    world_close(&w);
}

static struct param *filled(struct world *w, struct params *p, const char *name, double value)
{
    struct param *out = add(p, name, 2);
    const float two[] = {(float)value, (float)value + 0.5f};
    EXPECT_OK(w->dev->upload(w->dev, out->value.data, two, sizeof two));
    return out;
}

static void expect_norm(struct world *w, const struct step *s)
{
    const tensor *const each[] = {&s->norm.gain, &s->norm.bias, &s->norm.mean, &s->norm.variance};
    double x[2];
    EXPECT_INT(s->kind, STEP_NORM);
    EXPECT_NEAR(s->norm.epsilon, 1e-5, 0);
    for (int i = 0; i < 4; i++) {
        REQUIRE(world_read(w, each[i], x));
        EXPECT_NEAR(x[0], i + 1, 0);
        EXPECT_NEAR(x[1], i + 1.5, 0);
    }
}

/* Which of a norm's four is which, and what follows it. */
TEST(told_norms_have_their_own_numbers)
{
    static const double zeros[2 * 9 * 7 * 4];
    struct world w;
    struct steps s = {0};
    REQUIRE(world_open(&w, 1, DT_F32, TAPE_INFERENCE));
    struct params *p = params_new(w.dev);
    REQUIRE(p);
    const struct batch_norm bn = {filled(&w, p, "gain", 1),
                                  filled(&w, p, "bias", 2),
                                  filled(&w, p, "mean", 3),
                                  filled(&w, p, "variance", 4),
                                  0.1,
                                  1e-5};
    var *x = world_constant(&w, DIMS(1, 6, 4, 2), zeros), *k = world_constant(&w, DIMS(2, 2, 1, 1), zeros);
    var *own = world_constant(&w, DIMS(2, 1, 1, 1), zeros);
    const struct depthwise_shape plain = {.stride = 1};
    EXPECT_OK(steps_input(&s, x));
    tape_trace(w.t, &s);
    REQUIRE(op_batch_norm(w.t, x, &bn, false));                                       /* 2 */
    REQUIRE(op_norm_act_pool(w.t, x, &bn, x, &bn, &(struct norm_act){.slope = 0.1})); /* 3 to 6 */
    for (int i = 0; i < 2; i++) /* 7 to 10, 11 to 15: conv, norm, activation, clip, pool */
        REQUIRE(op_conv2d_norm(w.t, x, k, &bn,
                               &(struct conv_norm){.stride = 1, .slope = i ? 0.2 : 0, .ceiling = 6, .pool = i == 1}));
    REQUIRE(op_depthwise_norm(w.t, x, own, &bn, &plain, 6)); /* 16 to 18 */
    REQUIRE(op_depthwise_norm(w.t, x, own, &bn, &plain, 0)); /* 19 and 20 */
    tape_trace(w.t, NULL);
    REQUIRE(s.count == 20);
    static const size_t norms[] = {2, 3, 4, 8, 12, 17, 20};
    for (size_t i = 0; i < sizeof norms / sizeof *norms; i++) expect_norm(&w, steps_at(&s, norms[i]));
    EXPECT(steps_at(&s, 5)->kind == STEP_ADD && steps_at(&s, 6)->slope == 0.1);
    EXPECT(steps_at(&s, 10)->clip.low == 0 && steps_at(&s, 10)->clip.high == 6);
    EXPECT(steps_at(&s, 14)->clip.low == -INFINITY && steps_at(&s, 14)->clip.high == 6);
    EXPECT(steps_at(&s, 15)->kind == STEP_MAX_POOL && steps_at(&s, 15)->pool.size == 2);
    EXPECT(steps_at(&s, 15)->dim[1] == 3 && steps_at(&s, 15)->dim[2] == 2);
    EXPECT(steps_at(&s, 18)->clip.low == 0 && steps_at(&s, 18)->clip.high == 6);
    steps_free(&s);
    params_free(p);
    world_close(&w);
}

TEST(steps_survive_failing_allocations)
{
    struct steps s = {0};
    var x = {.value = {.type = DT_F32, .rank = 1, .dim = {1}}};
    alloc_fail_at(1);
    EXPECT_STATUS(steps_input(&s, &x), ST_MEMORY);
    alloc_fail_at(0);
    steps_free(&s);
    EXPECT_OK(steps_input(&s, &x));
    size_t last = x.step;
    alloc_fail_at(1);
    for (int i = 0; i < 200 && last; i++) last = steps_leaky_relu(&s, last, 0.5);
    alloc_fail_at(0);
    EXPECT(!last && s.st == ST_MEMORY);
    steps_free(&s);
    EXPECT_OK(steps_input(&s, &x)); /* and with enough memory the list grows */
    last = x.step;
    for (int i = 0; i < 200 && last; i++) last = steps_leaky_relu(&s, last, 0.5);
    EXPECT_INT(last, 201);
    EXPECT(steps_at(&s, 201)->in[0] == 200 && steps_at(&s, 1)->kind == STEP_INPUT);
    steps_free(&s);
}

/* 0 is what an input has that no step gave. */
TEST(a_step_of_nothing_is_nothing)
{
    struct steps s = {0};
    struct world w;
    static const double x[4];
    REQUIRE(world_open(&w, 1, DT_F32, TAPE_INFERENCE));
    var *in = world_constant(&w, DIMS(1, 2, 2, 1), x);
    EXPECT_OK(steps_input(&s, in));
    const struct step_conv conv = {.weight = in->value, .stride = 1, .groups = 1};
    const struct norm_input norm = {
        .mean = &in->value, .variance = &in->value, .gain = &in->value, .bias = &in->value, .epsilon = 1};
    EXPECT_INT(steps_conv(&s, 0, &conv), 0);
    EXPECT_INT(steps_norm(&s, 0, &norm), 0);
    EXPECT(!steps_add(&s, 0, 1) && !steps_add(&s, 1, 0) && !steps_add(&s, 0, 0));
    EXPECT(!steps_leaky_relu(&s, 0, 0.5) && !steps_leaky_relu(&s, 0, 1) && !steps_clip(&s, 0, 0, 1));
    EXPECT_INT(steps_max_pool(&s, 0, &(struct pool_shape){2, 2, 0}), 0);
    EXPECT_INT(steps_pad(&s, 0, (size_t[]){1, 1, 1, 1}), 0);
    EXPECT_INT(steps_adaptive_pool(&s, 0, 1, 1), 0);
    EXPECT_INT(steps_permute(&s, 0, (int[]){0, 1, 2, 3}), 0);
    EXPECT_INT(s.count, 1);
    EXPECT_INT(steps_at(&s, 1)->users, 0);
    EXPECT_INT(steps_leaky_relu(&s, 1, 1), 1); /* a slope of 1 is no step */
    steps_free(&s);
    world_close(&w);
}
