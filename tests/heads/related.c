/* related.c - which base pictures are given to which class: a worked example, and what must hold for any scores. */
#include "heads/related.h"
#include "tests/ops/world.h"
#include "tests/test.h"

/* Two classes, four base classes of two pictures each: 0 is taken for class 0 by both pictures, 1 by one of them, which also
 * has the higher score; 2 is half each, 3 is taken for class 1 by both. */
static const size_t first[] = {0, 2, 4, 6, 8};
static const double worked[] = {0.9, 0.1, 0.8, 0.2, 5, 0, 0.1, 0.3, 0.6, 0.5, 0.4, 0.7, 0.1, 0.6, 0.2, 0.9};

static void expect_rows(const struct related *r, size_t class, const uint32_t *rows, size_t n)
{
    EXPECT_INT(r->first[class + 1] - r->first[class], n);
    for (size_t i = 0; i < n; i++) EXPECT_INT(r->rows[r->first[class] + i], rows[i]);
}

TEST(base_classes_go_to_the_class_that_most_of_their_pictures_are_taken_for)
{
    struct world w;
    struct related r;
    const struct head_base base = {.classes = 4, .first = first};
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_INFERENCE));
    for (size_t most = 2; most < 5; most++) {
        EXPECT_OK(related_choose(w.t, &base, 2, worked, most, &r));
        expect_rows(&r, 0, (uint32_t[]){0, 1, 2}, 3); /* 0 by both; then 1, whose one picture has the higher score */
        expect_rows(&r, 1, (uint32_t[]){5, 6, 7}, 3); /* 3 by both; then the half of 2, which goes to one class only */
        EXPECT(r.by_base[0] == 0 && r.by_base[1] == 2);
    }
    EXPECT_OK(related_choose(w.t, &base, 2, worked, 1, &r));
    expect_rows(&r, 0, (uint32_t[]){0, 1}, 2);
    expect_rows(&r, 1, (uint32_t[]){6, 7}, 2);
    EXPECT_OK(related_choose(w.t, &base, 2, worked, 0, &r));
    EXPECT(r.first[2] == 0 && r.by_base[0] == UINT64_MAX);
    world_close(&w);
}

/* The second base class finds its class full, and no picture of it is taken for the other. */
TEST(a_base_class_never_goes_to_a_class_that_none_of_its_pictures_is_taken_for)
{
    static const double scores[] = {3, 0, 3, 0, 2, 1, 2, 1};
    struct world w;
    struct related r;
    const struct head_base base = {.classes = 2, .first = first};
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_INFERENCE));
    EXPECT_OK(related_choose(w.t, &base, 2, scores, 1, &r));
    expect_rows(&r, 0, (uint32_t[]){0, 1}, 2);
    expect_rows(&r, 1, NULL, 0);
    EXPECT(r.by_base[0] == 0 && r.by_base[1] == UINT64_MAX);
    world_close(&w);
}

TEST(a_class_for_which_no_picture_is_taken_gets_none)
{
    struct world w;
    struct related r;
    double scores[8 * 3];
    const struct head_base base = {.classes = 4, .first = first};
    for (size_t i = 0; i < 24; i++) scores[i] = i % 3 == 1 ? 1 : 0.5;
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_INFERENCE));
    EXPECT_OK(related_choose(w.t, &base, 3, scores, 10, &r));
    EXPECT(r.first[1] == 0 && r.first[2] == 8 && r.first[3] == 8);
    EXPECT(r.by_base[0] == UINT64_MAX && r.by_base[1] == 0 && r.by_base[2] == UINT64_MAX);
    world_close(&w);
}

/* Renaming the classes renames what they get, and nothing else. */
TEST(what_is_related_does_not_depend_on_the_names_of_the_classes)
{
    enum { WAY = 3, CLASSES = 5, EACH = 6, N = CLASSES * EACH };
    static const size_t ranges[] = {0, 6, 12, 18, 24, 30}, becomes[WAY] = {2, 0, 1};
    const struct head_base base = {.classes = CLASSES, .first = ranges};
    struct random random = test_random();
    struct world w;
    struct related a, b;
    double scores[N * WAY], renamed[N * WAY];
    for (size_t i = 0; i < N * WAY; i++) scores[i] = random_normal(&random);
    for (size_t i = 0; i < N * WAY; i++) renamed[i / WAY * WAY + becomes[i % WAY]] = scores[i];
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_INFERENCE));
    EXPECT_OK(related_choose(w.t, &base, WAY, scores, 2, &a));
    EXPECT_OK(related_choose(w.t, &base, WAY, renamed, 2, &b));
    for (size_t c = 0; c < WAY; c++) {
        EXPECT(a.by_base[c] == b.by_base[becomes[c]]);
        expect_rows(&b, becomes[c], a.rows + a.first[c], a.first[c + 1] - a.first[c]);
    }
    world_close(&w);
}

/* Shares count and not numbers: two of two pictures are more than three of six. */
TEST(large_base_classes_are_not_preferred)
{
    static const size_t bounds[] = {0, 6, 8};
    static const double scores[8 * 2] = {1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 1, 1, 0, 1, 0};
    const struct head_base base = {.classes = 2, .first = bounds};
    struct world w;
    struct related r;
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_INFERENCE));
    EXPECT_OK(related_choose(w.t, &base, 2, scores, 1, &r));
    expect_rows(&r, 0, (uint32_t[]){6, 7}, 2);
    expect_rows(&r, 1, (uint32_t[]){3, 4, 5}, 3);
    world_close(&w);
}

/* Base classes that are exactly alike go in their order, and one that is as near to two classes to the first of them. */
TEST(equal_base_classes_go_in_their_order)
{
    static const size_t bounds[] = {0, 2, 4, 6};
    static const double scores[6 * 2] = {1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1};
    const struct head_base base = {.classes = 3, .first = bounds};
    struct world w;
    struct related r;
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_INFERENCE));
    EXPECT_OK(related_choose(w.t, &base, 2, scores, 1, &r));
    expect_rows(&r, 0, (uint32_t[]){0}, 1);
    expect_rows(&r, 1, (uint32_t[]){3}, 1);
    EXPECT(r.by_base[0] == 0 && r.by_base[1] == 1);
    world_close(&w);
}
