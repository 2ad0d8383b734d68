/* hard_input.c - episodes at the edge of what a method can do. Every head of the registry has an answer in finite numbers,
 * gradients included, or one of the refusals listed here; a new head is asked the same by being in the registry. */
#include "heads/head.h"
#include "tests/api/sample.h"
#include "tests/test.h"
#include <math.h>

struct edge {
    const char *name;
    struct sample_shape shape; /* way, shots, queries, channels, locations, precision */
    void (*change)(struct sample *x);
};

static size_t support_count(const struct sample *x)
{
    return x->e.support_count * x->e.channels * x->e.support_locations;
}

static size_t query_count(const struct sample *x) { return x->e.query_count * x->e.channels * x->e.query_locations; }

static void fill(struct sample *x, double support, double query)
{
    for (size_t i = 0; i < support_count(x); i++) sample_put(x, x->e.support, i, support);
    for (size_t i = 0; i < query_count(x); i++) sample_put(x, x->e.query, i, query);
}

static void multiply(struct sample *x, double by)
{
    for (size_t i = 0; i < support_count(x); i++) sample_put(x, x->e.support, i, by * sample_at(x, x->e.support, i));
    for (size_t i = 0; i < query_count(x); i++) sample_put(x, x->e.query, i, by * sample_at(x, x->e.query, i));
}

static void as_they_are(struct sample *x) { (void)x; }
static void all_zero(struct sample *x) { fill(x, 0, 0); }
static void all_equal(struct sample *x) { fill(x, 0.5, 0.5); }
static void zero_support(struct sample *x)
{
    for (size_t i = 0; i < support_count(x); i++) sample_put(x, x->e.support, i, 0);
}
static void zero_query(struct sample *x)
{
    for (size_t i = 0; i < query_count(x); i++) sample_put(x, x->e.query, i, 0);
}
/* All shots of all classes are the first picture, and so are the queries. */
static void one_picture(struct sample *x)
{
    const size_t each = x->e.channels * x->e.support_locations;
    for (size_t i = 0; i < support_count(x); i++) sample_put(x, x->e.support, i, sample_at(x, x->e.support, i % each));
    for (size_t i = 0; i < query_count(x); i++) sample_put(x, x->e.query, i, sample_at(x, x->e.support, i % each));
}
/* A channel that says nothing, and a location that is nothing. */
static void holes(struct sample *x)
{
    const size_t r = x->e.support_locations;
    for (size_t i = 0; i < support_count(x); i++)
        if (i % r == 0 || i / r % x->e.channels == 1) sample_put(x, x->e.support, i, 0);
    for (size_t i = 0; i < query_count(x); i++)
        if (i % r == 0 || i / r % x->e.channels == 1) sample_put(x, x->e.query, i, 0);
}
/* One class lends a shot to the last. */
static void unequal(struct sample *x)
{
    ((int64_t *)x->e.support_labels)[0] = x->e.support_labels[x->e.support_count - 1];
}
static void tiny(struct sample *x) { multiply(x, 1e-30); }
static void large(struct sample *x) { multiply(x, 1e15); }
static void huge(struct sample *x) { multiply(x, 1e30); }

static const struct edge edges[] = {
    {"one class", {1, 1, 3, 6, 4, CENTRA_F32}, as_they_are},
    {"one class of two shots", {1, 2, 3, 6, 4, CENTRA_F32}, as_they_are},
    {"one query", {3, 1, 1, 6, 4, CENTRA_F32}, as_they_are},
    {"maps of one location", {3, 2, 4, 6, 1, CENTRA_F32}, as_they_are},
    {"one channel", {3, 2, 4, 1, 4, CENTRA_F32}, as_they_are},
    {"one channel, one location", {3, 1, 4, 1, 1, CENTRA_F32}, as_they_are},
    {"one of everything", {1, 1, 1, 1, 1, CENTRA_F32}, as_they_are},
    {"more shots than channels", {2, 7, 3, 3, 2, CENTRA_F32}, as_they_are},
    {"six classes", {6, 1, 3, 6, 4, CENTRA_F32}, as_they_are},
    {"thirteen classes", {13, 1, 3, 6, 4, CENTRA_F32}, as_they_are},
    {"thirteen classes, five shots", {13, 5, 2, 6, 2, CENTRA_F32}, as_they_are},
    {"thirteen classes, not equally many shots", {13, 2, 3, 6, 4, CENTRA_F32}, unequal},
    {"zeros", {3, 1, 4, 6, 4, CENTRA_F32}, all_zero},
    {"zeros, two shots", {3, 2, 4, 6, 4, CENTRA_F64}, all_zero},
    {"zero support", {3, 2, 4, 6, 4, CENTRA_F32}, zero_support},
    {"zero queries", {3, 2, 4, 6, 4, CENTRA_F32}, zero_query},
    {"equal numbers", {3, 2, 4, 6, 4, CENTRA_F32}, all_equal},
    {"one picture everywhere", {3, 1, 4, 6, 4, CENTRA_F32}, one_picture},
    {"one picture everywhere, three shots", {3, 3, 4, 6, 4, CENTRA_F32}, one_picture},
    {"one picture everywhere, in double", {3, 3, 4, 6, 4, CENTRA_F64}, one_picture},
    {"holes", {3, 2, 4, 6, 4, CENTRA_F32}, holes},
    {"tiny numbers", {3, 2, 4, 6, 4, CENTRA_F32}, tiny},
    {"large numbers", {3, 2, 4, 6, 4, CENTRA_F32}, large},
    {"huge numbers", {3, 2, 4, 6, 4, CENTRA_F32}, huge},
};

struct refusal {
    const char *head, *edge; /* head: the beginning of its name; edge NULL: any */
    const char *says;
};

static const struct refusal refusals[] = {
    {"dmn4", "one class", "dmn4 compares the best class with the second; this episode has one class"},
    {"dmn4", "one of everything", "this episode has one class"},
    {"gnn", "one channel", "gnn needs features of at least 2 channels; these have 1"},
    {"gnn", "one of everything", "at least 2 channels"},
    {"gnn", "six classes", "gnn can tell 5 classes apart; this episode has 6"},
    {"gnn", "thirteen classes", "gnn can tell 5 classes apart; this episode has 13"},
    {"relation", "one channel", "relation needs features of at least 2 channels; these have 1"},
    {"relation", "one of everything", "at least 2 channels"},
};

/* Squares of numbers above 1e19 are beyond single precision: heads that take them say so, those that compare directions answer. */
static const char beyond[] = "too large for f32: scale the features down, or compute in f64";

static bool all_finite(const struct sample *x, const void *array, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(sample_at(x, array, i))) return false;
    return true;
}

/* Pictures of four base classes, as many channels as the episode has. */
static void give_base(const struct desk *d, const struct sample *x)
{
    enum { PICTURES = 12 };
    double features[PICTURES * 6];
    int64_t labels[PICTURES];
    struct random r = test_random();
    for (size_t i = 0; i < PICTURES * x->e.channels; i++) features[i] = 0.5 + random_normal(&r);
    for (int i = 0; i < PICTURES; i++) labels[i] = 100 + i % 4;
    EXPECT_OK((status)centra_head_base(d->head, CENTRA_F64, PICTURES, x->e.channels, 1, features, labels));
}

static const struct refusal *refusal_of(const struct head *h, const struct edge *e)
{
    for (const struct refusal *r = refusals; r < refusals + sizeof refusals / sizeof *refusals; r++)
        if (!strncmp(h->name, r->head, strlen(r->head)) && (!r->edge || !strncmp(e->name, r->edge, strlen(r->edge))))
            return r;
    return NULL;
}

static void judge(const struct head *h, const struct edge *e, const struct sample *x, status st, bool gradients)
{
    const struct refusal *r = refusal_of(h, e);
    if (e->change == huge && st == ST_NUMERIC && strstr(error_text(), beyond)) return;
    const char *what = gradients ? ", with gradients" : "";
    if (st != OK && (!r || !strstr(error_text(), r->says)))
        test_failed(__FILE__, __LINE__, "%s, %s%s: %s", h->name, e->name, what, error_text());
    if (st == OK && r) test_failed(__FILE__, __LINE__, "%s, %s%s: not refused", h->name, e->name, what);
    if (st != OK) return;
    if (!all_finite(x, x->r.scores, x->e.query_count * x->way) || !isfinite(x->loss))
        test_failed(__FILE__, __LINE__, "%s, %s%s: scores or loss are not finite", h->name, e->name, what);
    if (gradients &&
        !(all_finite(x, x->r.grad_support, support_count(x)) && all_finite(x, x->r.grad_query, query_count(x))))
        test_failed(__FILE__, __LINE__, "%s, %s: gradients are not finite", h->name, e->name);
}

static void ask(const struct head *h, const struct edge *e, bool gradients)
{
    struct sample x;
    struct desk d;
    REQUIRE(desk_open(&d, h->name, NULL, 2) && sample_make(&e->shape, 1, &x));
    x.r.centrality_support = x.r.centrality_query = NULL;
    if (!gradients) x.r.grad_support = x.r.grad_query = NULL;
    e->change(&x);
    if (h->base) give_base(&d, &x);
    judge(h, e, &x, (status)centra_head_score(d.head, &x.e, &x.r), gradients);
    sample_free(&x);
    desk_close(&d);
}

TEST(every_head_answers_or_refuses_at_the_edge)
{
    for (size_t i = 0; head_table[i]; i++)
        for (size_t k = 0; k < sizeof edges / sizeof *edges; k++)
            for (int gradients = 0; gradients < (head_table[i]->fitted ? 1 : 2); gradients++)
                ask(head_table[i], &edges[k], gradients);
}
