/* interval.c - Student's quantiles against values computed with 30 digits, and intervals of means. */
#include "eval/interval.h"
#include "tests/heads/case.h"
#include "tests/test.h"

TEST(student_quantile_is_right_from_the_middle_to_far_tails)
{
    static const struct {
        double p, degrees, t;
    } known[] = {
        {0.975, 1, 12.706204736174693},       {0.975, 2, 4.3026527297494618},     {0.975, 9, 2.262157162798205},
        {0.975, 49, 2.0095752371292393},      {0.975, 199, 1.9719565442517534},   {0.975, 999, 1.9623414611334496},
        {0.975, 9999, 1.9602012636213573},    {0.975, 1e6, 1.9599663568141067},   {0.95, 3.5, 2.2224334936496007},
        {0.500001, 7, 2.5974602757236802e-6}, {0.6, 0.5, 0.39797542678479059},    {0.75, 1e5, 0.67449220355329221},
        {0.9, 1e12, 1.2815515655454472},      {0.999999, 30, 5.8711171204086238}, {1e-300, 3, -1.0331108360446529e+100},
        {1e-12, 10, -40.532096178662597},     {0.99, 0.2, 75082859.345829684}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        EXPECT_NEAR(student_quantile(known[i].p, known[i].degrees) / known[i].t, 1, 1e-10);
}

TEST(student_quantile_is_odd_and_has_its_ends)
{
    EXPECT(student_quantile(0.5, 4) == 0);
    EXPECT(student_quantile(0.25, 4) == -student_quantile(0.75, 4));
    EXPECT(isinf(student_quantile(1, 4)) && student_quantile(1, 4) > 0);
    EXPECT(isinf(student_quantile(0, 4)) && student_quantile(0, 4) < 0);
    EXPECT(isnan(student_quantile(1.1, 4)) && isnan(student_quantile(0.9, 0)) &&
           isnan(student_quantile((double)NAN, 1)));
    for (double p = 0.51; p < 0.99; p += 0.01) EXPECT(student_quantile(p, 6) < student_quantile(p + 0.01, 6));
}

TEST(student_below_undoes_the_quantile)
{
    static const double degrees[] = {0.5, 1, 3, 24, 1000};
    for (size_t i = 0; i < 5; i++)
        for (int k = 1; k < 100; k++) {
            const double p = k / 100.0;
            EXPECT_NEAR(student_below(student_quantile(p, degrees[i]), degrees[i]), p, 1e-9);
        }
    EXPECT_NEAR(student_below(student_quantile(1e-12, 10), 10) / 1e-12, 1, 1e-8);
    EXPECT(student_below(-(double)INFINITY, 3) == 0 && student_below((double)INFINITY, 3) == 1);
    EXPECT(isnan(student_below((double)NAN, 3)) && isnan(student_below(1, 0)));
}

TEST(interval_is_that_of_known_numbers)
{
    const double x[] = {1, 2, 3, 4}, other[] = {0, 0, 1, 1}, far[] = {1e9 + 1, 1e9 + 2, 1e9 + 3, 1e9 + 4};
    struct interval i = interval_of(x, 4, 0.95);
    EXPECT_INT(i.count, 4);
    EXPECT_NEAR(i.mean, 2.5, 1e-15);
    EXPECT_NEAR(i.half, 3.1824463052837078 * sqrt(5.0 / 3 / 4), 1e-12);
    EXPECT_NEAR(interval_of(x, 4, 0.99).half, 5.8409093097333553 * sqrt(5.0 / 3 / 4), 1e-10);
    EXPECT_NEAR(interval_of(far, 4, 0.95).half, i.half, 1e-12);
    struct interval d = interval_of_difference(x, other, 4, 0.95); /* 1 2 2 3 */
    EXPECT_NEAR(d.mean, 2, 1e-15);
    EXPECT_NEAR(d.half, 3.1824463052837078 * sqrt(2.0 / 3 / 4), 1e-12);
    EXPECT(interval_of_difference(x, x, 4, 0.95).half == 0);
}

TEST(interval_of_too_few_values_is_not_a_number)
{
    const double one = 0.25;
    struct interval i = interval_of(&one, 1, 0.95);
    EXPECT(i.mean == 0.25 && isnan(i.half));
    i = interval_of(&one, 0, 0.95);
    EXPECT(isnan(i.mean) && isnan(i.half) && i.count == 0);
}

/* The recorded half width was made with a quantile that is right to 1.3e-9 only (2.00957523449 for 49 degrees, where 30
 * digits give 2.00957523713), so it is compared no closer than that. */
static void check_interval(const struct golden *g)
{
    struct npy x = {0}, half = {0};
    if (g->type == DT_F64 && golden_read(g, "accuracies.npy", &x) && golden_read(g, "half_width.npy", &half)) {
        const struct interval i = interval_of(x.data, x.count, golden_number(g, "confidence", 0));
        golden_expect(g, "mean.npy", &i.mean, 1);
        EXPECT_NEAR(i.half / *(double *)half.data, 1, 2e-9);
        golden_expect_only(g, (const char *[]){"mean.npy", "half_width.npy", NULL});
    }
    npy_free(&x);
    npy_free(&half);
}

TEST(interval_equals_the_recorded_one) { for_golden("confidence_interval", check_interval); }
