/* ctx.c - attention over a class worked out by hand, and how its maps start. */
#include "tests/heads/stage.h"
#include "tests/test.h"

/* One channel; only the first of 128 rows of each map counts. Class 0 has the features 0 and ln 3, class 1 has 0 twice, and
 * query location q attends to feature s with weight exp(q s). */
static const struct play attention = {.ns = 2,
                                      .way = 2,
                                      .channels = 1,
                                      .rs = 2,
                                      .nq = 1,
                                      .rq = 2,
                                      .support = {0, 1.0986122886681098, 0, 0},
                                      .support_labels = {0, 1},
                                      .query = {1, 0}};

static void expect_scores(const char *variant, const char *tie, double key, double query, double wanted0,
                          double wanted1)
{
    static struct outcome out;
    struct stage s;
    struct play p = attention;
    p.params[0] = key;
    p.params[128] = query;
    p.params[256] = 1;
    REQUIRE(stage_open(&s, "ctx", DT_F64, 1, 1));
    stage_set(&s, "variant", variant);
    stage_set(&s, "tie", tie);
    if (stage_run(&s, &p, TAPE_TRAINING, &out)) {
        EXPECT_NEAR(out.scores[0], wanted0, 1e-14);
        EXPECT_NEAR(out.scores[1], wanted1, 1e-14);
    }
    stage_close(&s);
}

TEST(ctx_attends_by_the_worked_example)
{
    const double l = log(3), t0 = 0.75 * l, t1 = 0.5 * l; /* weights 1/4 and 3/4 for q = 1, halves for q = 0 */
    const double root = sqrt(128), fourth = sqrt(root);
    expect_scores("intended", "0", 1, root, -((t0 - 1) * (t0 - 1) + t1 * t1) / 2, -0.5);
    expect_scores("intended", "1", fourth, 99, -((t0 - 1) * (t0 - 1) + t1 * t1) / 2, -0.5);
    /* read untransposed, all that is not 0 in the values is the first number of the first row */
    expect_scores("released", "0", 1, root, -((t0 - 1) * (t0 - 1) + t0 * t0 + (t1 - 1) * (t1 - 1) + t1 * t1) / 4, -0.5);
}

TEST(ctx_starts_its_maps_as_wide_as_the_channels_say)
{
    enum { CHANNELS = 9 };
    struct stage s;
    double value[128 * CHANNELS], most = 0;
    REQUIRE(stage_open(&s, "ctx", DT_F64, 1, CHANNELS));
    for (size_t i = 0; i < 3; i++) {
        REQUIRE(world_read(&s.w, &params_at(s.p, i)->value, value));
        for (size_t k = 0; k < 128 * CHANNELS; k++) most = fmax(most, fabs(value[k]));
    }
    EXPECT(most > 0.99 / 3 && most <= 1.0 / 3);
    stage_close(&s);
}
