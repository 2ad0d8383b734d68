/* start.c - the parameters with which a head starts: names, shapes and distributions, as the papers or their code have them. */
#include "tests/heads/stage.h"
#include "tests/test.h"

enum kind { CONSTANT, NORMAL, UNIFORM }; /* of a value; of a deviation; of a half-width around 0 */

struct start {
    const char *head, *name;
    int rank;
    size_t dim[4];
    enum kind kind;
    double size;
};
/* For 64 channels, so that what is divided by their root is an eighth. */
enum { C = 64 };
static const struct start starts[] = {
    {"ctx", "head.key.weight", 4, {128, C, 1, 1}, UNIFORM, 0.125},
    {"ctx", "head.query.weight", 4, {128, C, 1, 1}, UNIFORM, 0.125},
    {"ctx", "head.value.weight", 4, {128, C, 1, 1}, UNIFORM, 0.125},
    {"dsn", "head.scale", 1, {1}, CONSTANT, 1},
    {"feat", "head.query.weight", 2, {C, C}, NORMAL, 0.125},
    {"feat", "head.key.weight", 2, {C, C}, NORMAL, 0.125},
    {"feat", "head.value.weight", 2, {C, C}, NORMAL, 0.125},
    {"feat", "head.out.weight", 2, {C, C}, NORMAL, 0.125},
    {"feat", "head.out.bias", 1, {C}, CONSTANT, 0},
    {"feat", "head.norm.weight", 1, {C}, CONSTANT, 1},
    {"feat", "head.norm.bias", 1, {C}, CONSTANT, 0},
    {"frn", "head.scale", 1, {1}, CONSTANT, 1},
    {"frn", "head.r", 1, {2}, CONSTANT, 0},
    {"gnn", "head.enter.weight", 2, {128, C}, UNIFORM, 0.125},
    {"gnn", "head.enter.gain", 1, {128}, CONSTANT, 1},
    {"gnn", "head.enter.shift", 1, {128}, CONSTANT, 0},
    {"meta-baseline", "head.temperature", 1, {1}, CONSTANT, 10},
    {"metaopt", "head.scale", 1, {1}, CONSTANT, 1},
    {"r2d2", "head.scale", 1, {1}, CONSTANT, 1},
    {"relation", "head.fc1.weight", 2, {C / 2, 2 * C}, NORMAL, 0.01},
    {"relation", "head.fc1.bias", 1, {C / 2}, CONSTANT, 0},
    {"relation", "head.fc2.weight", 2, {1, C / 2}, NORMAL, 0.01},
    {"relation", "head.fc2.bias", 1, {1}, CONSTANT, 0},
};

static void expect_near_to(const struct start *e, const char *what, double seen, double wanted, double tolerance)
{
    if (!(fabs(seen - wanted) <= tolerance))
        test_failed(__FILE__, __LINE__, "%s %s: the %s is %g, wanted %g within %g", e->head, e->name, what, seen,
                    wanted, tolerance);
}

/* What n draws look like. A deviation is off by 1 / sqrt(2 n) of itself; five of those are allowed. */
static void expect_drawn(const struct start *e, const double *x, size_t n)
{
    double mean = 0, square = 0, low = x[0], high = x[0];
    for (size_t i = 0; i < n; i++) {
        mean += x[i] / (double)n;
        square += x[i] * x[i] / (double)n;
        low = fmin(low, x[i]);
        high = fmax(high, x[i]);
    }
    const double deviation = e->kind == UNIFORM ? e->size / sqrt(3) : e->size, error = 5 * deviation / sqrt((double)n);
    if (e->kind == CONSTANT) {
        expect_near_to(e, "smallest", low, e->size, 0);
        expect_near_to(e, "largest", high, e->size, 0);
        return;
    }
    expect_near_to(e, "mean", mean, 0, error);
    expect_near_to(e, "deviation", sqrt(square), deviation, error);
    if (e->kind == NORMAL) return;
    expect_near_to(e, "largest", high, e->size * (1 - 0.5 / (double)n), e->size * 10 / (double)n);
    expect_near_to(e, "smallest", low, -e->size * (1 - 0.5 / (double)n), e->size * 10 / (double)n);
}

static void check_start(const struct start *e, dtype type)
{
    static double x[128 * C];
    struct stage s;
    REQUIRE(stage_open(&s, e->head, type, 1, C));
    const struct param *p = params_find(s.p, e->name);
    if (!p) test_failed(__FILE__, __LINE__, "%s has no %s", e->head, e->name);
    if (p) {
        tensor wanted = {.rank = e->rank};
        char seen_text[SHAPE_TEXT], wanted_text[SHAPE_TEXT];
        memcpy(wanted.dim, e->dim, sizeof e->dim);
        EXPECT_TEXT(tensor_shape_text(&p->value, seen_text), tensor_shape_text(&wanted, wanted_text));
        EXPECT_INT(p->value.type, type);
        EXPECT(tensor_count(&p->value) <= sizeof x / sizeof *x);
        EXPECT(world_read(&s.w, &p->value, x));
        expect_drawn(e, x, tensor_count(&p->value));
    }
    stage_close(&s);
}

TEST(heads_start_with_the_parameters_of_their_papers)
{
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        for (int type = 0; type < DT_REALS; type++) check_start(&starts[i], (dtype)type);
}

/* A gnn of the published width starts uniform within one over the root of a layer's inputs. */
TEST(the_layers_of_a_gnn_start_within_the_root_of_their_inputs)
{
    const struct head *h;
    size_t weights = 0;
    EXPECT_OK(head_find("gnn", &h));
    for (size_t i = 0; i < head_param_count(h); i++) {
        const struct head_param *e = &h->params[i];
        if (e->rank != 2 || e->by_channels) continue;
        const double inputs = (double)e->dim(512, 1);
        if (!(fabs(e->start_uniform * sqrt(inputs) - 1) < 6e-3))
            test_failed(__FILE__, __LINE__, "%s has %g inputs and starts within %g", e->name, inputs, e->start_uniform);
        weights++;
    }
    EXPECT_INT(weights, 18);
}

static void expect_same_seed(const char *head, uint64_t seed, bool same)
{
    static double a[128 * C], b[128 * C];
    struct stage s;
    struct random r = {.seed = seed};
    REQUIRE(stage_open(&s, head, DT_F64, 1, C)); /* from the seed 5 */
    struct params *p = params_new(s.w.dev);
    EXPECT_OK(head_start(s.head, C, DT_F64, &r, p));
    EXPECT_INT(params_count(p), head_param_count(s.head));
    const tensor *x = &params_at(s.p, 0)->value;
    EXPECT(world_read(&s.w, x, a) && world_read(&s.w, &params_at(p, 0)->value, b));
    EXPECT((memcmp(a, b, tensor_count(x) * sizeof *a) == 0) == same);
    params_free(p);
    stage_close(&s);
}

TEST(starts_are_a_function_of_the_seed)
{
    expect_same_seed("ctx", 5, true);
    expect_same_seed("ctx", 6, false);
}

/* A seed stands in records of results: the numbers that it gives stay. */
TEST(starts_stay_what_they_were)
{
    static const struct {
        const char *head;
        double first[3];
    } recorded[] = {{"feat", {0.046420789736506561, 0.053272086623053487, 0.059550252529774861}},
                    {"gnn", {-0.10757324723724845, 0.11643174994875075, -0.085958957069831615}}};
    for (size_t i = 0; i < 2; i++) {
        double x[128 * C];
        struct stage s;
        REQUIRE(stage_open(&s, recorded[i].head, DT_F64, 1, C));
        EXPECT(world_read(&s.w, &params_at(s.p, 0)->value, x));
        for (size_t k = 0; k < 3; k++) EXPECT_NEAR(x[k], recorded[i].first[k], 1e-12);
        stage_close(&s);
    }
}

/* Heads whose parameters are constants run without any; others name the first that is missing. */
TEST(heads_without_parameters_take_constants_or_say_which_is_missing)
{
    static struct play p;
    static struct outcome with;
    static const size_t shots[] = {2, 1};
    struct random r = test_random();
    for (size_t i = 0; head_table[i]; i++) {
        const struct head *h = head_table[i];
        struct stage s;
        struct head_result out = {0};
        double scores[6];
        if (!h->params || h->fitted) continue;
        bool constant = true;
        for (size_t k = 0; k < head_param_count(h); k++)
            constant = constant && h->params[k].start_normal == 0 && h->params[k].start_uniform == 0;
        REQUIRE(stage_open(&s, h->name, DT_F64, 1, 4));
        play_random(&p, &s, &r, 2, shots, 4, 2, 3, 2);
        for (size_t k = 0, at = 0; k < params_count(s.p); k++) { /* back to the start */
            EXPECT(world_read(&s.w, &params_at(s.p, k)->value, p.params + at));
            at += tensor_count(&params_at(s.p, k)->value);
        }
        EXPECT(stage_run(&s, &p, TAPE_INFERENCE, &with));
        tape_reset(s.w.t, TAPE_INFERENCE);
        struct episode e = {.support = world_leaf(&s.w, DIMS(p.ns, 4, 2), p.support),
                            .support_labels = op_labels(s.w.t, p.support_labels, p.ns, 2),
                            .query = world_leaf(&s.w, DIMS(3, 4, 2), p.query),
                            .way = 2};
        const bool made = h->forward(s.w.t, s.settings.bytes, NULL, &e, 0, &out);
        if (made != constant) test_failed(__FILE__, __LINE__, "%s without parameters: %d", h->name, made);
        EXPECT(made == (tape_status(s.w.t) == OK));
        if (made) {
            EXPECT(world_read(&s.w, &out.scores->value, scores));
            for (size_t k = 0; k < 6; k++) EXPECT_NEAR(scores[k], with.scores[k], 1e-12 * (1 + fabs(with.scores[k])));
            EXPECT(!out.loss);
        } else {
            EXPECT(strstr(error_text(), "is missing") && strstr(error_text(), "head."));
        }
        stage_close(&s);
    }
}
