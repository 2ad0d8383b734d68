/* solved.c - heads that solve a small problem for each episode, dsn and metaopt: worked examples, and input that leaves
 * nothing to solve. */
#include "tests/heads/stage.h"
#include "tests/test.h"

static bool run(const char *head, const char *option, const char *value, const struct play *p, struct outcome *out)
{
    struct stage s;
    if (!stage_open(&s, head, DT_F64, 1, p->channels)) return false;
    if (option) stage_set(&s, option, value);
    const bool ran = stage_run(&s, p, TAPE_TRAINING, out);
    stage_close(&s);
    return ran;
}

/* Class 0 has the shots (0, 0) and (2, 0), class 1 has (0, 3). The query is (5, 1). */
static const struct play plane = {.ns = 3,
                                  .way = 2,
                                  .channels = 2,
                                  .rs = 1,
                                  .nq = 1,
                                  .rq = 1,
                                  .support = {0, 0, 0, 3, 2, 0},
                                  .support_labels = {0, 1, 0},
                                  .query = {5, 1},
                                  .params = {2}};

TEST(dsn_measures_to_the_affine_hull_by_the_worked_example)
{
    static struct outcome out;
    REQUIRE(run("dsn", NULL, NULL, &plane, &out));
    EXPECT_NEAR(out.scores[0], -2 * 1 / 2.0, 1e-14);        /* beside the line y = 0 */
    EXPECT_NEAR(out.scores[1], -2 * (25 + 4) / 2.0, 1e-13); /* a single shot is a point */
    REQUIRE(run("dsn", "sqrt", "1", &plane, &out));
    EXPECT_NEAR(out.scores[0], -2, 1e-11);
    EXPECT_NEAR(out.scores[1], -2 * sqrt(29), 1e-11);
}

TEST(dsn_with_one_shot_each_measures_to_the_shots)
{
    static struct outcome out;
    struct play p = plane;
    p.ns = 2; /* (0, 0) and (0, 3) */
    REQUIRE(run("dsn", "lamb", "1", &p, &out));
    EXPECT_NEAR(out.scores[0], -2 * (25 + 1) / 2.0, 1e-13);
    EXPECT_NEAR(out.scores[1], -2 * (25 + 4) / 2.0, 1e-13);
    EXPECT_NEAR(out.loss, log1p(exp(out.scores[1] - out.scores[0])), 1e-13); /* points have no overlap */
    EXPECT_NEAR(out.d_query[0], 0, 1e-13);                                   /* both are as far to the left */
}

TEST(dsn_without_centring_keeps_all_directions_but_the_last)
{
    static struct outcome out;
    struct play p = plane;
    p.support[0] = 1.5;
    p.support[1] = 1; /* class 0: (1.5, 1) and (2, 0); its first direction by hand */
    const double a = 1.5 * 1.5 + 4, b = 1.5, d = 1, tilt = 0.5 * atan2(2 * b, a - d), rest = sin(tilt) * 5 - cos(tilt);
    REQUIRE(run("dsn", "center", "0", &p, &out));
    EXPECT_NEAR(out.scores[0], -2 * rest * rest / 2, 1e-13);
    EXPECT_NEAR(out.scores[1], -2 * 25 / 2.0, 1e-13); /* a single shot spans a line */
}

TEST(dsn_weighs_the_overlap_of_the_subspaces)
{
    static struct outcome plain, pushed;
    struct play p = plane;
    REQUIRE(run("dsn", "center", "0", &p, &plain));
    struct stage s;
    REQUIRE(stage_open(&s, "dsn", DT_F64, 1, 2));
    stage_set(&s, "center", "0");
    stage_set(&s, "lamb", "0.5");
    p.support[2] = 3; /* class 1 now points to (3, 3): half of it lies in the other line, twice counted */
    REQUIRE(stage_run(&s, &p, TAPE_TRAINING, &pushed));
    stage_close(&s);
    REQUIRE(run("dsn", "center", "0", &p, &plain));
    EXPECT_NEAR(pushed.loss - plain.loss, 0.5 * 2 * 0.5, 1e-13);
}

static void expect_finite(const struct outcome *o, const struct play *p)
{
    for (size_t i = 0; i < p->nq * p->way; i++) EXPECT(isfinite(o->scores[i]));
    for (size_t i = 0; i < play_support_count(p); i++) EXPECT(isfinite(o->d_support[i]));
    for (size_t i = 0; i < play_query_count(p); i++) EXPECT(isfinite(o->d_query[i]));
}

/* Equal shots span nothing, shots of zeros neither, and with one class there is nothing to tell apart. */
TEST(solving_heads_answer_where_shots_coincide_or_vanish)
{
    static const char *const heads[] = {"dsn", "dsn+mcl", "metaopt", "metaopt+mcl"};
    static struct outcome out;
    for (size_t i = 0; i < 4; i++)
        for (int variant = 0; variant < 3; variant++) {
            struct play p = plane;
            for (size_t k = 0; k < 6; k++) p.support[k] = variant == 1 ? 0 : 1;
            if (variant == 2) {
                p.way = 1;
                p.support_labels[1] = 0;
            }
            REQUIRE(run(heads[i], NULL, NULL, &p, &out));
            expect_finite(&out, &p);
            if (heads[i][0] == 'd') REQUIRE(run(heads[i], "center", "0", &p, &out));
            else REQUIRE(run(heads[i], "iterations", "3", &p, &out));
            expect_finite(&out, &p);
        }
}

TEST(dsn_with_equal_shots_measures_to_their_point)
{
    static struct outcome out;
    struct play p = plane;
    p.support[0] = 2; /* both shots of class 0 are (2, 0) */
    REQUIRE(run("dsn", NULL, NULL, &p, &out));
    EXPECT_NEAR(out.scores[0], -2 * (9 + 1) / 2.0, 1e-13);
}

TEST(solving_heads_refuse_features_that_are_not_finite)
{
    static const char *const heads[] = {"dsn", "metaopt"};
    for (size_t i = 0; i < 2; i++) {
        struct stage s;
        struct head_result r = {0};
        REQUIRE(stage_open(&s, heads[i], DT_F32, 1, 2));
        struct episode e = {.support = world_constant(&s.w, DIMS(3, 2, 1), NUMBERS(NAN, 2, 1, 1, 3, 4)),
                            .support_labels = op_labels(s.w.t, (int32_t[]){0, 1, 1}, 3, 2),
                            .query = world_constant(&s.w, DIMS(1, 2, 1), NUMBERS(1, 1)),
                            .way = 2};
        EXPECT(!s.head->forward(s.w.t, s.settings.bytes, s.p, &e, 0, &r));
        EXPECT_STATUS(tape_status(s.w.t), ST_NUMERIC);
        stage_close(&s);
    }
}

/* Orthogonal shots (2, 0) and (0, 3): each row of the dual is (t, -t) with (|x|^2 + 1) t^2 - t least, t at most C. */
TEST(metaopt_solves_the_worked_example)
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
    REQUIRE(run("metaopt", "C", "1", &p, &out));
    EXPECT_NEAR(out.scores[0], 5 * (0.1 * 2 - 0.05 * 6), 1e-13);
    EXPECT_NEAR(out.scores[1], -5 * (0.1 * 2 - 0.05 * 6), 1e-13);
    REQUIRE(run("metaopt", "C", "0.06", &p, &out)); /* the first is at its bound */
    EXPECT_NEAR(out.scores[0], 5 * (0.06 * 2 - 0.05 * 6), 1e-13);
}

TEST(metaopt_is_right_for_features_of_any_size)
{
    static const double sizes[] = {1e-6, 1e-2, 1, 1e2, 1e4};
    static struct outcome at, up, down;
    struct random r = test_random();
    for (size_t k = 0; k < 5; k++) {
        struct stage s;
        static struct play p, high, low;
        const double step = 1e-6;
        double slope = 0;
        REQUIRE(stage_open(&s, "metaopt", DT_F64, 1, 6));
        play_random(&p, &s, &r, 3, (size_t[]){4, 2, 3}, 6, 1, 4, 1);
        for (size_t i = 0; i < play_support_count(&p); i++) p.support[i] *= sizes[k];
        p.params[0] = 1 / sizes[k] / sizes[k];
        for (size_t i = 0; i < play_query_count(&p); i++) p.query[i] *= sizes[k];
        REQUIRE(stage_run(&s, &p, TAPE_TRAINING, &at));
        high = low = p;
        for (size_t i = 0; i < play_support_count(&p); i++) {
            const double direction = sizes[k] * random_normal(&r);
            high.support[i] += step * direction;
            low.support[i] -= step * direction;
            slope += direction * at.d_support[i];
        }
        REQUIRE(stage_run(&s, &high, TAPE_INFERENCE, &up) && stage_run(&s, &low, TAPE_INFERENCE, &down));
        EXPECT_NEAR(slope, (up.loss - down.loss) / (2 * step), 1e-5 * (1 + fabs(slope)));
        stage_close(&s);
    }
}
