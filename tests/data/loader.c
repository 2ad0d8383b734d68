/* Tests of data/loader.h, and of transform_resized, which it uses. */
#include "data/loader.h"
#include "tests/data/sample.h"
#include "tests/test.h"
#include <stdlib.h>

enum { MOST = 7, BATCHES = 9, LAST = 3, SIDE = 24, FLOATS = 3 * SIDE * SIDE, ALL = (BATCHES - 1) * MOST + LAST };

/* BATCHES batches of MOST pictures, the last of LAST, that jump about in a set of *context pictures. */
static size_t plan(void *context, uint64_t index, struct load_item *items, size_t most)
{
    const size_t pictures = *(const size_t *)context, count = index + 1 < BATCHES ? most : LAST;
    if (index >= BATCHES) return 0;
    for (size_t i = 0; i < count; i++) {
        const struct random root = {.seed = 8};
        items[i].picture = (uint32_t)((index * most + i) * 5 % pictures);
        items[i].random = random_branch(&root, index * most + i);
    }
    return count;
}

static struct dataset *synthetic(size_t *count)
{
    struct dataset *d = NULL;
    EXPECT_OK(dataset_open("synth:3?train=4&pictures=4&side=40", "train", NULL, &d));
    if (d) *count = dataset_count(d);
    return d;
}

static struct loader_options options_for(const struct transform *t)
{
    return (struct loader_options){.transform = t, .random = true, .most = MOST, .threads = 2, .ahead = 2};
}

/* Everything that a loader gives, [ALL, FLOATS]; the caller frees it. */
static float *load_all(const struct dataset *d, const struct loader_options *o, size_t count)
{
    struct loader *l = NULL;
    size_t n = 1, at = (size_t)o->first * MOST;
    float *all = calloc(ALL * FLOATS, sizeof *all);
    EXPECT_OK(loader_new(d, o, plan, &count, &l));
    while (all && l && n) {
        const float *batch = NULL;
        const status st = loader_next(l, &batch, &n);
        EXPECT_OK(st);
        if (st != OK || at + n > ALL) break;
        if (n) memcpy(all + at * FLOATS, batch, n * FLOATS * sizeof *all);
        at += n;
    }
    EXPECT_INT(at, ALL);
    loader_free(l);
    return all;
}

static void expect_same(const float *a, const float *b, size_t from)
{
    REQUIRE(a && b);
    EXPECT(!memcmp(a + from * FLOATS, b + from * FLOATS, (ALL - from) * FLOATS * sizeof *a));
}

TEST(loader_gives_what_the_transform_gives_with_any_number_of_threads)
{
    size_t count = 0;
    struct dataset *d = synthetic(&count);
    REQUIRE(d);
    for (int kind = 0; kind < 4; kind++)
        for (int random = kind == TRANSFORM_PAD_CROP; random < 2; random++) {
            const struct transform t = transform_standard((enum transform_kind)kind, SIDE, 6);
            struct loader_options o = options_for(&t);
            float *wanted = calloc(ALL * FLOATS, sizeof *wanted);
            REQUIRE(wanted);
            for (size_t i = 0; i < ALL; i++) {
                struct load_item items[MOST];
                struct picture p = {0};
                plan(&count, i / MOST, items, MOST);
                EXPECT_OK(dataset_picture(d, items[i % MOST].picture, &p));
                EXPECT_OK(transform_apply(&t, &p, random ? &items[i % MOST].random : NULL, wanted + i * FLOATS));
                picture_free(&p);
            }
            for (size_t run = 0; run < 6; run++) {
                o.random = random;
                o.threads = (size_t[]){1, 2, 5}[run % 3];
                o.ahead = 1 + run;
                o.cache_bytes = run < 3 ? 0 : LOADER_CACHE_BYTES;
                float *seen = load_all(d, &o, count);
                expect_same(seen, wanted, 0);
                free(seen);
            }
            free(wanted);
        }
    dataset_close(d);
}

/* Cells are cut before anything is resized, so nothing may be kept. */
TEST(loader_gives_the_cells_of_grids_with_any_number_of_threads)
{
    static const size_t sizes[] = {2, 1};
    enum { CELLS = 5 };
    size_t count = 0;
    struct dataset *d = synthetic(&count);
    const struct transform t = transform_standard(TRANSFORM_RESIZE_CROP, SIDE, 6);
    struct loader_options o = options_for(&t);
    REQUIRE(d);
    o.grids = 2;
    o.grid_sizes = sizes;
    o.cache_bytes = LOADER_CACHE_BYTES;
    for (size_t run = 0; run < 6; run++) {
        struct loader *l = NULL;
        size_t n = 1;
        o.random = run < 3;
        o.threads = (size_t[]){1, 2, 5}[run % 3];
        REQUIRE(loader_new(d, &o, plan, &count, &l) == OK);
        for (uint64_t index = 0; n; index++) {
            const float *batch = NULL;
            struct load_item items[MOST];
            EXPECT_OK(loader_next(l, &batch, &n));
            EXPECT_INT(n, plan(&count, index, items, MOST));
            for (size_t i = 0; i < n; i++) {
                static float wanted[CELLS * FLOATS];
                struct picture p = {0};
                EXPECT_OK(dataset_picture(d, items[i].picture, &p));
                EXPECT_OK(transform_cells(&t, &p, 2, sizes, o.random ? &items[i].random : NULL, wanted));
                EXPECT(!memcmp(batch + i * CELLS * FLOATS, wanted, sizeof wanted));
                picture_free(&p);
            }
        }
        loader_free(l);
    }
    dataset_close(d);
}

TEST(loader_begins_where_it_is_told)
{
    size_t count = 0;
    struct dataset *d = synthetic(&count);
    const struct transform t = transform_standard(TRANSFORM_RESIZE_CROP, SIDE, 6);
    struct loader_options o = options_for(&t);
    REQUIRE(d);
    float *whole = load_all(d, &o, count);
    o.first = 4;
    float *rest = load_all(d, &o, count);
    expect_same(whole, rest, 4 * MOST);
    free(whole);
    free(rest);
    dataset_close(d);
}

TEST(loader_stops_in_the_middle)
{
    size_t count = 0;
    struct dataset *d = synthetic(&count);
    const struct transform t = transform_standard(TRANSFORM_RESIZE_CROP, SIDE, 6);
    struct loader_options o = options_for(&t);
    REQUIRE(d);
    o.threads = 5;
    for (size_t batches = 0; batches < 6; batches++) {
        struct loader *l = NULL;
        REQUIRE(loader_new(d, &o, plan, &count, &l) == OK);
        for (size_t i = 0; i < batches; i++) {
            const float *batch;
            size_t n;
            EXPECT_OK(loader_next(l, &batch, &n));
        }
        loader_free(l);
    }
    dataset_close(d);
}

static size_t endless(void *context, uint64_t index, struct load_item *items, size_t most)
{
    return plan(context, index % (BATCHES - 1), items, most);
}

TEST(loader_allocates_nothing_once_the_pictures_are_kept)
{
    size_t count = 0, n, before = 0;
    struct dataset *d = synthetic(&count);
    const struct transform t = transform_standard(TRANSFORM_RESIZE_CROP, SIDE, 6);
    struct loader_options o = options_for(&t);
    struct loader *l = NULL;
    const float *batch;
    REQUIRE(d);
    o.cache_bytes = count * 30 * 30 * 3;
    REQUIRE(loader_new(d, &o, endless, &count, &l) == OK);
    for (int i = 0; i < 40; i++) {
        if (i == 20) before = alloc_count();
        EXPECT_OK(loader_next(l, &batch, &n));
    }
    EXPECT_INT(alloc_count(), before);
    loader_free(l);
    o.cache_bytes--; /* one byte too few for all: none is kept */
    REQUIRE(loader_new(d, &o, endless, &count, &l) == OK);
    EXPECT_OK(loader_next(l, &batch, &n));
    before = alloc_count();
    for (int i = 0; i < 20; i++) EXPECT_OK(loader_next(l, &batch, &n));
    EXPECT(alloc_count() > before);
    loader_free(l);
    dataset_close(d);
}

/* Class a: three pictures, the middle one broken; class b: one, broken. */
static struct dataset *broken_set(void)
{
    struct dataset *d = NULL;
    sample_grey("set/a/1.ppm", 10);
    sample_file("set/a/2.ppm", "P6 rubbish", 10);
    sample_grey("set/a/3.ppm", 30);
    sample_file("set/b/1.ppm", "P6 rubbish", 10);
    EXPECT_OK(dataset_open(sample_path("set"), NULL, NULL, &d));
    return d;
}

/* Ten batches of one picture: that of *context. */
static size_t only(void *context, uint64_t index, struct load_item *items, size_t most)
{
    (void)most;
    items[0] = (struct load_item){.picture = *(const uint32_t *)context};
    return index < 10;
}

TEST(loader_lets_another_picture_of_the_class_stand_in_and_warns_once)
{
    struct dataset *d = broken_set();
    const struct transform t = transform_standard(TRANSFORM_RESIZE_CROP, 4, 0);
    struct sample_log log;
    struct loader_options o = {.transform = &t, .most = 1, .threads = 3, .log = &log.sink};
    uint32_t broken = 1;
    sample_log_begin(&log);
    REQUIRE(d);
    for (int keep = 0; keep < 2; keep++) {
        struct loader *l = NULL;
        const float *batch;
        size_t n;
        log.lines[0] = 0;
        o.cache_bytes = keep ? LOADER_CACHE_BYTES : 0;
        REQUIRE(loader_new(d, &o, only, &broken, &l) == OK);
        for (int i = 0; i < 10; i++) {
            EXPECT_OK(loader_next(l, &batch, &n));
            REQUIRE(n == 1);
            EXPECT_NEAR(batch[0], (30 / 255.0 - 125.3 / 255) / (63.0 / 255), 1e-6); /* the one behind it */
        }
        EXPECT_OK(loader_next(l, &batch, &n));
        EXPECT_INT(n, 0);
        loader_free(l);
        const char *first = strstr(log.lines, "a/2.ppm");
        EXPECT(first && !strstr(first + 1, "a/2.ppm"));
    }
    dataset_close(d);
}

/* One batch of two pictures: twice that of *context. */
static size_t twice(void *context, uint64_t index, struct load_item *items, size_t most)
{
    for (size_t i = 0; i < most; i++) items[i] = (struct load_item){.picture = *(const uint32_t *)context};
    return index ? 0 : most;
}

/* Both threads are reading the file before either knows that it is rubbish. */
TEST(loader_warns_once_though_two_threads_meet_at_a_broken_picture)
{
    static char rubbish[7001] =
        "P6 rubbish"; /* of a size that nothing else has: files are read into malloc(size + 1) */
    struct dataset *d = broken_set();
    const struct transform t = transform_standard(TRANSFORM_RESIZE_CROP, 4, 0);
    struct sample_log log;
    struct loader_options o = {.transform = &t, .most = 2, .threads = 2, .log = &log.sink};
    struct loader *l = NULL;
    const float *batch;
    size_t n;
    uint32_t broken = 1;
    sample_file("set/a/2.ppm", rubbish, sizeof rubbish);
    sample_log_begin(&log);
    alloc_meet_at(sizeof rubbish + 1, 2);
    REQUIRE(d && loader_new(d, &o, twice, &broken, &l) == OK);
    EXPECT_OK(loader_next(l, &batch, &n));
    EXPECT_INT(n, 2);
    EXPECT(alloc_did_meet());
    alloc_meet_at(0, 0);
    EXPECT(n == 2 && batch[0] == batch[3 * 4 * 4]); /* the same stands in for both */
    loader_free(l);
    const char *first = strstr(log.lines, "a/2.ppm");
    EXPECT(first && !strstr(first + 1, "a/2.ppm"));
    dataset_close(d);
}

TEST(loader_names_the_picture_that_it_cannot_read)
{
    struct dataset *d = broken_set();
    const struct transform t = transform_standard(TRANSFORM_RESIZE_CROP, 4, 0);
    struct loader_options o = {.transform = &t, .most = 1, .threads = 2, .strict = true};
    struct loader *l = NULL;
    const float *batch;
    size_t n;
    uint32_t broken = 1, alone = 3;
    REQUIRE(d && loader_new(d, &o, only, &broken, &l) == OK);
    for (int again = 0; again < 2; again++) { /* a failure stays */
        EXPECT(loader_next(l, &batch, &n) != OK);
        EXPECT(strstr(error_text(), "a/2.ppm"));
    }
    loader_free(l);
    o.strict = false;
    REQUIRE(loader_new(d, &o, only, &alone, &l) == OK);
    EXPECT_STATUS(loader_next(l, &batch, &n), ST_FORMAT);
    EXPECT_TEXT(error_text(), "no picture of class 'b' can be read");
    loader_free(l);
    dataset_close(d);
}

TEST(loader_refuses_impossible_batches)
{
    size_t count = 0;
    struct dataset *d = synthetic(&count);
    struct transform t = transform_standard(TRANSFORM_RESIZE_CROP, SIDE, 6);
    struct loader_options o = options_for(&t);
    struct loader *l = NULL;
    REQUIRE(d);
    o.most = 0;
    EXPECT_STATUS(loader_new(d, &o, plan, &count, &l), ST_VALUE);
    o.most = SIZE_MAX / 64;
    EXPECT_STATUS(loader_new(d, &o, plan, &count, &l), ST_VALUE);
    o.most = MOST;
    t.side = 0;
    EXPECT_STATUS(loader_new(d, &o, plan, &count, &l), ST_VALUE);
    EXPECT(!l);
    dataset_close(d);
}

TEST(loader_without_memory_says_so_and_leaks_nothing)
{
    size_t count = 0;
    struct dataset *d = synthetic(&count);
    const struct transform t = transform_standard(TRANSFORM_RESIZE_CROP, SIDE, 6);
    struct loader_options o = options_for(&t);
    REQUIRE(d);
    o.cache_bytes = LOADER_CACHE_BYTES;
    const size_t live = alloc_live();
    for (size_t n = 1; n <= 40; n++) { /* of the loader itself, then of its threads */
        struct loader *l = NULL;
        const float *batch;
        size_t items;
        alloc_fail_at(n);
        status st = loader_new(d, &o, plan, &count, &l);
        for (int i = 0; st == OK && i < 5; i++) st = loader_next(l, &batch, &items);
        alloc_fail_at(0);
        EXPECT(st == OK || st == ST_MEMORY);
        loader_free(l);
        EXPECT_INT(alloc_live(), live);
        if (n < 3) EXPECT_INT(st, ST_MEMORY);
    }
    dataset_close(d);
}
