/* mn4.c - which locations of a query count in mn4 and dmn4, worked out by hand on directions in the plane. */
#include "tests/heads/stage.h"
#include "tests/test.h"

static double cosine(double degrees) { return cos(degrees * 0.017453292519943295); }

/* One feature a class: class 0 looks 0 degrees, class 1 looks 30. The query's locations look where `degrees` says. */
static struct play plane(size_t nq, size_t rq, const double *degrees)
{
    struct play p = {.ns = 2,
                     .way = 2,
                     .channels = 2,
                     .rs = 1,
                     .nq = nq,
                     .rq = rq,
                     .support = {2, 0, cosine(30), 0.5},
                     .support_labels = {0, 1}};
    for (size_t n = 0; n < nq; n++)
        for (size_t q = 0; q < rq; q++) {
            p.query[n * 2 * rq + q] = 3 * cosine(degrees[n * rq + q]);
            p.query[n * 2 * rq + rq + q] = 3 * cosine(90 - degrees[n * rq + q]);
        }
    return p;
}

static bool run(const char *head, const char *option, const char *value, const struct play *p, struct outcome *out)
{
    struct stage s;
    if (!stage_open(&s, head, DT_F64, 1, 2)) return false;
    stage_set(&s, "norm", "0");
    if (option) stage_set(&s, option, value);
    const bool ran = stage_run(&s, p, TAPE_TRAINING, out);
    stage_close(&s);
    return ran;
}

static void expect(const char *head, const char *option, const char *value, const struct play *p, double class0,
                   double class1)
{
    static struct outcome out;
    REQUIRE(run(head, option, value, p, &out));
    EXPECT_NEAR(out.scores[0], class0, 1e-14);
    EXPECT_NEAR(out.scores[1], class1, 1e-14);
}

/* -40 is nearest to class 0, but 20, which is nearest to class 1, is nearer to class 0 than -40 is. */
TEST(mn4_keeps_mutual_neighbours_by_the_worked_example)
{
    const struct play p = plane(1, 2, (double[]){-40, 20});
    expect("mn4", NULL, NULL, &p, 2 * cosine(20), 2 * cosine(10));
    expect("mn4", "variant", "released", &p, 2 * (cosine(40) + cosine(20)), 2 * (cosine(70) + cosine(10)));
    expect("mn4", "temperature", "3", &p, 3 * cosine(20), 3 * cosine(10));
}

/* -40 and 5 are nearest to class 0: 5 is nearer to it, -40 farther from class 1. */
TEST(dmn4_keeps_the_location_that_tells_most_by_the_worked_example)
{
    const struct play p = plane(1, 3, (double[]){-40, 20, 5});
    expect("mn4", NULL, NULL, &p, 2 * (cosine(20) + cosine(5)), 2 * (cosine(10) + cosine(25)));
    expect("mn4", "variant", "released", &p, 2 * (cosine(20) + cosine(5)), 2 * (cosine(10) + cosine(25)));
    expect("dmn4", NULL, NULL, &p, 2 * (cosine(40) + cosine(20)), 2 * (cosine(70) + cosine(10)));
    expect("dmn4", "norm", "1", &p, cosine(40) + cosine(20), cosine(70) + cosine(10));
}

TEST(mn4_gives_equal_locations_to_the_first)
{
    const struct play p = plane(1, 2, (double[]){20, 20});
    expect("mn4", NULL, NULL, &p, 2 * cosine(20), 2 * cosine(10));
    expect("mn4", "variant", "released", &p, 2 * cosine(20), 2 * cosine(10));
    expect("dmn4", NULL, NULL, &p, 2 * cosine(20), 2 * cosine(10));
}

/* The first of two that look the same way is kept, and it alone has a gradient. */
TEST(mn4_leaves_the_second_of_equal_locations_without_a_gradient)
{
    static const char *const heads[][3] = {{"mn4", NULL, NULL}, {"mn4", "variant", "released"}, {"dmn4", NULL, NULL}};
    for (size_t i = 0; i < 3; i++) {
        static struct outcome out;
        const struct play p = plane(1, 2, (double[]){20, 20});
        REQUIRE(run(heads[i][0], heads[i][1], heads[i][2], &p, &out));
        EXPECT(out.d_query[0] != 0 && out.d_query[2] != 0);
        EXPECT(out.d_query[1] == 0 && out.d_query[3] == 0);
    }
}

/* Query 0 keeps two locations, query 1 one of two: their losses count 2 to 1. */
TEST(dmn4_weighs_losses_by_the_locations_kept)
{
    static struct outcome out;
    struct play p = plane(2, 2, (double[]){-40, 20, 20, 35});
    p.query_labels[1] = 1;
    REQUIRE(run("dmn4", "norm", "1", &p, &out));
    const double loss0 = log1p(exp(cosine(70) + cosine(10) - cosine(40) - cosine(20)));
    const double loss1 = log1p(exp(2 * (cosine(35) - cosine(5))));
    EXPECT_NEAR(out.scores[3], 2 * cosine(5), 1e-14);
    EXPECT_NEAR(out.loss, (2 * loss0 + loss1) / 3, 1e-14);
}

TEST(dmn4_refuses_a_single_class)
{
    struct stage s;
    struct head_result r = {0};
    REQUIRE(stage_open(&s, "dmn4", DT_F64, 1, 1));
    struct episode e = {.support = world_constant(&s.w, DIMS(1, 1, 1), NUMBERS(1)),
                        .support_labels = op_labels(s.w.t, (int32_t[]){0}, 1, 1),
                        .query = world_constant(&s.w, DIMS(1, 1, 1), NUMBERS(1)),
                        .way = 1};
    EXPECT(!s.head->forward(s.w.t, s.settings.bytes, s.p, &e, 0, &r));
    EXPECT_STATUS(tape_status(s.w.t), ST_VALUE);
    stage_close(&s);
}
