/* classify.c - guesses on pictures of a few plain kinds with the shipped model. */
#include "tests/api/own.h"
#include "tests/test.h"
#include <pthread.h>
#include <stdlib.h>

enum { KINDS = 4, QUERIES = 8 };

static void queries(centra_picture q[QUERIES])
{
    for (size_t i = 0; i < QUERIES; i++) q[i] = own_picture(i % KINDS, 100 + i, 90 + 10 * i, 150 - 5 * i);
}

static void queries_free(centra_picture q[QUERIES])
{
    for (size_t i = 0; i < QUERIES; i++) centra_picture_free(&q[i]);
}

TEST(plain_kinds_are_told_apart)
{
    struct own o;
    centra_picture q[QUERIES];
    double p[QUERIES][KINDS];
    centra_guess g[QUERIES];
    REQUIRE(own_open(&o, NULL, 2) && own_fill(&o, KINDS, 4, 1));
    queries(q);
    EXPECT_OK((status)centra_support_calibrate(o.support, o.classifier));
    EXPECT_OK((status)centra_classify(o.classifier, o.support, q, QUERIES, p[0], g));
    for (size_t i = 0; i < QUERIES; i++) {
        double sum = 0;
        for (size_t c = 0; c < KINDS; c++) sum += p[i][c];
        EXPECT_INT(g[i].best, i % KINDS);
        EXPECT_NEAR(g[i].probability, p[i][i % KINDS], 0);
        EXPECT_NEAR(sum, 1, 1e-12);
        EXPECT(g[i].familiarity >= 0 && g[i].familiarity <= 1);
    }
    queries_free(q);
    own_close(&o);
}

TEST(a_guess_does_not_depend_on_its_neighbours_or_on_threads)
{
    struct own o, two;
    centra_picture q[QUERIES];
    double all[QUERIES][KINDS], one[KINDS];
    centra_guess g[QUERIES], alone;
    REQUIRE(own_open(&o, NULL, 1) && own_fill(&o, KINDS, 3, 1));
    REQUIRE(own_open(&two, NULL, 3) && own_fill(&two, KINDS, 3, 1));
    queries(q);
    EXPECT_OK((status)centra_support_calibrate(o.support, o.classifier));
    EXPECT_OK((status)centra_support_calibrate(two.support, two.classifier));
    EXPECT_OK((status)centra_classify(o.classifier, o.support, q, QUERIES, all[0], g));
    for (size_t i = 0; i < QUERIES; i++) {
        EXPECT_OK((status)centra_classify(two.classifier, two.support, &q[i], 1, one, &alone));
        EXPECT(!memcmp(one, all[i], sizeof one));
        EXPECT(!memcmp(&alone, &g[i], sizeof alone));
    }
    queries_free(q);
    own_close(&two);
    own_close(&o);
}

TEST(logits_become_probabilities)
{
    struct own o;
    centra_picture q[QUERIES];
    double p[QUERIES][KINDS];
    REQUIRE(own_open(&o, "proto", 1) && own_fill(&o, KINDS, 2, 1));
    queries(q);
    EXPECT_OK((status)centra_classify(o.classifier, o.support, q, QUERIES, p[0], NULL));
    for (size_t i = 0; i < QUERIES; i++) {
        double sum = 0;
        for (size_t c = 0; c < KINDS; c++) {
            EXPECT(p[i][c] >= 0);
            sum += p[i][c];
        }
        EXPECT_NEAR(sum, 1, 1e-12);
    }
    queries_free(q);
    own_close(&o);
}

TEST(without_calibration_nothing_is_familiar)
{
    struct own o;
    centra_guess g;
    centra_picture q = own_picture(0, 9, 84, 84);
    REQUIRE(own_open(&o, NULL, 1) && own_fill(&o, 2, 1, 1));
    EXPECT(!centra_support_calibrated(o.support, o.classifier));
    EXPECT_OK((status)centra_classify(o.classifier, o.support, &q, 1, NULL, &g));
    EXPECT(isnan(g.familiarity));
    EXPECT_OK(
        (status)centra_support_calibrate(o.support, o.classifier)); /* one picture a class: nothing to leave out */
    EXPECT_OK((status)centra_classify(o.classifier, o.support, &q, 1, NULL, &g));
    EXPECT(isnan(g.familiarity));
    EXPECT(own_fill(&o, 2, 2, 50));
    EXPECT(!centra_support_calibrated(o.support, o.classifier)); /* what was learned holds no more */
    EXPECT_OK((status)centra_support_calibrate(o.support, o.classifier));
    EXPECT_OK((status)centra_classify(o.classifier, o.support, &q, 1, NULL, &g));
    EXPECT(!isnan(g.familiarity));
    centra_picture_free(&q);
    own_close(&o);
}

TEST(too_few_classes_are_refused_in_words)
{
    struct own o;
    centra_guess g;
    centra_picture q = own_picture(0, 9, 84, 84);
    REQUIRE(own_open(&o, NULL, 1));
    EXPECT_STATUS((status)centra_classify(o.classifier, o.support, &q, 1, NULL, &g), ST_USAGE);
    EXPECT_TEXT(centra_message(), "there are no known pictures; give at least two classes of them");
    EXPECT(own_fill(&o, 1, 3, 1));
    EXPECT_STATUS((status)centra_classify(o.classifier, o.support, &q, 1, NULL, &g), ST_USAGE);
    EXPECT_TEXT(centra_message(),
                "there is only the class 'kind 0'; give at least two, so that there is something to tell apart");
    centra_picture_free(&q);
    own_close(&o);
}

TEST(classifying_again_allocates_no_room_of_its_own)
{
    struct own o;
    centra_picture q[QUERIES];
    double p[QUERIES][KINDS];
    centra_guess g[QUERIES];
    REQUIRE(own_open(&o, NULL, 1) && own_fill(&o, KINDS, 2, 1));
    EXPECT_OK((status)centra_support_calibrate(o.support, o.classifier));
    for (size_t i = 0; i < QUERIES; i++) q[i] = own_picture(i % KINDS, 100 + i, 84, 84);
    for (int i = 0; i < 12; i++) /* after some batches the weights take their final form */
        EXPECT_OK((status)centra_classify(o.classifier, o.support, q, QUERIES, p[0], g));
    const size_t live = alloc_live();
    for (int i = 0; i < 3; i++) EXPECT_OK((status)centra_classify(o.classifier, o.support, q, QUERIES, p[0], g));
    EXPECT_INT(alloc_live() - live, 0);
    queries_free(q);
    own_close(&o);
}

struct guest {
    const centra_model *model;
    const centra_support *support;
    const centra_picture *q;
    double p[QUERIES][KINDS];
    centra_status st;
};

static void *visit(void *context)
{
    struct guest *v = context;
    centra_session *s = NULL;
    centra_classifier *c = NULL;
    v->st = centra_session_open(&(centra_session_options){.threads = 2}, &s);
    if (v->st == CENTRA_OK) v->st = centra_classifier_new(s, v->model, NULL, &c);
    for (int i = 0; v->st == CENTRA_OK && i < 3; i++)
        v->st = centra_classify(c, v->support, v->q, QUERIES, v->p[0], NULL);
    centra_classifier_free(c);
    centra_session_close(s);
    return NULL;
}

TEST(two_threads_share_a_model_and_a_support)
{
    struct own o;
    struct guest v[2];
    pthread_t thread[2];
    centra_picture q[QUERIES];
    double p[QUERIES][KINDS];
    REQUIRE(own_open(&o, NULL, 1) && own_fill(&o, KINDS, 2, 1));
    queries(q);
    EXPECT_OK((status)centra_support_calibrate(o.support, o.classifier));
    EXPECT_OK((status)centra_classify(o.classifier, o.support, q, QUERIES, p[0], NULL));
    for (int i = 0; i < 2; i++) {
        v[i] = (struct guest){.model = o.model, .support = o.support, .q = q};
        REQUIRE(pthread_create(&thread[i], NULL, visit, &v[i]) == 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(thread[i], NULL);
        EXPECT_OK((status)v[i].st);
        EXPECT(!memcmp(v[i].p, p, sizeof p));
    }
    queries_free(q);
    own_close(&o);
}
