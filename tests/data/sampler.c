/* Tests of data/sampler.h. */
#include "data/sampler.h"
#include "tests/test.h"
#include <stdlib.h>

enum { CLASSES = 12, EACH = 20 };

/* CLASSES classes of EACH pictures, one behind the other. */
static struct sampler *even_sampler(size_t way, size_t shot, size_t query, uint64_t seed)
{
    size_t first[CLASSES], size[CLASSES];
    struct sampler *s = NULL;
    for (size_t c = 0; c < CLASSES; c++) first[c] = c * EACH, size[c] = EACH;
    EXPECT_OK(sampler_new(CLASSES, first, size, way, shot, query, seed, &s));
    return s;
}

/* Pictures belong to the classes and labels they stand under, and none is there twice. */
static void expect_sound(const struct plan *p, size_t each)
{
    bool seen[CLASSES * EACH] = {false};
    size_t labels[CLASSES] = {0};
    for (size_t k = 0; k < p->way; k++)
        for (size_t other = 0; other < k; other++) EXPECT(p->classes[other] != p->classes[k]);
    for (size_t i = 0; i < p->way * p->shot; i++) {
        EXPECT_INT(p->support[i] / each, p->classes[i / p->shot]);
        EXPECT(!seen[p->support[i]]);
        seen[p->support[i]] = true;
    }
    for (size_t i = 0; i < p->way * p->query; i++) {
        REQUIRE(p->query_labels[i] >= 0 && (size_t)p->query_labels[i] < p->way);
        labels[p->query_labels[i]]++;
        EXPECT_INT(p->queries[i] / each, p->classes[p->query_labels[i]]);
        EXPECT(!seen[p->queries[i]]);
        seen[p->queries[i]] = true;
    }
    for (size_t k = 0; k < p->way; k++) EXPECT_INT(labels[k], p->query);
}

static bool same_plan(const struct plan *a, const struct plan *b)
{
    return !memcmp(a->classes, b->classes, a->way * sizeof *a->classes) &&
           !memcmp(a->support, b->support, a->way * a->shot * sizeof *a->support) &&
           !memcmp(a->queries, b->queries, a->way * a->query * sizeof *a->queries) &&
           !memcmp(a->query_labels, b->query_labels, a->way * a->query * sizeof *a->query_labels);
}

/* Chi-square of counts against an even share, less its expectation, in standard deviations. */
static double unevenness(const size_t *counts, size_t n)
{
    double total = 0, chi = 0;
    for (size_t i = 0; i < n; i++) total += (double)counts[i];
    const double share = total / (double)n;
    for (size_t i = 0; i < n; i++) chi += ((double)counts[i] - share) * ((double)counts[i] - share) / share;
    return (chi - (double)(n - 1)) / sqrt(2.0 * (double)(n - 1));
}

TEST(sampler_support_and_queries_never_overlap)
{
    struct sampler *s = even_sampler(5, 5, 15, 1); /* all pictures of a class are needed */
    struct plan p;
    REQUIRE(s);
    EXPECT_OK(plan_new(5, 5, 15, &p));
    for (uint64_t i = 0; i < 300; i++) {
        EXPECT_OK(sampler_episode(s, 0, i, &p));
        expect_sound(&p, EACH);
    }
    plan_free(&p);
    sampler_free(s);
}

TEST(sampler_episode_is_a_function_of_seed_epoch_and_index)
{
    struct sampler *s = even_sampler(5, 1, 15, 9), *again = even_sampler(5, 1, 15, 9),
                   *other = even_sampler(5, 1, 15, 10);
    struct plan a, b;
    REQUIRE(s && again && other);
    EXPECT_OK(plan_new(5, 1, 15, &a));
    EXPECT_OK(plan_new(5, 1, 15, &b));
    EXPECT_OK(sampler_episode(s, 3, 7, &a));
    EXPECT_OK(sampler_episode(s, 7, 3, &b)); /* not the sum, not in either order */
    EXPECT(!same_plan(&a, &b));
    EXPECT_OK(sampler_episode(other, 3, 7, &b));
    EXPECT(!same_plan(&a, &b));
    EXPECT_OK(sampler_episode(again, 3, 7, &b));
    EXPECT(same_plan(&a, &b));
    plan_free(&a);
    plan_free(&b);
    sampler_free(s);
    sampler_free(again);
    sampler_free(other);
}

TEST(sampler_every_class_picture_and_place_is_as_likely)
{
    enum { EPISODES = 6000, WAY = 3, QUERY = 2 };
    struct sampler *s = even_sampler(WAY, 1, QUERY, 4);
    struct plan p;
    size_t first[CLASSES] = {0}, support[CLASSES * EACH] = {0}, query[CLASSES * EACH] = {0}, label[WAY] = {0};
    REQUIRE(s);
    EXPECT_OK(plan_new(WAY, 1, QUERY, &p));
    for (uint64_t i = 0; i < EPISODES; i++) {
        EXPECT_OK(sampler_episode(s, 1, i, &p));
        first[p.classes[0]]++;
        label[p.query_labels[0]]++;
        for (size_t k = 0; k < WAY; k++) support[p.support[k]]++;
        for (size_t k = 0; k < WAY * QUERY; k++) query[p.queries[k]]++;
    }
    EXPECT(fabs(unevenness(first, CLASSES)) < 4);
    EXPECT(fabs(unevenness(label, WAY)) < 4);
    EXPECT(fabs(unevenness(support, CLASSES * EACH)) < 4);
    EXPECT(fabs(unevenness(query, CLASSES * EACH)) < 4);
    plan_free(&p);
    sampler_free(s);
}

TEST(sampler_leaves_small_classes_out)
{
    const size_t first[] = {0, 16, 31, 47}, size[] = {16, 15, 16, 16};
    struct sampler *s = NULL;
    struct plan p;
    EXPECT_OK(sampler_new(4, first, size, 3, 1, 15, 1, &s));
    REQUIRE(s);
    EXPECT_INT(sampler_left_out(s), 1);
    EXPECT_OK(plan_new(3, 1, 15, &p));
    for (uint64_t i = 0; i < 20; i++) {
        EXPECT_OK(sampler_episode(s, 0, i, &p));
        for (size_t k = 0; k < 3; k++) EXPECT(p.classes[k] != 1 && p.support[k] >= first[p.classes[k]]);
    }
    plan_free(&p);
    sampler_free(s);
}

TEST(sampler_too_few_classes_are_refused_with_the_numbers)
{
    const size_t first[] = {0, 16, 31}, size[] = {16, 15, 16};
    struct sampler *s = NULL;
    EXPECT_STATUS(sampler_new(3, first, size, 3, 1, 15, 1, &s), ST_VALUE);
    EXPECT_TEXT(error_text(),
                "episodes of 3 classes need that many with at least 16 pictures (1 support + 15 query), but only "
                "2 of 3 have them");
    EXPECT_STATUS(sampler_new(3, first, size, 0, 1, 15, 1, &s), ST_VALUE);
    EXPECT_STATUS(sampler_new(3, first, size, 2, SIZE_MAX, 15, 1, &s), ST_VALUE);
    EXPECT_STATUS(sampler_new(3, first, size, 2, 1, SIZE_MAX / 2, 1, &s), ST_VALUE);
    EXPECT(!s);
}

TEST(sampler_refuses_a_plan_of_another_shape)
{
    struct sampler *s = even_sampler(5, 1, 15, 1);
    struct plan p;
    REQUIRE(s);
    EXPECT_OK(plan_new(5, 1, 14, &p));
    EXPECT_STATUS(sampler_episode(s, 0, 0, &p), ST_SHAPE);
    plan_free(&p);
    sampler_free(s);
}

TEST(sampler_epoch_plays_no_picture_twice)
{
    struct sampler *s = even_sampler(5, 1, 5, 2);
    struct plan *plans = NULL, *again = NULL;
    size_t count = 0, second = 0;
    bool seen[CLASSES * EACH] = {false};
    REQUIRE(s);
    EXPECT_OK(sampler_epoch(s, 4, &plans, &count));
    EXPECT(count >= 6 && count <= 7); /* 12 classes of three shares: 36 / 5 */
    for (size_t e = 0; e < count; e++) {
        expect_sound(&plans[e], EACH);
        for (size_t i = 0; i < 5 * 6; i++) {
            const uint32_t picture = i < 5 ? plans[e].support[i] : plans[e].queries[i - 5];
            EXPECT(!seen[picture]);
            seen[picture] = true;
        }
    }
    EXPECT_OK(sampler_epoch(s, 4, &again, &second));
    EXPECT_INT(second, count);
    for (size_t e = 0; e < count; e++) EXPECT(same_plan(&plans[e], &again[e]));
    sampler_epoch_free(again, second);
    EXPECT_OK(sampler_epoch(s, 5, &again, &second));
    EXPECT(!same_plan(&plans[0], &again[0]));
    sampler_epoch_free(again, second);
    sampler_epoch_free(plans, count);
    sampler_free(s);
}

TEST(sampler_epoch_uses_pictures_evenly)
{
    struct sampler *s = even_sampler(5, 1, 5, 3);
    size_t uses[CLASSES * EACH] = {0}, last[CLASSES] = {0};
    REQUIRE(s);
    for (uint64_t epoch = 0; epoch < 1500; epoch++) {
        struct plan *plans;
        size_t count;
        REQUIRE(sampler_epoch(s, epoch, &plans, &count) == OK);
        for (size_t e = 0; e < count; e++)
            for (size_t i = 0; i < 5; i++) uses[plans[e].support[i]]++;
        last[plans[count - 1].classes[0]]++;
        sampler_epoch_free(plans, count);
    }
    EXPECT(unevenness(uses, CLASSES * EACH) < 4); /* draws without replacement are more even than free ones */
    EXPECT(fabs(unevenness(last, CLASSES)) < 4);
    sampler_free(s);
}

/* A split like CUB's: 100 classes, 72 of 60 pictures and the others of 44 to 59 (methods 6.4.2). */
TEST(sampler_epoch_has_as_many_episodes_as_simulated)
{
    static const struct {
        size_t way, shot, low, high;
    } known[] = {{30, 1, 9, 9}, {20, 5, 12, 13}, {10, 1, 28, 29}, {10, 5, 26, 27}};
    size_t first[100], size[100];
    for (size_t c = 0, at = 0; c < 100; c++) {
        size[c] = c < 72 ? 60 : 44 + (c * 7) % 16;
        first[c] = at;
        at += size[c];
    }
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct sampler *s = NULL;
        EXPECT_OK(sampler_new(100, first, size, known[i].way, known[i].shot, 15, 1, &s));
        REQUIRE(s);
        for (uint64_t epoch = 0; epoch < 20; epoch++) {
            struct plan *plans;
            size_t count;
            REQUIRE(sampler_epoch(s, epoch, &plans, &count) == OK);
            EXPECT(count >= known[i].low && count <= known[i].high);
            sampler_epoch_free(plans, count);
        }
        sampler_free(s);
    }
}

TEST(sampler_without_memory_says_so_and_leaks_nothing)
{
    struct sampler *s = even_sampler(5, 1, 5, 3);
    REQUIRE(s);
    for (size_t n = 1;; n++) {
        struct plan *plans = NULL;
        size_t count = 0;
        const size_t live = alloc_live();
        alloc_fail_at(n);
        const status st = sampler_epoch(s, 0, &plans, &count);
        alloc_fail_at(0);
        if (st == OK) {
            sampler_epoch_free(plans, count);
            EXPECT(n == 5);
            break;
        }
        EXPECT_INT(st, ST_MEMORY);
        EXPECT_INT(alloc_live(), live);
    }
    sampler_free(s);
}
