/* explain_parts.c - the parts of explanations on features that the test makes: the walk between pictures, pairs,
 * Grad-CAM. */
#include "api/explain.h"
#include "tests/test.h"
#include <stdlib.h>

enum { HEIGHT = 3, WIDTH = 4, PLACES = 12, CHANNELS = 192, KNOWN = 5, EACH = CHANNELS * PLACES };
static const int64_t labels[KNOWN] = {0, 0, 1, 1, 2};
static const int32_t classes[KNOWN] = {0, 0, 1, 1, 2};

struct bench {
    centra_session *session;
    centra_head *head;
    centra_classifier classifier; /* of these two; it encodes nothing */
    float query[EACH], known[KNOWN * EACH];
    struct why_input in;
};

static bool bench_open(struct bench *b, const char *head)
{
    struct random r = test_random();
    *b = (struct bench){0};
    for (size_t i = 0; i < EACH; i++) b->query[i] = (float)random_normal(&r);
    for (size_t i = 0; i < KNOWN * EACH; i++) b->known[i] = (float)random_normal(&r);
    if (centra_session_open(NULL, &b->session) != CENTRA_OK ||
        centra_head_new(b->session, head, NULL, 0, &b->head) != CENTRA_OK) {
        test_failed(__FILE__, __LINE__, "%s", centra_message());
        return false;
    }
    b->classifier.session = b->session;
    b->classifier.head = b->head->head;
    b->classifier.head_settings = b->head->settings;
    b->in = (struct why_input){
        &b->classifier, {b->known, classes, KNOWN, 3, CHANNELS, PLACES}, HEIGHT, WIDTH, b->query};
    return true;
}

static void bench_close(struct bench *b)
{
    free(b->classifier.scores.data);
    centra_head_free(b->head);
    centra_session_close(b->session);
}

/* The same features at a place of the query and a place of a known picture. */
static void plant(struct bench *b, size_t at, size_t picture, size_t known_at)
{
    for (size_t c = 0; c < CHANNELS; c++) b->known[picture * EACH + c * PLACES + known_at] = b->query[c * PLACES + at];
}

/* Transitions are probabilities, and the weights give the centralities again: pi(S) = A^T w (docs/mcl.md). */
static void expect_consistent(const struct why_walk *w)
{
    const size_t m = KNOWN * PLACES;
    double leaving = 0;
    for (size_t i = 0; i < PLACES; i++) {
        double toward = 0;
        for (size_t p = 0; p < KNOWN; p++) toward += w->toward[i * KNOWN + p];
        EXPECT_NEAR(toward, 1, 1e-9);
        leaving += w->leaving[i];
    }
    EXPECT_NEAR(leaving, 1, 1e-5);
    for (size_t j = 0; j < m; j++) {
        double returns = 0, central = 0;
        for (size_t i = 0; i < PLACES; i++) {
            returns += walk_back(w, i, j);
            central += walk_there(w, i, j) * w->leaving[i];
        }
        EXPECT_NEAR(returns, 1, 1e-9);
        EXPECT_NEAR(central, w->on_known[j], 1e-6);
    }
}

TEST(explained_walk_fits_together_for_every_damping)
{
    static const char *const heads[] = {"mcl", "mcl-katz", "mcl-exact", "unidirectional", "proto", "mcl-ridge"};
    static const double damping[] = {0.999, 0.5, 1, 0, 0.5, 0.9}; /* proto: that of mcl-katz */
    for (size_t k = 0; k < 6; k++) {
        struct bench b;
        struct why_walk w = {0};
        REQUIRE(bench_open(&b, heads[k]));
        EXPECT_OK(why_walk(&b.in, &w));
        if (w.toward) expect_consistent(&w);
        EXPECT_NEAR(w.walk.alpha, damping[k], 1e-12);
        why_walk_free(&w);
        bench_close(&b);
    }
}

TEST(explained_masses_are_scores_with_a_class_for_each_picture)
{
    static const int64_t each[KNOWN] = {0, 1, 2, 3, 4};
    struct bench b;
    struct why_walk w = {0};
    float scores[KNOWN];
    REQUIRE(bench_open(&b, "mcl-katz"));
    const centra_episode e = {CENTRA_F32, CHANNELS, KNOWN, PLACES, b.known, each, 1, PLACES, b.query, NULL};
    const centra_result r = {.scores = scores};
    EXPECT(centra_head_score(b.head, &e, &r) == CENTRA_OK);
    REQUIRE(why_walk(&b.in, &w) == OK);
    for (size_t p = 0; p < KNOWN; p++) {
        double mass = 0;
        for (size_t i = 0; i < PLACES; i++) mass += w.leaving[i] * w.toward[i * KNOWN + p];
        EXPECT_NEAR(mass, scores[p], 1e-6);
    }
    why_walk_free(&w);
    bench_close(&b);
}

TEST(what_speaks_for_a_class_is_where_its_pictures_are_alike)
{
    struct bench b;
    struct why_walk w = {0};
    double on_query[PLACES], on_known[PLACES];
    struct why_class k = {.on_query = on_query, .on_known = on_known};
    REQUIRE(bench_open(&b, "mcl-katz"));
    plant(&b, 2, 3, 9); /* in class 1, whose pictures are 2 and 3 */
    plant(&b, 7, 3, 0);
    for (size_t p = 0; p < KNOWN; p++) plant(&b, 5, p, 5); /* a ground that all pictures have */
    REQUIRE(why_walk(&b.in, &w) == OK);
    EXPECT_OK(why_class(&w, &b.in, 2, 2, &k));
    EXPECT_INT(k.picture, 3);
    for (size_t i = 0; i < PLACES; i++)
        if (i != 2 && i != 7) EXPECT(on_query[i] < 0.5 * fmin(on_query[2], on_query[7]));
    for (size_t j = 0; j < PLACES; j++)
        if (j != 9 && j != 0) EXPECT(on_known[j] < 0.5 * fmin(on_known[9], on_known[0]));
    EXPECT(on_query[5] < 0.01 * on_query[2]); /* alike, but it says nothing */
    REQUIRE(k.pair_count >= 2);
    for (size_t n = 0; n < 2; n++)
        EXPECT((k.pairs[n].query == 2 && k.pairs[n].known == 9) || (k.pairs[n].query == 7 && k.pairs[n].known == 0));
    EXPECT(k.pairs[0].query != k.pairs[1].query);
    for (size_t n = 1; n < k.pair_count; n++) {
        EXPECT(k.pairs[n].weight <= k.pairs[n - 1].weight && k.pairs[n].weight >= 0.05 * k.pairs[0].weight);
        for (size_t before = 0; before < n; before++)
            EXPECT(k.pairs[n].query != k.pairs[before].query && k.pairs[n].known != k.pairs[before].known);
    }
    why_walk_free(&w);
    bench_close(&b);
}

TEST(no_two_pairs_share_a_place)
{
    struct bench b;
    struct why_walk w = {0};
    double on_query[PLACES], on_known[PLACES];
    struct why_class k = {.on_query = on_query, .on_known = on_known};
    REQUIRE(bench_open(&b, "mcl-katz"));
    for (size_t c = 0; c < CHANNELS; c++) { /* two places that are alike here and lead to one there, and the reverse */
        b.query[c * PLACES + 4] = b.query[c * PLACES + 2];
        b.known[4 * EACH + c * PLACES + 7] = b.known[4 * EACH + c * PLACES + 8] = b.query[c * PLACES + 6];
    }
    plant(&b, 2, 4, 9);
    REQUIRE(why_walk(&b.in, &w) == OK);
    EXPECT_OK(why_class(&w, &b.in, 4, 1, &k));
    REQUIRE(k.pair_count >= 2);
    for (size_t n = 1; n < k.pair_count; n++)
        for (size_t before = 0; before < n; before++)
            EXPECT(k.pairs[n].query != k.pairs[before].query && k.pairs[n].known != k.pairs[before].known);
    why_walk_free(&w);
    bench_close(&b);
}

TEST(explained_maps_follow_their_formula)
{
    struct bench b;
    struct why_walk w = {0};
    double on_query[PLACES], on_known[PLACES], mass[2] = {0};
    struct why_class k = {.on_query = on_query, .on_known = on_known};
    REQUIRE(bench_open(&b, "mcl"));
    REQUIRE(why_walk(&b.in, &w) == OK);
    EXPECT_OK(why_class(&w, &b.in, 0, 2, &k));
    for (size_t i = 0; i < PLACES; i++) {
        double part = 0;
        for (size_t j = 0; j < 2 * PLACES; j++) part += walk_there(&w, i, j);
        EXPECT_NEAR(on_query[i], w.leaving[i] * fmax(part - 0.4, 0), 1e-12);
        for (size_t j = 0; j < 2 * PLACES; j++) mass[j / PLACES] += on_query[i] * walk_there(&w, i, j);
    }
    EXPECT_INT(k.picture, mass[1] > mass[0]);
    for (size_t j = 0; j < PLACES; j++) {
        double arrives = 0;
        for (size_t i = 0; i < PLACES; i++) arrives += on_query[i] * walk_there(&w, i, k.picture * PLACES + j);
        EXPECT_NEAR(on_known[j], arrives, 1e-12);
    }
    const size_t i = k.pairs[0].query, j = k.pairs[0].known, known = k.picture * PLACES + j;
    EXPECT_NEAR(k.pairs[0].weight, sqrt(on_query[i] * walk_there(&w, i, known) * on_known[j] * walk_back(&w, i, known)),
                1e-12);
    why_walk_free(&w);
    bench_close(&b);
}

/* A walk of two known pictures on large maps, in which place i of the query and place i of the first are alike. */
static struct why_walk large_walk(size_t places)
{
    const size_t m = 2 * places;
    struct why_walk w = {.walk = {20, 10, 0.5, 0}, .places = places, .count = 2};
    w.cosine = calloc(places * m, sizeof *w.cosine);
    w.leaving = calloc(places, sizeof *w.leaving);
    w.there = calloc(places, sizeof *w.there);
    w.back = calloc(m, sizeof *w.back);
    w.toward = calloc(m, sizeof *w.toward);
    if (!w.cosine || !w.leaving || !w.there || !w.back || !w.toward) return (struct why_walk){0};
    for (size_t i = 0; i < places; i++) {
        w.leaving[i] = 1 / (double)places;
        w.toward[2 * i] = 1;
        w.cosine[i * m + i] = 1 - (float)i * 1e-4f;
    }
    return w;
}

TEST(pairs_on_large_maps_keep_their_distance)
{
    enum { SIDE = 21 };
    struct why_walk w = large_walk(SIDE * SIDE);
    double on_query[SIDE * SIDE], on_known[SIDE * SIDE];
    struct why_class k = {.on_query = on_query, .on_known = on_known};
    const struct why_input in = {.height = SIDE, .width = SIDE};
    REQUIRE(w.toward);
    EXPECT_OK(why_class(&w, &in, 0, 1, &k));
    EXPECT_INT(k.pair_count, WHY_PAIRS);
    for (size_t n = 1; n < k.pair_count; n++)
        for (size_t before = 0; before < n; before++) {
            const int rows = abs((int)(k.pairs[n].query / SIDE) - (int)(k.pairs[before].query / SIDE));
            const int columns = abs((int)(k.pairs[n].query % SIDE) - (int)(k.pairs[before].query % SIDE));
            EXPECT(rows > 2 || columns > 2);
        }
    why_walk_free(&w);
}

/* ln p of class 1 with every place of one channel moved by `step`; temperature 0: scores are probabilities. */
static double moved(const struct bench *b, size_t channel, float step, double temperature)
{
    float copy[EACH], scores[3];
    memcpy(copy, b->query, sizeof copy);
    for (size_t i = 0; i < PLACES; i++) copy[channel * PLACES + i] += step;
    const centra_episode e = {CENTRA_F32, CHANNELS, KNOWN, PLACES, b->known, labels, 1, PLACES, copy, NULL};
    const centra_result r = {.scores = scores};
    if (centra_head_score(b->head, &e, &r) != CENTRA_OK) return NAN;
    if (!(temperature > 0)) return log((double)scores[1]);
    double sum = 0;
    for (size_t k = 0; k < 3; k++) sum += exp(((double)scores[k] - (double)scores[1]) / temperature);
    return -log(sum);
}

/* `step` is small enough for the curve and large enough for single precision. */
static void expect_quotients(const char *name, double temperature, float step)
{
    struct bench b;
    float map[PLACES];
    double wanted[PLACES] = {0}, total = 0;
    REQUIRE(bench_open(&b, name));
    EXPECT_OK(why_grad_cam(&b.in, 1, map));
    for (size_t c = 0; c < CHANNELS; c++) {
        const double weight = moved(&b, c, step, temperature) - moved(&b, c, -step, temperature);
        for (size_t i = 0; i < PLACES; i++) wanted[i] += weight * (double)b.query[c * PLACES + i];
    }
    for (size_t i = 0; i < PLACES; i++) total += wanted[i] = fmax(wanted[i], 0);
    for (size_t i = 0; i < PLACES; i++)
        if (!(fabs((double)map[i] - wanted[i] / total) < 0.01))
            test_failed(__FILE__, __LINE__, "%s: place %zu has %g, wanted %g", name, i, (double)map[i],
                        wanted[i] / total);
    bench_close(&b);
}

TEST(grad_cam_is_the_positive_part_of_what_channels_speak_for)
{
    expect_quotients("mcl-katz", 0, 0.02f);
    expect_quotients("proto", 64, 0.5f);
    expect_quotients("baseline", 1, 0.05f); /* fitted: has no gradient of its own */
    expect_quotients("frn", 1, 0.05f);
}

TEST(grad_cam_that_speaks_for_nothing_is_even)
{
    struct bench b;
    float map[PLACES];
    REQUIRE(bench_open(&b, "proto"));
    memset(b.query, 0, sizeof b.query);
    EXPECT_OK(why_grad_cam(&b.in, 0, map));
    for (size_t i = 0; i < PLACES; i++) EXPECT_NEAR(map[i], 1.0 / PLACES, 1e-7);
    bench_close(&b);
}

TEST(parts_of_explanations_lose_nothing_without_memory)
{
    struct bench b;
    REQUIRE(bench_open(&b, "proto"));
    for (int part = 0; part < 2; part++)
        for (size_t n = 1;; n++) {
            struct why_walk w = {0};
            float map[PLACES];
            alloc_fail_at(n);
            const status st = part ? why_grad_cam(&b.in, 1, map) : why_walk(&b.in, &w);
            const bool failed = alloc_did_fail();
            alloc_fail_at(0);
            why_walk_free(&w);
            if (!failed) {
                EXPECT_OK(st);
                break;
            }
            EXPECT_STATUS(st, ST_MEMORY);
        }
    struct why_walk w = {0};
    const size_t live = alloc_live(); /* the session's memory has grown and stays with it */
    EXPECT_OK(why_walk(&b.in, &w));
    why_walk_free(&w);
    EXPECT_INT(alloc_live(), live);
    bench_close(&b);
}
