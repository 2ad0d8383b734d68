/* calibrate.c - what is learned from the known pictures: familiarity and temperature. */
#include "api/classifier.h"
#include "tests/api/own.h"
#include "tests/test.h"
#include <stdlib.h>

TEST(familiarity_is_the_part_of_left_out_pictures_below)
{
    double score[] = {0.2, 0.4, 0.5, 0.6, 0.8};
    struct calibration k = {.score = score, .count = 5, .temperature = 1};
    calibration_measure(&k);
    EXPECT_NEAR(k.mean, 0.5, 1e-15);
    EXPECT_NEAR(k.spread, sqrt(0.2 / 4), 1e-15);
    EXPECT_NEAR(calibration_rank(&k, 0.5), 0.5, 1e-12);
    /* t = -0.6 / (0.2236 sqrt(1.2)) = -2.4495 with 4 degrees */
    EXPECT_NEAR(calibration_rank(&k, -0.1), 0.03524, 1e-4);
    EXPECT(calibration_rank(&k, 0.3) < calibration_rank(&k, 0.31));
    EXPECT(isnan(calibration_rank(&(struct calibration){.temperature = 1}, 0.5)));
}

TEST(equal_pictures_do_not_make_all_others_strange)
{
    double score[] = {1, 1, 1, 1};
    struct calibration k = {.score = score, .count = 4, .temperature = 1};
    calibration_measure(&k);
    EXPECT_NEAR(k.spread, 0.01, 0);
    EXPECT(calibration_rank(&k, 0.99) > 0.05);
}

TEST(a_temperature_keeps_the_order_and_the_sum)
{
    const double start[] = {0.1, 0.5, 0, 0.25, 0.15};
    static const double temperatures[] = {0.2, 0.7, 1, 3};
    for (size_t i = 0; i < 4; i++) {
        double p[5], sum = 0;
        memcpy(p, start, sizeof p);
        calibration_temper(temperatures[i], p, 5);
        for (size_t c = 0; c < 5; c++) sum += p[c];
        EXPECT_NEAR(sum, 1, 1e-12);
        EXPECT(p[1] > p[3] && p[3] > p[4] && p[4] > p[0] && p[0] > p[2] && p[2] == 0);
        EXPECT((temperatures[i] < 1) == (p[1] > 0.5 + 1e-9));
        EXPECT_NEAR(log(p[1] / p[3]), log(2) / temperatures[i], 1e-12);
    }
}

/* Of the cosines of a known picture's places the better half counts; a picture is entirely in itself. */
TEST(likeness_is_the_better_half_of_known_places)
{
    struct own o;
    enum { C = 2, L = 4 };
    /* places of the known picture: (1,0) (0,1) (-1,0) (0,-1); the query has (1,0) in all four */
    const float known[C * L] = {1, 0, -1, 0, 0, 1, 0, -1}, query[C * L] = {1, 1, 1, 1, 0, 0, 0, 0};
    const int32_t labels[] = {0};
    const struct rows rows = {known, labels, 1, 1, C, L};
    const size_t class[] = {0};
    float like[2] = {0};
    REQUIRE(own_open(&o, NULL, 1));
    EXPECT_OK(classifier_likeness(o.classifier, &rows, query, 1, class, like));
    EXPECT_NEAR(like[0], 0.5, 1e-6); /* cosines 1, 0, -1, 0: the better two */
    EXPECT_OK(classifier_likeness(o.classifier, &rows, known, 1, class, like));
    EXPECT_NEAR(like[0], 1, 1e-6);
    own_close(&o);
}

static double cosine(const float *a, const float *b, size_t channels, size_t step)
{
    double dot = 0, aa = 0, bb = 0;
    for (size_t c = 0; c < channels * step; c += step) {
        dot += (double)a[c] * (double)b[c];
        aa += (double)a[c] * (double)a[c];
        bb += (double)b[c] * (double)b[c];
    }
    return dot / sqrt(aa * bb);
}

/* Each query meets the pictures of its own class, whatever class its neighbours are of; the rest is not looked at. */
TEST(likeness_is_asked_of_the_own_class_alone)
{
    struct own o;
    enum { C = 5, L = 2, EACH = C * L, KNOWN = 6, QUERIES = 40 };
    float known[KNOWN * EACH], query[QUERIES * EACH], like[QUERIES * KNOWN];
    const int32_t labels[KNOWN] = {0, 0, 1, 2, 2, 2};
    const struct rows rows = {known, labels, KNOWN, 3, C, L};
    size_t class[QUERIES];
    struct random r = test_random();
    REQUIRE(own_open(&o, NULL, 1));
    for (size_t i = 0; i < KNOWN * EACH; i++) known[i] = (float)random_normal(&r);
    for (size_t i = 0; i < QUERIES * EACH; i++) query[i] = (float)random_normal(&r);
    for (size_t i = 0; i < QUERIES; i++) class[i] = i % 5 == 4 ? 0 : 2; /* none of class 1 */
    for (size_t i = 0; i < QUERIES * KNOWN; i++) like[i] = NAN;
    EXPECT_OK(classifier_likeness(o.classifier, &rows, query, QUERIES, class, like));
    for (size_t i = 0; i < QUERIES; i++)
        for (size_t k = 0; k < KNOWN; k++) {
            double best = -1; /* of two places the better one counts */
            for (size_t place = 0; place < L * L; place++)
                best = fmax(best, cosine(query + i * EACH + place / L, known + k * EACH + place % L, C, L));
            if ((size_t)labels[k] == class[i]) EXPECT_NEAR(like[i * KNOWN + k], best, 1e-6);
            else EXPECT(isnan(like[i * KNOWN + k]));
        }
    own_close(&o);
}

TEST(left_out_pictures_are_compared_with_the_others_only)
{
    struct own o;
    REQUIRE(own_open(&o, NULL, 1) && own_fill(&o, 3, 3, 1));
    EXPECT_OK((status)centra_support_calibrate(o.support, o.classifier));
    EXPECT_INT(o.support->calibration.count, 9);
    for (size_t i = 0; i < 9; i++) EXPECT(o.support->calibration.score[i] < 0.9999); /* 1 would be itself */
    own_close(&o);
}

TEST(a_strange_picture_is_less_familiar)
{
    struct own o;
    struct random r = test_random();
    centra_picture known = own_picture(0, 50, 100, 100), strange = own_picture(0, 51, 100, 100);
    centra_guess g[2];
    REQUIRE(own_open(&o, NULL, 2) && own_fill(&o, 3, 5, 1));
    for (size_t i = 0; i < 100 * 100 * 3; i++) strange.rgb[i] = (unsigned char)random_below(&r, 256);
    EXPECT_OK((status)centra_support_calibrate(o.support, o.classifier));
    EXPECT_OK((status)centra_classify(o.classifier, o.support, &known, 1, NULL, &g[0]));
    EXPECT_OK((status)centra_classify(o.classifier, o.support, &strange, 1, NULL, &g[1]));
    EXPECT(g[0].familiarity > 0.05);
    EXPECT(g[1].familiarity < 0.05);
    centra_picture_free(&known);
    centra_picture_free(&strange);
    own_close(&o);
}

TEST(a_calibration_holds_for_its_head_alone)
{
    struct own o;
    centra_classifier *other = NULL;
    const centra_option beta = {"beta", "11"};
    const centra_classifier_options options = {.head_options = &beta, .head_option_count = 1};
    centra_guess g;
    centra_picture q = own_picture(0, 50, 100, 100);
    REQUIRE(own_open(&o, NULL, 1) && own_fill(&o, 2, 3, 1));
    EXPECT_OK((status)centra_support_calibrate(o.support, o.classifier));
    EXPECT_OK((status)centra_classifier_new(o.session, o.model, &options, &other));
    EXPECT(centra_support_calibrated(o.support, o.classifier) && !centra_support_calibrated(o.support, other));
    EXPECT_OK((status)centra_classify(other, o.support, &q, 1, NULL, &g));
    EXPECT(isnan(g.familiarity));
    centra_classifier_free(other);
    centra_picture_free(&q);
    own_close(&o);
}

TEST(calibration_survives_missing_memory)
{
    struct own o;
    REQUIRE(own_open(&o, NULL, 1) && own_fill(&o, 2, 2, 1));
    EXPECT_OK((status)centra_support_calibrate(o.support, o.classifier));
    const double mean = o.support->calibration.mean;
    for (size_t n = 1; n < 100; n++) {
        alloc_fail_at(n);
        const centra_status st = centra_support_calibrate(o.support, o.classifier);
        const bool failed = alloc_did_fail();
        alloc_fail_at(0);
        if (!failed) break;
        EXPECT_STATUS((status)st, ST_MEMORY);
        EXPECT(o.support->calibration.mean == mean); /* the old one is still there */
    }
    own_close(&o);
}
