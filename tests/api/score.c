/* score.c - centra_head_score: worked values, labels of any kind, results that do not depend on what else is wanted. */
#include "tests/api/sample.h"
#include "tests/test.h"

static const double query[] = {4, 7, 3, 24};                   /* [1, 2, 2] */
static const double two_classes[] = {1, 3, 0, 4, 0, -3, 2, 4}; /* [2, 2, 2] */

static centra_status score_small(const char *head, const centra_option *options, size_t count, const centra_episode *e,
                                 const centra_result *r)
{
    struct desk d = {0};
    centra_status st = centra_session_open(&(centra_session_options){.threads = 1}, &d.session);
    if (st == CENTRA_OK) st = centra_head_new(d.session, head, options, count, &d.head);
    if (st == CENTRA_OK) st = centra_head_score(d.head, e, r);
    desk_close(&d);
    return st;
}

TEST(score_gives_the_worked_example)
{
    const centra_option sharp[] = {{"gamma", "2"}, {"beta", "1"}};
    const int64_t labels[] = {0, 1}, wanted[] = {0};
    double scores[2], loss, support[4], queries[2];
    const centra_episode e = {CENTRA_F64, 2, 2, 2, two_classes, labels, 1, 2, query, wanted};
    const centra_result r = {
        .scores = scores, .loss = &loss, .centrality_support = support, .centrality_query = queries};
    static const struct { /* without a walk back pi(q) is the mean of B's columns */
        const char *head;
        double prob, pi_query;
    } cases[] = {{"mcl", 0.5854711045, 0.4835975342},
                 {"mcl-katz", 0.5862676640, 0.4782782536},
                 {"mcl-exact", 0.5854714224, 0.4836095946},
                 {"unidirectional", 0.5901086887, 0.4746126845}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        EXPECT_OK((status)score_small(cases[i].head, sharp, 2, &e, &r));
        EXPECT_NEAR(scores[0], cases[i].prob, 1e-10);
        EXPECT_NEAR(scores[1], 1 - cases[i].prob, 1e-10);
        EXPECT_NEAR(loss, -log(scores[0]), 1e-12);
        EXPECT_NEAR(support[0] + support[1], scores[0], 1e-12);
        EXPECT_NEAR(queries[0], cases[i].pi_query, 1e-10);
        EXPECT_NEAR(queries[0] + queries[1], 1, 1e-12);
    }
}

/* Two shots of 1000 and one of the least label there is, in mixed order. */
TEST(score_takes_any_labels_in_any_order)
{
    const double support[] = {2, 3, 0, 4, 0, -3, 2, 4, 0, 1, 1, 0}; /* [3, 2, 2] */
    const double averaged[] = {1, 2, 0.5, 2, 0, -3, 2, 4};
    const int64_t labels[] = {1000, INT64_MIN, 1000}, plain[] = {1, 0}, label[] = {1000}, plain_label[] = {1};
    double scores[2], wanted[2], loss, wanted_loss, grad[12], wanted_grad[8];
    int64_t classes[2];
    size_t way;
    const centra_episode e = {CENTRA_F64, 2, 3, 2, support, labels, 1, 2, query, label};
    const centra_episode f = {CENTRA_F64, 2, 2, 2, averaged, plain, 1, 2, query, plain_label};
    EXPECT_OK((status)centra_episode_way(&e, &way));
    EXPECT_INT(way, 2);
    EXPECT_OK((status)score_small(
        "mcl-katz", NULL, 0, &e,
        &(centra_result){.labels = classes, .scores = scores, .loss = &loss, .grad_support = grad}));
    EXPECT_OK(
        (status)score_small("mcl-katz", NULL, 0, &f,
                            &(centra_result){.scores = wanted, .loss = &wanted_loss, .grad_support = wanted_grad}));
    EXPECT(classes[0] == INT64_MIN && classes[1] == 1000);
    for (int i = 0; i < 2; i++) EXPECT_NEAR(scores[i], wanted[i], 1e-14);
    EXPECT_NEAR(loss, wanted_loss, 1e-14);
    EXPECT_NEAR(loss, -log(scores[1]), 1e-14);
    for (int i = 0; i < 4; i++) {
        EXPECT_NEAR(grad[i], wanted_grad[i] / 2, 1e-13);
        EXPECT_NEAR(grad[8 + i], wanted_grad[i] / 2, 1e-13);
        EXPECT_NEAR(grad[4 + i], wanted_grad[4 + i], 1e-13);
    }
}

TEST(score_with_one_class_is_certain)
{
    const int64_t label[] = {42, 42};
    double scores[1], loss, grad[4];
    int64_t classes[1];
    const centra_episode e = {CENTRA_F64, 2, 2, 2, two_classes, label, 1, 2, query, label};
    EXPECT_OK((status)score_small(
        "mcl", NULL, 0, &e, &(centra_result){.labels = classes, .scores = scores, .loss = &loss, .grad_query = grad}));
    EXPECT_INT(classes[0], 42);
    EXPECT_NEAR(scores[0], 1, 1e-12);
    EXPECT_NEAR(loss, 0, 1e-12);
    for (int i = 0; i < 4; i++) EXPECT_NEAR(grad[i], 0, 1e-12);
}

/* Each result alone, and all together: the same bits, and nothing that was not asked for is touched. */
TEST(score_gives_each_result_alone_as_together)
{
    const struct sample_shape shape = {4, 2, 5, 9, 6, CENTRA_F32};
    struct desk d;
    struct sample all, one;
    REQUIRE(desk_open(&d, "mcl", NULL, 2));
    REQUIRE(sample_make(&shape, 1, &all) && sample_make(&shape, 1, &one));
    EXPECT_OK((status)centra_head_score(d.head, &all.e, &all.r));
    const centra_result wants[] = {{.labels = one.r.labels},
                                   {.scores = one.r.scores},
                                   {.loss = one.r.loss},
                                   {.grad_support = one.r.grad_support},
                                   {.grad_query = one.r.grad_query},
                                   {.centrality_support = one.r.centrality_support},
                                   {.centrality_query = one.r.centrality_query}};
    for (size_t i = 0; i < sizeof wants / sizeof *wants; i++)
        EXPECT_OK((status)centra_head_score(d.head, &one.e, &wants[i]));
    EXPECT(sample_same(&all, &one));
    sample_wipe(&one);
    EXPECT_OK((status)centra_head_score(d.head, &one.e, &(centra_result){0}));
    EXPECT(isnan(one.loss));
    struct sample untouched;
    REQUIRE(sample_make(&shape, 1, &untouched));
    one.loss = untouched.loss = 0;
    EXPECT(sample_same(&one, &untouched));
    sample_free(&untouched);
    sample_free(&all);
    sample_free(&one);
    desk_close(&d);
}

/* Without labels there are scores and centralities, equal to those with labels. */
TEST(score_without_labels)
{
    const struct sample_shape shape = {3, 1, 4, 7, 5, CENTRA_F64};
    struct desk d;
    struct sample with, without;
    REQUIRE(desk_open(&d, "mcl-katz", NULL, 1));
    REQUIRE(sample_make(&shape, 2, &with) && sample_make(&shape, 2, &without));
    EXPECT_OK((status)centra_head_score(d.head, &with.e, &with.r));
    without.e.query_labels = NULL;
    without.r.loss = NULL;
    without.r.grad_support = without.r.grad_query = NULL;
    EXPECT_OK((status)centra_head_score(d.head, &without.e, &without.r));
    for (size_t i = 0; i < 12; i++) EXPECT(sample_at(&with, with.r.scores, i) == sample_at(&with, without.r.scores, i));
    for (size_t i = 0; i < 20; i++)
        EXPECT(sample_at(&with, with.r.centrality_query, i) == sample_at(&with, without.r.centrality_query, i));
    sample_free(&with);
    sample_free(&without);
    desk_close(&d);
}

/* f32 and f64 are the same mathematics, on every instruction set; shapes may change from call to call. */
TEST(score_in_either_precision_on_every_instruction_set)
{
    static const struct sample_shape shapes[] = {{5, 1, 6, 33, 25, 0}, {2, 3, 3, 64, 4, 0}, {5, 1, 6, 33, 25, 0}};
    for (size_t isa = 0; centra_isa_name(isa); isa++) {
        struct desk d;
        REQUIRE(desk_open(&d, "mcl-katz", centra_isa_name(isa), 2));
        EXPECT_TEXT(centra_session_isa(d.session), centra_isa_name(isa));
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            struct sample_shape single = shapes[i], twice = shapes[i];
            struct sample f32, f64;
            single.precision = CENTRA_F32;
            twice.precision = CENTRA_F64;
            REQUIRE(sample_make(&single, i, &f32) && sample_make(&twice, i, &f64));
            EXPECT_OK((status)centra_head_score(d.head, &f32.e, &f32.r));
            EXPECT_OK((status)centra_head_score(d.head, &f64.e, &f64.r));
            EXPECT_NEAR(f32.loss, f64.loss, 1e-5);
            for (size_t k = 0; k < f32.e.query_count * f32.way; k++)
                EXPECT_NEAR(sample_at(&f32, f32.r.scores, k), sample_at(&f64, f64.r.scores, k), 1e-5);
            for (size_t k = 0; k < f32.e.query_count * f32.e.channels * f32.e.query_locations; k++)
                EXPECT_NEAR(sample_at(&f32, f32.r.grad_query, k), sample_at(&f64, f64.r.grad_query, k), 1e-5);
            sample_free(&f32);
            sample_free(&f64);
        }
        desk_close(&d);
    }
}
