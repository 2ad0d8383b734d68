/* mcl_ridge.c - the regression and the walk of mcl-ridge, each worked out by hand, and what their sum must not depend on. */
#include "tests/heads/stage.h"
#include "tests/test.h"

/* One place and four channels, so that e is 0.4 / 2; the shots of two classes look along the first two. */
static const struct play axes = {.ns = 2,
                                 .way = 2,
                                 .channels = 4,
                                 .rs = 1,
                                 .nq = 1,
                                 .rq = 1,
                                 .support = {2, 0, 0, 0, 0, -3, 0, 0},
                                 .support_labels = {0, 1},
                                 .query = {6, -8, 0, 0}};

static bool run(const char *scale, const char *walk, const struct play *p, struct outcome *out)
{
    struct stage s;
    if (!stage_open(&s, "mcl-ridge", DT_F64, 1, p->channels)) return false;
    stage_set(&s, "lambda", "0.25");
    stage_set(&s, "gamma", "5");
    stage_set(&s, "scale", scale);
    stage_set(&s, "walk", walk);
    const bool ran = stage_run(&s, p, TAPE_TRAINING, out);
    stage_close(&s);
    return ran;
}

/* Shots are orthogonal unit vectors, so a class has cos(query, shot) / (1 + lambda), after roots and signs. */
TEST(mcl_ridge_regresses_on_roots_by_the_worked_example)
{
    static struct outcome out;
    const double first = sqrt(0.6 + 0.2) - sqrt(0.2), second = sqrt(0.8 + 0.2) - sqrt(0.2);
    const double length = sqrt(first * first + second * second);
    REQUIRE(run("3", "0", &axes, &out));
    EXPECT_NEAR(out.scores[0], 3 * first / length / 1.25, 1e-14);
    EXPECT_NEAR(out.scores[1], 3 * second / length / 1.25, 1e-14);
    EXPECT_NEAR(out.loss, log1p(exp(out.scores[1] - out.scores[0])), 1e-14);
}

/* From a single place a walk has one way to leave: its masses are the softmax of gamma cos. */
TEST(mcl_ridge_adds_the_logarithm_of_the_walk)
{
    static struct outcome out;
    const double all = log(exp(5 * 0.6) + exp(5 * 0.8));
    REQUIRE(run("0", "2", &axes, &out));
    EXPECT_NEAR(out.scores[0], 2 * (5 * 0.6 - all), 1e-13);
    EXPECT_NEAR(out.scores[1], 2 * (5 * 0.8 - all), 1e-13);
}

TEST(mcl_ridge_is_the_sum_of_both)
{
    static struct outcome regression, walk, both;
    static struct play p;
    struct random r = test_random();
    struct stage s;
    REQUIRE(stage_open(&s, "mcl-ridge", DT_F64, 1, 6));
    play_random(&p, &s, &r, 3, (size_t[]){2, 1, 3}, 6, 4, 5, 3);
    stage_close(&s);
    REQUIRE(run("3", "0", &p, &regression) && run("0", "2", &p, &walk) && run("3", "2", &p, &both));
    for (size_t i = 0; i < p.nq * p.way; i++) EXPECT_NEAR(both.scores[i], regression.scores[i] + walk.scores[i], 1e-12);
}

/* Lengths of single shots and of queries do not matter, nor on which side of zero a channel lies. */
TEST(mcl_ridge_looks_at_directions_and_at_no_sign)
{
    static struct outcome before, after;
    static struct play p;
    struct random r = test_random();
    struct stage s;
    REQUIRE(stage_open(&s, "mcl-ridge", DT_F64, 1, 6));
    play_random(&p, &s, &r, 3, (size_t[]){1, 1, 1}, 6, 4, 5, 3);
    stage_close(&s);
    REQUIRE(run("3", "2", &p, &before));
    for (size_t i = 0; i < play_support_count(&p); i++) p.support[i] *= i / 4 % 6 == 2 ? -100 : 100;
    for (size_t i = 0; i < play_query_count(&p); i++) p.query[i] *= i / 3 % 6 == 2 ? -0.01 : 0.01;
    REQUIRE(run("3", "2", &p, &after));
    for (size_t i = 0; i < p.nq * p.way; i++) EXPECT_NEAR(after.scores[i], before.scores[i], 1e-10);
}
