/* explain_parts.c - the parts of explanations on features that the test makes: the walk between pictures, pairs, Grad-CAM. */
#include "api/explain.h"
#include "heads/mcl.h"
#include "tests/test.h"
#include <stdlib.h>

enum { HEIGHT = 3, WIDTH = 4, PLACES = 12, CHANNELS = 192, KNOWN = 5, EACH = CHANNELS * PLACES };
static const int64_t labels[KNOWN] = {0, 0, 1, 1, 2};

struct bench {
    centra_session *session;
    centra_head *head;
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
    b->in = (struct why_input){b->head, CHANNELS, HEIGHT, WIDTH, b->query, b->known, labels, KNOWN};
    return true;
}

static void bench_close(struct bench *b)
{
    centra_head_free(b->head);
    centra_session_close(b->session);
}

/* The same features at a place of the query and a place of a known picture. */
static void plant(struct bench *b, size_t at, size_t picture, size_t known_at)
{
    for (size_t c = 0; c < CHANNELS; c++) b->known[picture * EACH + c * PLACES + known_at] = b->query[c * PLACES + at];
}

static double there(const struct why_walk *w, size_t i, size_t j)
{
    return exp(w->walk.gamma * (double)w->cosine[i * w->count * w->places + j] - w->there[i]);
}

static double back(const struct why_walk *w, size_t i, size_t j)
{
    return exp(w->walk.beta * (double)w->cosine[i * w->count * w->places + j] - w->back[j]);
}

/* Transitions are probabilities, and the weights give the centralities again: pi(S) = A^T w (docs/mcl.md). */
static void expect_consistent(const struct why_walk *w)
{
    const size_t m = KNOWN * PLACES;
    double mass = 0, leaving = 0;
    for (size_t p = 0; p < KNOWN; p++) mass += w->mass[p];
    for (size_t i = 0; i < PLACES; i++) leaving += w->leaving[i];
    EXPECT_NEAR(mass, 1, 1e-5);
    EXPECT_NEAR(leaving, 1, 1e-5);
    for (size_t j = 0; j < m; j++) {
        double returns = 0, central = 0;
        for (size_t i = 0; i < PLACES; i++) {
            returns += back(w, i, j);
            central += there(w, i, j) * w->leaving[i];
        }
        EXPECT_NEAR(returns, 1, 1e-9);
        EXPECT_NEAR(central, w->on_known[j], 1e-6);
    }
}

TEST(explained_walk_fits_together_for_every_damping)
{
    static const char *const heads[] = {"mcl", "mcl-katz", "mcl-exact", "unidirectional", "proto"};
    for (size_t k = 0; k < 5; k++) {
        struct bench b;
        struct why_walk w = {0};
        REQUIRE(bench_open(&b, heads[k]));
        EXPECT_OK(why_walk(&b.in, &w));
        if (w.mass) expect_consistent(&w);
        EXPECT_NEAR(w.walk.alpha, k == 0 ? 0.999 : k == 2 ? 1 : k == 3 ? 0 : 0.5, 1e-12); /* proto: mcl-katz */
        why_walk_free(&w);
        bench_close(&b);
    }
}

TEST(explained_masses_are_scores_with_a_class_for_each_picture)
{
    static const int64_t each[KNOWN] = {0, 1, 2, 3, 4};
    struct bench b;
    struct why_walk w = {0};
    float scores[KNOWN], on_query[PLACES];
    REQUIRE(bench_open(&b, "mcl-katz"));
    const centra_episode e = {CENTRA_F32, CHANNELS, KNOWN, PLACES, b.known, each, 1, PLACES, b.query, NULL};
    const centra_result r = {.scores = scores, .centrality_query = on_query};
    EXPECT(centra_head_score(b.head, &e, &r) == CENTRA_OK);
    REQUIRE(why_walk(&b.in, &w) == OK);
    for (size_t p = 0; p < KNOWN; p++) EXPECT_NEAR(w.mass[p], scores[p], 1e-6);
    for (size_t i = 0; i < PLACES; i++) EXPECT_NEAR(w.on_query[i], on_query[i], 1e-7);
    why_walk_free(&w);
    bench_close(&b);
}

TEST(pairs_join_the_places_that_are_alike)
{
    struct bench b;
    struct why_walk w = {0};
    centra_pair pairs[WHY_PAIRS];
    size_t count = 0;
    REQUIRE(bench_open(&b, "mcl-katz"));
    plant(&b, 2, 3, 9);
    plant(&b, 7, 3, 0);
    REQUIRE(why_walk(&b.in, &w) == OK);
    EXPECT_OK(why_pairs(&w, HEIGHT, WIDTH, 3, pairs, &count));
    REQUIRE(count >= 2);
    for (size_t k = 0; k < 2; k++)
        EXPECT((pairs[k].query == 2 && pairs[k].known == 9) || (pairs[k].query == 7 && pairs[k].known == 0));
    EXPECT(pairs[0].query != pairs[1].query);
    if (count > 2) EXPECT(pairs[2].weight < 0.5 * pairs[1].weight);
    for (size_t k = 1; k < count; k++) {
        EXPECT(pairs[k].weight <= pairs[k - 1].weight && pairs[k].weight >= 0.02 * pairs[0].weight);
        for (size_t before = 0; before < k; before++)
            EXPECT(pairs[k].query != pairs[before].query && pairs[k].known != pairs[before].known);
    }
    const size_t j = 3 * PLACES + pairs[0].known, i = pairs[0].query;
    EXPECT_NEAR(pairs[0].weight, (w.leaving[i] + (double)w.on_known[j]) * there(&w, i, j) * back(&w, i, j), 1e-12);
    why_walk_free(&w);
    bench_close(&b);
}

/* A walk of one known picture on large maps, in which place i of the query and place i of the picture are alike. */
static struct why_walk large_walk(size_t places)
{
    struct why_walk w = {.walk = {20, 10, 0.5, 0}, .places = places, .count = 1};
    w.on_known = calloc(places, sizeof *w.on_known);
    w.cosine = calloc(places * places, sizeof *w.cosine);
    w.leaving = calloc(places, sizeof *w.leaving);
    w.there = calloc(places, sizeof *w.there);
    w.back = calloc(places, sizeof *w.back);
    if (!w.on_known || !w.cosine || !w.leaving || !w.there || !w.back) return (struct why_walk){0};
    for (size_t i = 0; i < places; i++) {
        w.leaving[i] = 1 / (double)places;
        w.cosine[i * places + i] = 1 - (float)i * 1e-4f;
    }
    return w;
}

TEST(pairs_on_large_maps_keep_their_distance)
{
    enum { SIDE = 21 };
    struct why_walk w = large_walk(SIDE * SIDE);
    centra_pair pairs[WHY_PAIRS];
    size_t count = 0;
    REQUIRE(w.back);
    EXPECT_OK(why_pairs(&w, SIDE, SIDE, 0, pairs, &count));
    EXPECT_INT(count, WHY_PAIRS);
    for (size_t k = 1; k < count; k++)
        for (size_t before = 0; before < k; before++) {
            const int rows = abs((int)(pairs[k].query / SIDE) - (int)(pairs[before].query / SIDE));
            const int columns = abs((int)(pairs[k].query % SIDE) - (int)(pairs[before].query % SIDE));
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
