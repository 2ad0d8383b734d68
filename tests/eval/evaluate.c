/* evaluate.c - episodes on cached features: what is counted, and that it depends on nothing else. */
#include "eval/evaluate.h"
#include "tests/eval/rig.h"
#include "tests/test.h"
#include <stdlib.h>

enum { MOST_HEADS = 3 };

/* Plays `count` episodes with the named heads. */
static status play(struct stand *s, size_t heads, const char *const *names, size_t count, struct outcome *out)
{
    struct contender c[MOST_HEADS];
    const struct episodes e = {.sampler = s->sampler, .count = count};
    for (size_t i = 0; i < heads; i++) c[i] = stand_head(names[i]);
    const status st = evaluate(&s->f, c, heads, &e, &s->o, out);
    for (size_t i = 0; i < heads; i++) free((void *)(uintptr_t)c[i].settings);
    return st;
}

static void free_all(struct outcome *out, size_t n)
{
    for (size_t i = 0; i < n; i++) outcome_free(&out[i]);
}

static const char *const three[] = {"mcl-katz", "mcl", "unidirectional"};

TEST(evaluate_gives_1_when_features_tell_the_class)
{
    struct stand s;
    struct outcome out[3];
    size_t right = 0, asked = 0;
    REQUIRE(stand_open(&s, 2, 1, 0));
    EXPECT_OK(play(&s, 3, three, 100, out));
    for (size_t h = 0; h < 3; h++) {
        EXPECT_NEAR(out[h].mean.mean, 1, 0);
        EXPECT_NEAR(out[h].mean.half, 0, 0);
    }
    for (size_t c = 0; c < RIG_CLASSES; c++) right += out[1].right[c], asked += out[1].asked[c];
    EXPECT_INT(right, 100 * 30);
    EXPECT_INT(asked, 100 * 30);
    free_all(out, 3);
    stand_close(&s);
}

TEST(evaluate_with_shuffled_labels_gives_one_in_way)
{
    struct stand s;
    struct outcome out[1];
    REQUIRE(stand_open(&s, 2, 1, 0.5));
    EXPECT_OK(play(&s, 1, three, 2000, out));
    EXPECT(out[0].mean.mean > 0.5);
    outcome_free(&out[0]);
    s.o.shuffle_labels = true;
    EXPECT_OK(play(&s, 1, three, 2000, out));
    EXPECT_NEAR(out[0].mean.mean, 0.2, 1.5 * out[0].mean.half);
    EXPECT(out[0].mean.half < 0.005);
    outcome_free(&out[0]);
    stand_close(&s);
}

TEST(evaluate_plays_support_and_query_that_never_overlap)
{
    struct stand s;
    struct plan p;
    REQUIRE(stand_open(&s, 1, 1, 1));
    REQUIRE(plan_new(5, 1, 6, &p) == OK);
    for (size_t i = 0; i < 500; i++) {
        bool seen[RIG_PICTURES] = {false};
        EXPECT_OK(sampler_episode(s.sampler, 0, i, &p));
        for (size_t k = 0; k < 5; k++) {
            EXPECT_INT(p.support[k] / RIG_EACH, p.classes[k]);
            seen[p.support[k]] = true;
        }
        for (size_t q = 0; q < 30; q++) {
            EXPECT(!seen[p.queries[q]]);
            EXPECT_INT(p.queries[q] / RIG_EACH, p.classes[p.query_labels[q]]);
            seen[p.queries[q]] = true;
        }
    }
    plan_free(&p);
    stand_close(&s);
}

/* Draws episodes 0.. as a list; with `turned`, the classes of each change places. */
static status draw_list(struct stand *s, size_t count, bool turned, struct plan *list)
{
    status st = OK;
    for (size_t i = 0; i < count && st == OK; i++) {
        struct plan p;
        st = plan_new(5, 1, 6, &p);
        if (st == OK) st = plan_new(5, 1, 6, &list[i]);
        if (st == OK) st = sampler_episode(s->sampler, 0, i, &p);
        for (size_t k = 0; k < 5 && st == OK; k++) {
            const size_t to = turned ? (k + 2) % 5 : k;
            list[i].classes[to] = p.classes[k];
            list[i].support[to] = p.support[k];
        }
        for (size_t q = 0; q < 30 && st == OK; q++) {
            list[i].queries[q] = p.queries[q];
            list[i].query_labels[q] = turned ? (p.query_labels[q] + 2) % 5 : p.query_labels[q];
        }
        plan_free(&p);
    }
    return st;
}

TEST(evaluate_is_the_same_for_a_list_and_for_classes_in_another_order)
{
    enum { COUNT = 60 };
    struct stand s;
    struct outcome drawn, listed;
    struct contender c = stand_head("mcl-katz");
    REQUIRE(stand_open(&s, 2, 1, 1));
    EXPECT_OK(play(&s, 1, three, COUNT, &drawn));
    for (int turned = 0; turned < 2; turned++) {
        struct plan list[COUNT];
        EXPECT_OK(draw_list(&s, COUNT, turned, list));
        const struct episodes e = {.list = list, .count = COUNT};
        EXPECT_OK(evaluate(&s.f, &c, 1, &e, &s.o, &listed));
        EXPECT(!memcmp(drawn.accuracy, listed.accuracy, COUNT * sizeof(double)));
        EXPECT(!memcmp(drawn.right, listed.right, RIG_CLASSES * sizeof(size_t)));
        outcome_free(&listed);
        for (size_t i = 0; i < COUNT; i++) plan_free(&list[i]);
    }
    outcome_free(&drawn);
    free((void *)(uintptr_t)c.settings);
    stand_close(&s);
}

TEST(evaluate_pairs_each_head_with_the_first_on_the_same_episodes)
{
    struct stand s;
    struct outcome out[3], alone;
    REQUIRE(stand_open(&s, 2, 1, 1));
    EXPECT_OK(play(&s, 3, three, 300, out));
    EXPECT_OK(play(&s, 1, three + 2, 300, &alone));
    EXPECT_INT(out[0].paired.count, 0);
    for (size_t h = 1; h < 3; h++) {
        const struct interval d = interval_of_difference(out[h].accuracy, out[0].accuracy, 300, 0.95);
        EXPECT_NEAR(out[h].paired.mean, d.mean, 0);
        EXPECT_NEAR(out[h].paired.half, d.half, 0);
        EXPECT_NEAR(out[h].paired.mean, out[h].mean.mean - out[0].mean.mean, 1e-12);
    }
    EXPECT(!memcmp(out[2].accuracy, alone.accuracy, 300 * sizeof(double)));
    EXPECT(out[0].loss > 0 && out[0].seconds > 0);
    free_all(out, 3);
    outcome_free(&alone);
    stand_close(&s);
}

TEST(evaluate_does_not_depend_on_the_number_of_threads)
{
    struct outcome one[3], many[3];
    for (size_t threads = 1; threads < 5; threads++) {
        struct stand s;
        REQUIRE(stand_open(&s, threads == 4 ? 2 : threads, 1, 1));
        if (threads == 4) s.o.threads = NULL;
        EXPECT_OK(play(&s, 3, three, 200, many));
        for (size_t h = 0; h < 3 && threads > 1; h++) {
            EXPECT(!memcmp(one[h].accuracy, many[h].accuracy, 200 * sizeof(double)));
            EXPECT(!memcmp(one[h].right, many[h].right, RIG_CLASSES * sizeof(size_t)));
            EXPECT(!memcmp(one[h].asked, many[h].asked, RIG_CLASSES * sizeof(size_t)));
            EXPECT(!memcmp(&one[h].loss, &many[h].loss, sizeof(double)));
        }
        if (threads == 1) memcpy(one, many, sizeof one);
        else free_all(many, 3);
        stand_close(&s);
    }
    free_all(one, 3);
}

/* A device whose memory is another's gives a round's scores together; here the CPU plays one. */
TEST(evaluate_is_the_same_where_scores_are_fetched_by_the_round)
{
    enum { COUNT = 700 };
    struct stand s;
    struct outcome host[1], other[1];
    REQUIRE(stand_open(&s, 2, 1, 0.7));
    for (int shuffled = 0; shuffled < 2; shuffled++) {
        s.o.shuffle_labels = shuffled;
        s.w.dev->on_host = true;
        EXPECT_OK(play(&s, 1, three, COUNT, host));
        s.w.dev->on_host = false;
        EXPECT_OK(play(&s, 1, three, COUNT, other));
        EXPECT(!memcmp(host->accuracy, other->accuracy, COUNT * sizeof *host->accuracy));
        EXPECT(host->loss == other->loss && host->mean.mean == other->mean.mean && other->seconds > 0);
        EXPECT(!memcmp(host->right, other->right, RIG_CLASSES * sizeof *host->right));
        EXPECT(!memcmp(host->asked, other->asked, RIG_CLASSES * sizeof *host->asked));
        free_all(host, 1);
        free_all(other, 1);
    }
    stand_close(&s);
}

TEST(evaluate_allocates_nothing_for_an_episode_after_the_first)
{
    struct stand s;
    struct outcome out[3];
    size_t counts[3];
    REQUIRE(stand_open(&s, 1, 1, 1));
    for (size_t i = 0; i < 3; i++) {
        const size_t before = alloc_count();
        EXPECT_OK(play(&s, 3, three, i < 2 ? 5 : 500, out));
        counts[i] = alloc_count() - before;
        free_all(out, 3);
    }
    EXPECT_INT(counts[2], counts[1]); /* the device keeps its own memory from the first time on */
    stand_close(&s);
}

struct watch {
    size_t calls, last, stop_at;
};

static bool watch(void *context, size_t done, size_t of)
{
    struct watch *w = context;
    w->calls++;
    EXPECT(done >= w->last && done <= of);
    w->last = done;
    return done < w->stop_at;
}

TEST(evaluate_tells_its_progress_and_stops_when_told)
{
    struct stand s;
    struct outcome out;
    struct watch w = {.stop_at = SIZE_MAX};
    REQUIRE(stand_open(&s, 1, 1, 1));
    s.o.progress = watch;
    s.o.context = &w;
    EXPECT_OK(play(&s, 1, three, 100, &out));
    EXPECT(w.calls > 2);
    EXPECT_INT(w.last, 100);
    outcome_free(&out);
    w = (struct watch){.stop_at = 1};
    const size_t live = alloc_live();
    EXPECT_STATUS(play(&s, 1, three, 100, &out), ST_USAGE);
    EXPECT(strstr(error_text(), "stopped after 16 of 100"));
    EXPECT_INT(alloc_live(), live);
    stand_close(&s);
}

TEST(evaluate_refuses_scores_that_are_not_finite_and_nothing_to_do)
{
    struct stand s;
    struct outcome out;
    REQUIRE(stand_open(&s, 2, 1, 1));
    EXPECT_STATUS(play(&s, 1, three, 0, &out), ST_USAGE);
    for (size_t i = 0; i < RIG_PICTURES * RIG_CHANNELS * RIG_LOCATIONS; i++) ((float *)s.f.data.data)[i] = NAN;
    EXPECT_STATUS(play(&s, 1, three, 10, &out), ST_NUMERIC);
    stand_close(&s);
}

TEST(evaluate_survives_each_failing_allocation)
{
    struct stand s;
    struct outcome out;
    struct contender c = stand_head("mcl-katz");
    REQUIRE(stand_open(&s, 1, 1, 1));
    const struct episodes e = {.sampler = s.sampler, .count = 3};
    REQUIRE(evaluate(&s.f, &c, 1, &e, &s.o, &out) == OK); /* the device has its scratch memory now */
    outcome_free(&out);
    const size_t live = alloc_live();
    for (size_t n = 1;; n++) {
        alloc_fail_at(n);
        const status st = evaluate(&s.f, &c, 1, &e, &s.o, &out);
        const bool failed = alloc_did_fail();
        alloc_fail_at(0);
        EXPECT_STATUS(st, failed ? ST_MEMORY : OK);
        if (st == OK) outcome_free(&out);
        EXPECT_INT(alloc_live(), live);
        if (!failed) break;
        REQUIRE(n < 200);
    }
    free((void *)(uintptr_t)c.settings);
    stand_close(&s);
}

/* Mirror images at 1-shot are what the same episodes are at 2-shot, with the images as pictures of the set. */
TEST(evaluate_gives_dsn_the_mirror_images_as_second_shots)
{
    enum { COUNT = 40 };
    static const char *const names[] = {"dsn", "proto"};
    struct stand s, other;
    struct plan list[COUNT] = {{0}};
    struct outcome plain[2], with[2], twice[1];
    REQUIRE(stand_open(&s, 2, 1, 1.5) && stand_open(&other, 2, 1, 2));
    EXPECT_OK(play(&s, 2, names, COUNT, plain));
    s.f.mirrored = other.f.data;
    EXPECT_OK(play(&s, 2, names, COUNT, with));
    EXPECT(memcmp(plain[0].accuracy, with[0].accuracy, COUNT * sizeof(double)));
    EXPECT(!memcmp(plain[1].accuracy, with[1].accuracy, COUNT * sizeof(double)));
    struct features both = s.f;
    const size_t bytes = tensor_bytes(&s.f.data);
    struct device *d = s.f.device;
    REQUIRE(d->alloc(d, 2 * bytes, &both.data.data) == OK);
    EXPECT_OK(d->copy(d, both.data.data, s.f.data.data, bytes));
    EXPECT_OK(d->copy(d, (char *)both.data.data + bytes, other.f.data.data, bytes));
    both.data.dim[0] = 2 * (size_t)RIG_PICTURES;
    for (size_t i = 0; i < COUNT; i++) {
        struct plan p;
        REQUIRE(plan_new(5, 1, 6, &p) == OK && plan_new(5, 2, 6, &list[i]) == OK);
        EXPECT_OK(sampler_episode(s.sampler, 0, i, &p));
        memcpy(list[i].classes, p.classes, 5 * sizeof *p.classes);
        memcpy(list[i].queries, p.queries, 30 * sizeof *p.queries);
        memcpy(list[i].query_labels, p.query_labels, 30 * sizeof *p.query_labels);
        for (size_t k = 0; k < 10; k++) list[i].support[k] = p.support[k / 2] + (uint32_t)(k % 2) * RIG_PICTURES;
        plan_free(&p);
    }
    const struct contender dsn = stand_head("dsn");
    EXPECT_OK(evaluate(&both, &dsn, 1, &(struct episodes){.list = list, .count = COUNT}, &s.o, twice));
    EXPECT(!memcmp(twice[0].accuracy, with[0].accuracy, COUNT * sizeof(double)));
    for (size_t i = 0; i < COUNT; i++) plan_free(&list[i]);
    free((void *)(uintptr_t)dsn.settings);
    d->release(d, both.data.data);
    free_all(plain, 2);
    free_all(with, 2);
    free_all(twice, 1);
    stand_close(&other);
    stand_close(&s);
}
