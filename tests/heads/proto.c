/* proto.c - distances to class means, worked out by hand. */
#include "tests/heads/stage.h"
#include "tests/test.h"

/* Class 0 has the pictures (0, 0) and (2, 0), class 1 has (0, 4); the query is (1, 1). One location. */
static const struct play small = {.ns = 3,
                                  .way = 2,
                                  .channels = 2,
                                  .rs = 1,
                                  .nq = 1,
                                  .rq = 1,
                                  .support = {0, 0, 0, 4, 2, 0},
                                  .support_labels = {0, 1, 0},
                                  .query = {1, 1}};

static void expect_small(const char *head, const char *temperature, double loss)
{
    static struct outcome out;
    struct stage s;
    REQUIRE(stage_open(&s, head, DT_F64, 1, 2));
    if (temperature) stage_set(&s, "temperature", temperature);
    if (stage_run(&s, &small, TAPE_TRAINING, &out)) {
        EXPECT_NEAR(out.scores[0], -1, 1e-14);
        EXPECT_NEAR(out.scores[1], -10, 1e-14);
        EXPECT_NEAR(out.loss, loss, 1e-14);
    }
    stage_close(&s);
}

TEST(proto_scores_are_distances_and_the_temperature_is_the_losss)
{
    expect_small("proto", NULL, log1p(exp(-9.0 / 64)));
    expect_small("proto", "1", log1p(exp(-9.0)));
}

TEST(proto_gradient_points_at_the_mean)
{
    static struct outcome out;
    struct stage s;
    REQUIRE(stage_open(&s, "proto", DT_F64, 1, 2));
    if (stage_run(&s, &small, TAPE_TRAINING, &out)) {
        const double g = 1 / (1 + exp(9.0 / 64)); /* of score 1; score 0 has -g */
        const double wanted[] = {g * (2 * 0 - 2 * 1) / 64, g * (2 * 1 - 2 * (1 - 4)) / 64};
        EXPECT_NEAR(out.d_query[0], wanted[0], 1e-15);
        EXPECT_NEAR(out.d_query[1], wanted[1], 1e-15);
    }
    stage_close(&s);
}

/* With one location there is nothing to weigh. */
TEST(proto_with_one_location_does_not_change_by_pooling) { expect_small("proto+mcl", NULL, log1p(exp(-9.0 / 64))); }

TEST(a_head_with_the_plug_in_is_the_head_with_its_option)
{
    static const char *const other[] = {"mean", "mcl-query", "mcl-support"};
    static struct outcome plain, plugged;
    static struct play p;
    struct random r = test_random();
    struct stage a, b;
    REQUIRE(stage_open(&a, "proto", DT_F64, 1, 4));
    REQUIRE(stage_open(&b, "proto+mcl", DT_F64, 1, 4));
    play_random(&p, &a, &r, 2, (size_t[]){1, 2}, 4, 5, 3, 6);
    stage_set(&a, "pool", "mcl-both");
    if (stage_run(&a, &p, TAPE_TRAINING, &plain) && stage_run(&b, &p, TAPE_TRAINING, &plugged)) {
        EXPECT(!memcmp(plain.scores, plugged.scores, 6 * sizeof(double)));
        EXPECT(!memcmp(plain.d_query, plugged.d_query, play_query_count(&p) * sizeof(double)));
    }
    for (int i = 0; i < 3; i++) {
        stage_set(&a, "pool", other[i]);
        if (stage_run(&a, &p, TAPE_INFERENCE, &plain)) EXPECT(memcmp(plain.scores, plugged.scores, 6 * sizeof(double)));
    }
    stage_close(&a);
    stage_close(&b);
}
