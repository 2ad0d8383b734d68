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
    EXPECT_INT(steps_at(&s, 2)->users, 2);  /* both convolutions */
    EXPECT_INT(steps_at(&s, 10)->users, 2); /* the sum of a thing with itself */
    EXPECT_NEAR(steps_at(&s, 5)->slope, 0.2, 0);
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
}
