/* head_base.c - base pictures given to a head: they are pooled, copied and sorted, and refused in words. */
#include "tests/api/sample.h"
#include "tests/test.h"
#include <math.h>

enum { PICTURES = 9, CHANNELS = 8, LOCATIONS = 5 };
static const struct sample_shape shape = {4, 2, 6, CHANNELS, LOCATIONS, CENTRA_F32};
static const int64_t labels[PICTURES] = {5, -1, 5, 9, -1, 9, 9, -1, 5};

static void draw(float *x, size_t n)
{
    struct random r = test_random();
    for (size_t i = 0; i < n; i++) x[i] = (float)random_normal(&r);
}

static bool scored(const struct desk *d, struct sample *x)
{
    x->r.centrality_support = x->r.centrality_query = x->r.grad_support = x->r.grad_query = NULL;
    const status st = (status)centra_head_score(d->head, &x->e, &x->r);
    EXPECT_OK(st);
    return st == OK;
}

TEST(base_pictures_may_come_in_any_order_and_precision)
{
    float x[PICTURES * CHANNELS * LOCATIONS], turned[PICTURES * CHANNELS * LOCATIONS];
    double pooled[PICTURES * CHANNELS] = {0};
    int64_t turned_labels[PICTURES];
    struct sample a, b;
    struct desk d;
    draw(x, sizeof x / sizeof *x);
    for (size_t i = 0; i < PICTURES; i++) {
        const size_t from = (i + 3) % PICTURES; /* within each class the order changes */
        memcpy(turned + i * CHANNELS * LOCATIONS, x + from * CHANNELS * LOCATIONS, CHANNELS * LOCATIONS * sizeof *x);
        turned_labels[i] = labels[from];
    }
    for (size_t i = 0; i < PICTURES * CHANNELS * LOCATIONS; i++) pooled[i / LOCATIONS] += (double)x[i];
    for (size_t i = 0; i < PICTURES * CHANNELS; i++) pooled[i] /= LOCATIONS;
    REQUIRE(desk_open(&d, "centroid", NULL, 1) && sample_make(&shape, 1, &a) && sample_make(&shape, 1, &b));
    EXPECT_OK((status)centra_head_base(d.head, CENTRA_F32, PICTURES, CHANNELS, LOCATIONS, x, labels));
    REQUIRE(scored(&d, &a));
    EXPECT_OK((status)centra_head_base(d.head, CENTRA_F64, PICTURES, CHANNELS, 1, pooled, labels));
    REQUIRE(scored(&d, &b));
    for (size_t i = 0; i < a.e.query_count * a.way; i++)
        EXPECT_NEAR(sample_at(&b, b.r.scores, i), sample_at(&a, a.r.scores, i), 0);
    EXPECT_OK((status)centra_head_base(d.head, CENTRA_F32, PICTURES, CHANNELS, LOCATIONS, turned, turned_labels));
    REQUIRE(scored(&d, &b)); /* other pictures are drawn, of the same classes */
    sample_free(&a);
    sample_free(&b);
    desk_close(&d);
}

static void expect_refused(const struct desk *d, status wanted, const char *says, size_t count, size_t channels,
                           const float *x, const int64_t *given)
{
    EXPECT_STATUS((status)centra_head_base(d->head, CENTRA_F32, count, channels, LOCATIONS, x, given), wanted);
    if (!strstr(centra_message(), says)) test_failed(__FILE__, __LINE__, "%s does not say %s", centra_message(), says);
}

TEST(base_pictures_are_refused_in_words)
{
    float x[PICTURES * CHANNELS * LOCATIONS];
    struct sample s;
    struct desk d, other;
    draw(x, sizeof x / sizeof *x);
    REQUIRE(desk_open(&d, "centroid", NULL, 1) && desk_open(&other, "proto", NULL, 1) && sample_make(&shape, 1, &s));
    expect_refused(&other, ST_USAGE, "the head proto does not look at base classes", PICTURES, CHANNELS, x, labels);
    expect_refused(&d, ST_USAGE, "needs a head, features and labels", PICTURES, CHANNELS, NULL, labels);
    expect_refused(&d, ST_SHAPE, "0 base pictures", 0, CHANNELS, x, labels);
    expect_refused(&d, ST_SHAPE, "too many", SIZE_MAX / 4, CHANNELS, x, labels);
    x[(2 * CHANNELS + 3) * LOCATIONS] = NAN;
    expect_refused(&d, ST_VALUE, "picture 2, channel 3 are not finite", PICTURES, CHANNELS, x, labels);
    s.r.centrality_support = s.r.centrality_query = s.r.grad_support = s.r.grad_query = NULL;
    EXPECT_STATUS((status)centra_head_score(d.head, &s.e, &s.r), ST_USAGE);
    EXPECT(strstr(centra_message(), "needs pictures of base classes"));
    draw(x, sizeof x / sizeof *x);
    EXPECT_OK((status)centra_head_base(d.head, CENTRA_F32, PICTURES, CHANNELS / 2, LOCATIONS, x, labels));
    EXPECT_STATUS((status)centra_head_score(d.head, &s.e, &s.r), ST_SHAPE);
    EXPECT(strstr(centra_message(), "4 channels, but those of the episode have 8"));
    sample_free(&s);
    desk_close(&d);
    desk_close(&other);
}

/* Giving them, and the first scores with them, with each allocation failing once. */
TEST(base_pictures_survive_failing_allocations)
{
    float x[PICTURES * CHANNELS * LOCATIONS];
    bool given = false, done = false;
    const size_t live = alloc_live();
    struct sample s;
    struct desk d;
    draw(x, sizeof x / sizeof *x);
    REQUIRE(desk_open(&d, "centroid", NULL, 1) && sample_make(&shape, 1, &s));
    s.r.centrality_support = s.r.centrality_query = s.r.grad_support = s.r.grad_query = NULL;
    size_t n = 1;
    for (; n < 20 && !given; n++) {
        alloc_fail_at(n);
        const status st = (status)centra_head_base(d.head, CENTRA_F32, PICTURES, CHANNELS, LOCATIONS, x, labels);
        given = !alloc_did_fail();
        alloc_fail_at(0);
        EXPECT_STATUS(st, given ? OK : ST_MEMORY);
    }
    EXPECT(given && n > 3);
    for (n = 1; n < 1000 && !done; n++) {
        alloc_fail_at(n);
        const status st = (status)centra_head_score(d.head, &s.e, &s.r);
        done = !alloc_did_fail();
        alloc_fail_at(0);
        EXPECT_STATUS(st, done ? OK : ST_MEMORY);
    }
    EXPECT(done && n > 3);
    sample_free(&s);
    desk_close(&d);
    EXPECT_INT(alloc_live(), live);
}
