/* resize.c - the loops of resizing on vectors against the plain ones, and parts of a resized picture against the whole. */
#include "image/resize.h"
#include "image/picture.h"
#include "tests/image/sample.h"
#include "tests/test.h"
#include <stdlib.h>

enum { LONGEST = 90, PLACES = 13, ROWS = 70 };

/* An axis over n places with random stretches of random weights, which sum to 1 as Pillow's do, or to a little more. */
struct made {
    struct resize_axis a;
    size_t from[PLACES], n[PLACES];
    int32_t weight[PLACES * LONGEST];
};

static void make_axis(struct random *r, size_t n, struct made *m)
{
    memset(m->weight, 0, sizeof m->weight);
    m->a = (struct resize_axis){.m = PLACES, .most = n, .from = m->from, .n = m->n, .weight = m->weight};
    for (size_t i = 0; i < PLACES; i++) {
        int32_t left = (1 << RESIZE_BITS) + 2;
        m->n[i] = 1 + (size_t)random_below(r, n);
        m->from[i] = (size_t)random_below(r, n - m->n[i] + 1);
        for (size_t x = 0; x < m->n[i]; x++) {
            const bool last = x + 1 == m->n[i];
            const int32_t w = last ? left : (int32_t)random_below(r, (uint64_t)left + 1);
            m->weight[i * n + x] = w;
            left -= w;
        }
    }
}

/* In a block of just that size, so that a sanitizer sees who reads or writes beside it. */
static uint8_t *random_bytes(struct random *r, size_t n, bool white)
{
    uint8_t *bytes = malloc(n);
    for (size_t i = 0; bytes && i < n; i++) bytes[i] = white ? 255 : (uint8_t)random_u32(r);
    return bytes;
}

TEST(rows_are_narrowed_alike_on_vectors)
{
    struct random r = test_random();
    if (!resize_fast_there()) {
        test_skip("this processor has no AVX2");
        return;
    }
    for (size_t n = 1; n <= LONGEST; n++) {
        struct made m;
        make_axis(&r, n, &m);
        uint8_t *row = random_bytes(&r, n * 3, n % 7 == 0), *seen = malloc(PLACES * 3), wanted[PLACES * 3];
        EXPECT_OK(resize_split(&m.a));
        REQUIRE(row && seen && m.a.split);
        resize_across(&m.a, row, wanted);
        resize_across_fast(&m.a, row, n * 3, seen);
        if (memcmp(seen, wanted, sizeof wanted)) test_failed(__FILE__, __LINE__, "%zu pixels differ", n);
        free(m.a.split);
        free(row);
        free(seen);
    }
}

TEST(columns_are_shortened_alike_on_vectors)
{
    struct random r = test_random();
    if (!resize_fast_there()) {
        test_skip("this processor has no AVX2");
        return;
    }
    for (size_t bytes = 3; bytes < 120; bytes += 3) {
        struct made m;
        const size_t n = 1 + bytes % ROWS;
        make_axis(&r, n, &m);
        uint8_t *rows = random_bytes(&r, n * bytes, bytes % 7 == 0), *seen = malloc(bytes), wanted[120];
        int32_t sum[120];
        REQUIRE(rows && seen);
        for (size_t i = 0; i < PLACES; i++) {
            resize_down(&m.a, i, rows, bytes, sum, wanted);
            resize_down_fast(&m.a, i, rows, bytes, sum, seen);
            if (memcmp(seen, wanted, bytes)) test_failed(__FILE__, __LINE__, "%zu bytes of %zu rows differ", bytes, n);
        }
        free(rows);
        free(seen);
    }
}

TEST(part_of_a_resized_picture_is_the_crop_of_all)
{
    struct random r = test_random();
    static const size_t sizes[][2] = {{20, 20}, {61, 9}, {45, 37}, {12, 37}, {45, 11}, {200, 150}, {1, 1}};
    struct picture p = {0};
    REQUIRE(picture_new(45, 37, &p) == OK);
    for (size_t i = 0; i < 45 * 37 * 3; i++) p.rgb[i] = (uint8_t)random_u32(&r);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int again = 0; again < 8; again++) {
            const size_t width = sizes[k][0], height = sizes[k][1];
            struct picture whole = {0}, wanted = {0}, part = {0};
            struct box b = {.width = 1 + (size_t)random_below(&r, width),
                            .height = 1 + (size_t)random_below(&r, height)};
            b.left = (size_t)random_below(&r, width - b.width + 1);
            b.top = (size_t)random_below(&r, height - b.height + 1);
            EXPECT_OK(picture_resize(&p, width, height, &whole));
            EXPECT_OK(picture_crop(&whole, (int64_t)b.left, (int64_t)b.top, b.width, b.height, &wanted));
            EXPECT_OK(picture_resize_part(&p, width, height, &b, &part));
            EXPECT_INT(sample_difference(&part, &wanted), 0);
            picture_free(&whole);
            picture_free(&wanted);
            picture_free(&part);
        }
    picture_free(&p);
}

TEST(a_part_outside_of_the_resized_picture_is_refused)
{
    static const struct box outside[] = {{0, 0, 0, 2},  {0, 0, 2, 0},        {9, 0, 2, 2},       {0, 9, 2, 2},
                                         {0, 0, 11, 2}, {SIZE_MAX, 0, 2, 2}, {0, 0, 2, SIZE_MAX}};
    struct picture p = sample_counting(4, 5), q = {0};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        EXPECT_STATUS(picture_resize_part(&p, 10, 10, &outside[i], &q), ST_VALUE);
    EXPECT(strstr(error_text(), "does not lie in a picture of 10 x 10"));
    EXPECT_STATUS(picture_resize_part(&p, 0, 10, &outside[0], &q), ST_VALUE);
    EXPECT(!q.rgb);
    picture_free(&p);
}

TEST(a_part_without_memory_fails_and_loses_nothing)
{
    const struct box middle = {2, 2, 6, 6};
    struct picture p = sample_counting(40, 50);
    static const size_t widths[] = {10, 40};
    for (int i = 0; i < 2; i++)
        for (size_t n = 1;; n++) {
            struct picture q = {0};
            const size_t before = alloc_live();
            alloc_fail_at(n);
            const status st = picture_resize_part(&p, widths[i], 10, &middle, &q);
            const bool failed = alloc_did_fail();
            alloc_fail_at(0);
            EXPECT_STATUS(st, failed ? ST_MEMORY : OK);
            EXPECT((q.rgb != NULL) == (st == OK));
            picture_free(&q);
            EXPECT_INT(alloc_live(), before);
            if (!failed) break;
        }
    picture_free(&p);
}
