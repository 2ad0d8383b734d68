/* worked.c - small episodes of matching, dn4, relation, r2d2 and label-prop, worked out by hand. */
#include "tests/heads/stage.h"
#include "tests/test.h"

/* Runs a head with settings "name=value ..." given as pairs, NULL-terminated. */
static bool run(const char *head, const char *const *pairs, const struct play *p, struct outcome *out)
{
    struct stage s;
    if (!stage_open(&s, head, DT_F64, 1, p->channels)) return false;
    for (; *pairs; pairs += 2) stage_set(&s, pairs[0], pairs[1]);
    const bool ran = stage_run(&s, p, TAPE_TRAINING, out);
    stage_close(&s);
    return ran;
}
#define PAIRS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NO_PAIRS ((const char *const[]){NULL})

/* One location, two channels: class 0 has the directions east and north, class 1 has west. The query looks east. */
static const struct play compass = {.ns = 3,
                                    .way = 2,
                                    .channels = 2,
                                    .rs = 1,
                                    .nq = 1,
                                    .rq = 1,
                                    .support = {2, 0, -3, 0, 0, 2},
                                    .support_labels = {0, 1, 0},
                                    .query = {5, 0}};

TEST(matching_attends_to_shots_by_the_worked_example)
{
    static struct outcome out;
    REQUIRE(run("matching", PAIRS("temperature", "2"), &compass, &out));
    const double z0 = log((exp(2) + exp(0)) / 2), z1 = -2; /* cosines 1 and 0; -1 */
    EXPECT_NEAR(out.scores[0], z0 / 2, 1e-14);
    EXPECT_NEAR(out.scores[1], z1 / 2, 1e-14);
    EXPECT_NEAR(out.loss, log1p(exp(z1 - z0)), 1e-14);
    REQUIRE(run("matching", PAIRS("temperature", "2", "variant", "proto"), &compass, &out));
    EXPECT_NEAR(out.scores[0], sqrt(0.5), 1e-14); /* the mean looks north-east */
    EXPECT_NEAR(out.scores[1], -1, 1e-14);
    EXPECT_NEAR(out.loss, log1p(exp(2 * (-1 - sqrt(0.5)))), 1e-14);
}

TEST(matching_is_finite_when_sharp)
{
    static struct outcome out;
    REQUIRE(run("matching", PAIRS("temperature", "1e5"), &compass, &out));
    EXPECT_NEAR(out.scores[0], 1, 1e-4);
    EXPECT_NEAR(out.scores[1], -1, 1e-14);
    EXPECT_NEAR(out.loss, 0, 1e-14);
}

/* Two locations. Class 0 has two shots: (east, north) and (north, north); class 1 one: (west, east). The query looks (east, north). */
static const struct play dense = {.ns = 3,
                                  .way = 2,
                                  .channels = 2,
                                  .rs = 2,
                                  .nq = 1,
                                  .rq = 2,
                                  .support = {1, 0, 0, 1, 0, 0, 1, 1, -1, 1, 0, 0},
                                  .support_labels = {0, 0, 1},
                                  .query = {3, 0, 0, 2}};

static void expect_dn4(const char *const *pairs, double class0, double class1)
{
    static struct outcome out;
    REQUIRE(run("dn4", pairs, &dense, &out));
    EXPECT_NEAR(out.scores[0], class0, 1e-14);
    EXPECT_NEAR(out.scores[1], class1, 1e-14);
}

TEST(dn4_finds_neighbours_by_the_worked_example)
{
    expect_dn4(NO_PAIRS, 2, 1);                                             /* 1 + 1; 1 + 0 */
    expect_dn4(PAIRS("k", "2"), 1 + 0 + 1 + 1, 1 - 1 + 0 + 0);              /* the two nearest of all */
    expect_dn4(PAIRS("k", "2", "reduce", "mean"), 1.5, 0);                  /* half of that */
    expect_dn4(PAIRS("shots", "average"), sqrt(0.5) + 1, 1);                /* (north-east, north); (west, east) */
    expect_dn4(PAIRS("shots", "per-shot"), ((1 + 1) + (0 + 1)) / 2.0, 1.0); /* unequal shots: the mean over them */
}

TEST(dn4_refuses_more_neighbours_than_there_are)
{
    struct stage s;
    struct head_result r = {0};
    REQUIRE(stage_open(&s, "dn4", DT_F64, 1, 2));
    stage_set(&s, "k", "3");
    struct episode e = {.support = world_constant(&s.w, DIMS(1, 1, 2), NUMBERS(1, 2)),
                        .support_labels = op_labels(s.w.t, (int32_t[]){0}, 1, 1),
                        .query = world_constant(&s.w, DIMS(1, 1, 1), NUMBERS(1)),
                        .way = 1};
    EXPECT(!s.head->forward(s.w.t, s.settings.bytes, s.p, &e, 0, &r));
    EXPECT_STATUS(tape_status(s.w.t), ST_VALUE);
    EXPECT_TEXT(error_text(), "--head.k is 3, but a class has only 2 features to choose from");
    stage_close(&s);
}

/* fc1 = [1 2 | 3 4] + 1, fc2 = 2 - 1; class means (1, 1) and (-3, 0), query (5, 0). */
TEST(relation_compares_class_before_query_by_the_worked_example)
{
    static struct outcome out;
    struct play p = compass;
    const double params[] = {1, 2, 3, 4, 1, 2, -1};
    memcpy(p.params, params, sizeof params);
    REQUIRE(run("relation", NO_PAIRS, &p, &out));
    EXPECT_NEAR(out.scores[0], 2 * (1 + 2 + 15 + 1) - 1, 1e-13);
    EXPECT_NEAR(out.scores[1], 2 * (-3 + 15 + 1) - 1, 1e-13);
    p.query[0] = -5;
    REQUIRE(run("relation", NO_PAIRS, &p, &out));
    EXPECT_NEAR(out.scores[0], -1, 1e-13); /* the hidden number is negative, hence 0 */
}

TEST(relation_refuses_a_single_channel)
{
    struct stage s;
    struct head_result r = {0};
    REQUIRE(stage_open(&s, "relation", DT_F64, 1, 2));
    struct episode e = {.support = world_constant(&s.w, DIMS(1, 1, 1), NUMBERS(1)),
                        .support_labels = op_labels(s.w.t, (int32_t[]){0}, 1, 1),
                        .query = world_constant(&s.w, DIMS(1, 1, 1), NUMBERS(1)),
                        .way = 1};
    EXPECT(!s.head->forward(s.w.t, s.settings.bytes, s.p, &e, 0, &r));
    EXPECT_STATUS(tape_status(s.w.t), ST_SHAPE);
    stage_close(&s);
}

/* Orthogonal shots (2, 0) and (0, 3) of two classes: W = x / (|x|^2 + lambda). */
TEST(r2d2_regresses_by_the_worked_example)
{
    static struct outcome out;
    const struct play p = {.ns = 2,
                           .way = 2,
                           .channels = 2,
                           .rs = 1,
                           .nq = 1,
                           .rq = 1,
                           .support = {2, 0, 0, 3},
                           .support_labels = {0, 1},
                           .query = {1, 2},
                           .params = {5}};
    REQUIRE(run("r2d2", PAIRS("lambda", "6"), &p, &out));
    EXPECT_NEAR(out.scores[0], 5 * 2.0 / (4 + 6), 1e-14);
    EXPECT_NEAR(out.scores[1], 5 * 6.0 / (9 + 6), 1e-14);
}

TEST(r2d2_refuses_weights_on_the_support)
{
    struct stage s;
    REQUIRE(stage_open(&s, "r2d2+mcl", DT_F64, 1, 2));
    EXPECT_STATUS(option_set(s.head->options, "--head.", "pool", "mcl-both", s.settings.bytes), ST_USAGE);
    stage_close(&s);
}

/* Three nodes: two classes and the query between them, all pairs at right angles or 45 degrees. By symmetry 1/2 each;
 * with the query on class 0's direction, the system is solved by hand below. */
TEST(label_prop_spreads_labels_by_the_worked_example)
{
    static struct outcome out;
    struct play p = {.ns = 2,
                     .way = 2,
                     .channels = 2,
                     .rs = 1,
                     .nq = 1,
                     .rq = 1,
                     .support = {1, 0, 0, 1},
                     .support_labels = {0, 1},
                     .query = {1, 1}};
    REQUIRE(run("label-prop", PAIRS("gamma", "2", "factor", "0.5"), &p, &out));
    EXPECT_NEAR(out.scores[0], 0.5, 1e-14);
    p.query[1] = 0;
    REQUIRE(run("label-prop", PAIRS("gamma", "2", "factor", "0.5"), &p, &out));
    /* Nodes 0 and q are alike (edge 1), node 1 is at right angles to both (edge w). z = (I - What/2)^-1 e_q. */
    const double w = exp(-2), d = 1 + w, a = 0.5 / d, b = 0.5 * w / sqrt(d * 2 * w);
    /* z1 = b (z0 + zq), z0 = a zq + b z1: z0 (1 - b^2) = zq (a + b^2) */
    const double z0 = (a + b * b) / (1 - b * b), z1 = b * (z0 + 1);
    EXPECT_NEAR(out.scores[0], z0 / (z0 + z1), 1e-14);
    EXPECT_NEAR(out.loss, -log(z0 / (z0 + z1)), 1e-14);
}

/* Class means (1, 1) and (-3, 0), query (5, 0): cosines sqrt(1/2) and -1. */
TEST(meta_baseline_scales_cosines_by_the_worked_example)
{
    static struct outcome out;
    struct play p = compass;
    p.params[0] = 3;
    REQUIRE(run("meta-baseline", NO_PAIRS, &p, &out));
    EXPECT_NEAR(out.scores[0], 3 * sqrt(0.5), 1e-14);
    EXPECT_NEAR(out.scores[1], -3, 1e-14);
}

/* Class means (1, 1) and (-3, 0), query (5, 0); keys are the means, queries half of them, values and output unchanged. */
TEST(feat_adapts_class_means_by_the_worked_example)
{
    static struct outcome out, more;
    struct play p = compass;
    const double params[] = {0.5, 0, 0, 0.5, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 0.25, -1, 2, 1, 0, 0.5};
    const double mean[2][2] = {{1, 1}, {-3, 0}}, inner[2][2] = {{2, -3}, {-3, 9}};
    memcpy(p.params, params, sizeof params);
    REQUIRE(run("feat", PAIRS("balance", "0", "temperature", "2"), &p, &out));
    for (int c = 0; c < 2; c++) {
        const double e0 = exp(inner[c][0] / 2 / sqrt(2)), e1 = exp(inner[c][1] / 2 / sqrt(2)), a = e0 / (e0 + e1);
        const double x = mean[c][0] + a * mean[0][0] + (1 - a) * mean[1][0] + 0.25;
        const double y = mean[c][1] + a * mean[0][1] + (1 - a) * mean[1][1] - 1;
        const double middle = (x + y) / 2, deviation = sqrt((x - y) * (x - y) / 4 + 1e-5);
        const double u = 2 * (x - middle) / deviation, v = (y - middle) / deviation + 0.5;
        EXPECT_NEAR(out.scores[c], -((5 - u) * (5 - u) + v * v), 1e-12);
    }
    EXPECT_NEAR(out.loss, log1p(exp((out.scores[1] - out.scores[0]) / 2)), 1e-12);
    REQUIRE(run("feat", PAIRS("balance", "0.5", "temperature", "2"), &p, &more));
    EXPECT(more.loss > out.loss && !memcmp(more.scores, out.scores, 2 * sizeof(double)));
}

/* The layer gives nothing but its norm, which takes (x, y) to (s, -s), s = half their difference over its deviation. */
TEST(feat_contrasts_all_pictures_by_the_worked_example)
{
    static struct outcome with, without;
    struct play p = compass;
    const double params[22] = {[18] = 1, [19] = 1};
    const double at[4][2] = {{2, 0}, {0, 2}, {5, 0}, {-3, 0}}; /* the last is of class 1 */
    double s[4], centre[2], wanted = 0;
    memcpy(p.params, params, sizeof params);
    REQUIRE(run("feat", PAIRS("balance", "0"), &p, &without));
    REQUIRE(run("feat", PAIRS("balance", "0.5", "temperature2", "3"), &p, &with));
    for (int i = 0; i < 4; i++) {
        const double half = (at[i][0] - at[i][1]) / 2;
        s[i] = half / sqrt(half * half + 1e-5);
    }
    centre[0] = (s[0] + s[1] + s[2]) / 3;
    centre[1] = s[3];
    for (int i = 0; i < 4; i++) {
        double d[2];
        for (int c = 0; c < 2; c++) d[c] = pow(at[i][0] - centre[c], 2) + pow(at[i][1] + centre[c], 2);
        wanted += log1p(exp((d[i == 3] - d[i != 3]) / 3)) / 4;
    }
    EXPECT_NEAR(with.loss - without.loss, 0.5 * wanted, 1e-12);
}

TEST(gnn_has_the_published_widths)
{
    static const struct {
        const char *name;
        size_t rows, columns;
    } wanted[] = {{"head.enter.weight", 128, 64},   {"head.edge0.0.weight", 192, 133},
                  {"head.edge0.2.weight", 96, 192}, {"head.edge2.0.weight", 192, 229},
                  {"head.grow1.weight", 48, 362},   {"head.last.weight", 5, 458}};
    struct stage s;
    REQUIRE(stage_open(&s, "gnn", DT_F32, 1, 64));
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const struct param *p = params_find(s.p, wanted[i].name);
        REQUIRE(p);
        EXPECT_DIMS(p->value, wanted[i].rows, wanted[i].columns);
    }
    stage_close(&s);
}

TEST(gnn_refuses_more_classes_than_its_labels_have_room_for)
{
    struct stage s;
    struct head_result r = {0};
    REQUIRE(stage_open(&s, "gnn", DT_F64, 1, 2));
    struct episode e = {.support = world_constant(&s.w, DIMS(6, 2, 1), NUMBERS(1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3)),
                        .support_labels = op_labels(s.w.t, (int32_t[]){0, 1, 2, 3, 4, 5}, 6, 6),
                        .query = world_constant(&s.w, DIMS(1, 2, 1), NUMBERS(1, 2)),
                        .way = 6};
    EXPECT(!s.head->forward(s.w.t, s.settings.bytes, s.p, &e, 0, &r));
    EXPECT_STATUS(tape_status(s.w.t), ST_VALUE);
    EXPECT_TEXT(error_text(), "gnn can tell 5 classes apart; this episode has 6");
    stage_close(&s);
}

/* A network that reads labels must give other scores when they are exchanged; a few steps down its gradient must help. */
TEST(gnn_reads_labels_and_learns)
{
    static struct play p, other;
    static struct outcome at, turned;
    struct random r = test_random();
    struct stage s;
    double first = 0;
    REQUIRE(stage_open(&s, "gnn", DT_F64, 2, 4));
    play_random(&p, &s, &r, 2, (size_t[]){3, 3}, 4, 1, 6, 1);
    other = p;
    for (size_t i = 0; i < p.ns; i++) other.support_labels[i] = 1 - p.support_labels[i];
    REQUIRE(stage_run(&s, &p, TAPE_INFERENCE, &at) && stage_run(&s, &other, TAPE_INFERENCE, &turned));
    EXPECT(memcmp(at.scores, turned.scores, 12 * sizeof(double)));
    for (int step = 0; step < 30; step++) {
        REQUIRE(stage_run(&s, &p, TAPE_TRAINING, &at));
        if (!step) first = at.loss;
        for (size_t i = 0; i < stage_param_count(&s); i++) p.params[i] -= 0.02 * at.d_params[i];
    }
    EXPECT(at.loss < 0.9 * first);
    stage_close(&s);
}
