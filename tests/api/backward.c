/* backward.c - centra_head_backward: gradients of a loss of the caller's own, against the library's loss and differences. */
#include "tests/api/sample.h"
#include "tests/test.h"
#include <stdlib.h>

static const struct sample_shape shape = {3, 2, 4, 6, 5, CENTRA_F64};
enum { WAY = 3, QUERIES = 4, PLACES = 5, MOST = 1000 };

struct wish { /* random upstream arrays */
    double scores[QUERIES * WAY], support[QUERIES * WAY * PLACES], query[QUERIES * PLACES];
};

static void wish_draw(struct wish *w)
{
    struct random r = test_random();
    for (size_t i = 0; i < sizeof w->scores / sizeof(double); i++) w->scores[i] = random_normal(&r);
    for (size_t i = 0; i < sizeof w->support / sizeof(double); i++) w->support[i] = random_normal(&r);
    for (size_t i = 0; i < sizeof w->query / sizeof(double); i++) w->query[i] = random_normal(&r);
}

/* The loss whose gradients those are. */
static double wished(const struct wish *w, const struct sample *x)
{
    double sum = 0;
    for (size_t i = 0; i < QUERIES * WAY; i++) sum += w->scores[i] * sample_at(x, x->r.scores, i);
    for (size_t i = 0; i < QUERIES * WAY * PLACES; i++) sum += w->support[i] * sample_at(x, x->r.centrality_support, i);
    for (size_t i = 0; i < QUERIES * PLACES; i++) sum += w->query[i] * sample_at(x, x->r.centrality_query, i);
    return sum;
}

static centra_result without_loss(const centra_result *r)
{
    centra_result out = *r;
    out.loss = NULL;
    return out;
}

/* -log p of the label, averaged, has the gradient -1 / (n p) there. */
TEST(going_back_from_the_scores_of_the_loss_gives_its_gradients)
{
    struct desk d;
    struct sample x, y;
    double up[QUERIES * WAY] = {0};
    REQUIRE(sample_make(&shape, 1, &x) && sample_make(&shape, 1, &y) && desk_open(&d, "mcl-katz", NULL, 1));
    EXPECT_OK((status)centra_head_score(d.head, &x.e, &x.r));
    for (size_t q = 0; q < QUERIES; q++) {
        const size_t at = q * WAY + (size_t)(x.e.query_labels[q] - 7) / 10;
        up[at] = -1 / (QUERIES * sample_at(&x, x.r.scores, at));
    }
    const centra_result r = without_loss(&y.r);
    EXPECT_OK((status)centra_head_backward(d.head, &y.e, &(centra_upstream){.scores = up}, &r));
    for (size_t i = 0; i < WAY * 2 * 6 * PLACES; i++)
        EXPECT_NEAR(sample_at(&y, y.r.grad_support, i), sample_at(&x, x.r.grad_support, i), 1e-12);
    for (size_t i = 0; i < QUERIES * 6 * PLACES; i++)
        EXPECT_NEAR(sample_at(&y, y.r.grad_query, i), sample_at(&x, x.r.grad_query, i), 1e-12);
    for (size_t i = 0; i < QUERIES * WAY; i++)
        EXPECT_NEAR(sample_at(&y, y.r.scores, i), sample_at(&x, x.r.scores, i), 1e-15);
    desk_close(&d);
    sample_free(&x);
    sample_free(&y);
}

/* Moves one feature back and forth and compares with its gradient. */
static void check_feature(struct desk *d, struct sample *x, const struct wish *w, const void *array, size_t i,
                          double gradient)
{
    const double at = sample_at(x, array, i), step = 1e-6;
    centra_result r = without_loss(&x->r);
    r.grad_support = r.grad_query = NULL;
    sample_put(x, array, i, at + step);
    EXPECT_OK((status)centra_head_score(d->head, &x->e, &r));
    const double above = wished(w, x);
    sample_put(x, array, i, at - step);
    EXPECT_OK((status)centra_head_score(d->head, &x->e, &r));
    const double below = wished(w, x);
    sample_put(x, array, i, at);
    EXPECT_NEAR((above - below) / (2 * step), gradient, 1e-6);
}

TEST(going_back_from_scores_and_centralities_agrees_with_differences)
{
    static const char *const heads[] = {"mcl", "mcl-katz", "mcl-exact", "unidirectional"};
    struct sample x;
    struct wish w;
    wish_draw(&w);
    const centra_upstream up = {w.scores, w.support, w.query};
    for (size_t h = 0; h < 4; h++) {
        struct desk d;
        double support[WAY * 2 * 6 * PLACES], query[QUERIES * 6 * PLACES];
        REQUIRE(sample_make(&shape, 2 + h, &x) && desk_open(&d, heads[h], NULL, 2));
        const centra_result r = {.grad_support = support, .grad_query = query};
        EXPECT_OK((status)centra_head_backward(d.head, &x.e, &up, &r));
        for (size_t i = 0; i < WAY * 2 * 6 * PLACES; i += 7) check_feature(&d, &x, &w, x.e.support, i, support[i]);
        for (size_t i = 0; i < QUERIES * 6 * PLACES; i += 5) check_feature(&d, &x, &w, x.e.query, i, query[i]);
        desk_close(&d);
        sample_free(&x);
    }
}

TEST(going_back_refuses_in_words)
{
    struct desk d;
    struct sample x;
    double up[QUERIES * PLACES] = {0};
    REQUIRE(sample_make(&shape, 1, &x) && desk_open(&d, "proto", NULL, 1));
    const centra_result r = without_loss(&x.r);
    EXPECT_STATUS((status)centra_head_backward(d.head, &x.e, NULL, &r), ST_USAGE);
    EXPECT_TEXT(centra_message(), "centra_head_backward needs a head, an episode, an upstream and a result");
    EXPECT_STATUS((status)centra_head_backward(d.head, &x.e, &(centra_upstream){0}, &r), ST_USAGE);
    EXPECT_TEXT(centra_message(), "there is nothing to go back from: upstream has no array");
    EXPECT_STATUS((status)centra_head_backward(d.head, &x.e, &(centra_upstream){.scores = up}, &x.r), ST_USAGE);
    EXPECT_TEXT(centra_message(), "the loss is the caller's own; centra_head_score computes one");
    const centra_result only = {.grad_query = x.r.grad_query};
    EXPECT_STATUS((status)centra_head_backward(d.head, &x.e, &(centra_upstream){.centrality_query = up}, &only),
                  ST_USAGE);
    EXPECT_TEXT(centra_message(), "head proto has no centralities");
    desk_close(&d);
    sample_free(&x);
}

TEST(going_back_survives_failing_allocations_and_then_makes_none)
{
    const size_t live = alloc_live();
    struct sample x;
    struct wish w;
    struct desk d = {0};
    bool done = false;
    size_t n = 1;
    wish_draw(&w);
    const centra_upstream up = {w.scores, w.support, w.query};
    REQUIRE(sample_make(&shape, 3, &x));
    const centra_result r = without_loss(&x.r);
    for (; n < MOST && !done; n++) {
        desk_close(&d);
        REQUIRE(desk_open(&d, "mcl-katz", NULL, 1));
        alloc_fail_at(n);
        const centra_status st = centra_head_backward(d.head, &x.e, &up, &r);
        done = !alloc_did_fail();
        alloc_fail_at(0);
        EXPECT(st == (done ? CENTRA_OK : CENTRA_MEMORY));
    }
    EXPECT(done && n > 2);
    const size_t count = alloc_count();
    EXPECT_OK((status)centra_head_backward(d.head, &x.e, &up, &r));
    EXPECT_INT(alloc_count(), count);
    desk_close(&d);
    sample_free(&x);
    EXPECT_INT(alloc_live(), live);
}
