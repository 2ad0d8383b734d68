/* course.c - lessons: each is a function of its counters, episodes are disjoint, an epoch of pre-training is the set. */
#include "train/course.h"
#include "tests/test.h"
#include "tests/train/rig.h"
#include <stdlib.h>

static bool open_course(const char *recipe, struct run_settings *s, arena **memory, struct dataset **data,
                        struct course **course)
{
    const char *path = data_folder(4, 7);
    *memory = arena_new(4096);
    *data = NULL;
    *course = NULL;
    const bool good = path && *memory && dataset_open(path, "train", NULL, data) == OK &&
                      tiny_settings(s, *memory, recipe) == OK && course_new(*data, &s->train, course) == OK;
    if (!good) test_failed(__FILE__, __LINE__, "no course: %s", error_text());
    return good;
}

static void close_course(arena *memory, struct dataset *data, struct course *course)
{
    course_free(course);
    dataset_close(data);
    arena_free(memory);
}

TEST(streams_differ_in_every_counter)
{
    const struct random r[] = {course_stream(1, STREAM_PICTURE, 2, 3, 4), course_stream(2, STREAM_PICTURE, 2, 3, 4),
                               course_stream(1, STREAM_DROPOUT, 2, 3, 4), course_stream(1, STREAM_PICTURE, 3, 3, 4),
                               course_stream(1, STREAM_PICTURE, 2, 4, 4), course_stream(1, STREAM_PICTURE, 2, 3, 5)};
    enum { COUNT = sizeof r / sizeof *r };
    uint64_t first[COUNT];
    for (int i = 0; i < COUNT; i++) {
        struct random copy = r[i];
        first[i] = random_u64(&copy);
        for (int k = 0; k < i; k++) EXPECT(first[i] != first[k]);
    }
}

/* Labels of the queries belong to the classes of the support, and no picture plays both parts. */
static void check_episodes(const struct dataset *data, const struct lesson *l)
{
    const size_t ns = l->support / l->episodes, nq = l->queries / l->episodes;
    for (size_t b = 0; b < l->episodes; b++)
        for (size_t i = 0; i < nq; i++) {
            const uint32_t query = l->picture[l->support + b * nq + i], *support = l->picture + b * ns;
            const int32_t label = l->labels[b * nq + i];
            EXPECT_INT(dataset_class_of(data, support[label]), dataset_class_of(data, query));
            for (size_t k = 0; k < ns; k++) EXPECT(support[k] != query);
        }
}

TEST(lessons_are_the_same_however_they_are_reached)
{
    static const char *const recipes[] = {"train.episodes=7 train.batch=3", "train.sampler=unrepeated",
                                          "train.stage=pretrain train.batch=5"};
    for (size_t n = 0; n < 3; n++) {
        struct run_settings s;
        arena *memory;
        struct dataset *data;
        struct course *a, *b = NULL;
        struct lesson x, y;
        REQUIRE(open_course(recipes[n], &s, &memory, &data, &a) && course_new(data, &s.train, &b) == OK);
        for (uint64_t epoch = 0; epoch < 2; epoch++) {
            REQUIRE(course_seek(a, epoch, 0) == OK);
            for (uint64_t i = 0; i < course_steps(a); i++) {
                REQUIRE(course_next(a, &x) == OK && course_seek(b, epoch, i) == OK && course_next(b, &y) == OK);
                EXPECT(x.support == y.support && x.queries == y.queries && x.epoch == epoch && x.index == i);
                EXPECT(x.support + x.queries <= course_most(a) && x.queries > 0);
                EXPECT(!memcmp(x.picture, y.picture, (x.support + x.queries) * sizeof *x.picture));
                EXPECT(!memcmp(x.labels, y.labels, x.queries * sizeof *x.labels));
                if (x.episodes) check_episodes(data, &x);
            }
        }
        if (n == 0) EXPECT(x.episodes == 1 && course_steps(a) == 3); /* 7 = 3 + 3 + 1 */
        course_free(b);
        close_course(memory, data, a);
    }
}

TEST(an_epoch_of_pretraining_is_the_whole_set_in_another_order)
{
    struct run_settings s;
    arena *memory;
    struct dataset *data;
    struct course *c;
    struct lesson l;
    uint32_t order[2][28];
    REQUIRE(open_course("train.stage=pretrain train.batch=5", &s, &memory, &data, &c));
    for (uint64_t epoch = 0; epoch < 2; epoch++) {
        unsigned char seen[28] = {0};
        size_t n = 0;
        REQUIRE(course_seek(c, epoch, 0) == OK);
        EXPECT_INT(course_steps(c), 6); /* the last has 3 pictures and is kept */
        for (size_t i = 0; i < course_steps(c); i++) {
            REQUIRE(course_next(c, &l) == OK && n + l.queries <= 28);
            for (size_t k = 0; k < l.queries; k++) {
                EXPECT_INT(l.labels[k], dataset_class_of(data, l.picture[k]));
                seen[l.picture[k]]++;
                order[epoch][n++] = l.picture[k];
            }
        }
        for (int i = 0; i < 28; i++) EXPECT_INT(seen[i], 1);
    }
    EXPECT(memcmp(order[0], order[1], sizeof order[0]) != 0);
    close_course(memory, data, c);
}
