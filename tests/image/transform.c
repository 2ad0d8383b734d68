/* transform.c - the paper's transforms: what they draw, that they repeat, and what they refuse. */
#include "image/transform.h"
#include "tests/image/sample.h"
#include "tests/test.h"
#include <stdlib.h>

TEST(grid_cells_are_those_of_the_table)
{
    const size_t cells[][4] = {{84, 3, 14, 70}, {224, 3, 37, 185}, {375, 2, 93, 375}, {500, 3, 83, 415}};
    for (size_t i = 0; i < 4; i++) {
        size_t from, to;
        grid_cell(cells[i][0], cells[i][1], 2.0, 1, &from, &to);
        EXPECT_INT(from, cells[i][2]);
        EXPECT_INT(to, cells[i][3]);
    }
}

/* The size of the transform that needs no resize shows each draw in its first pixel. */
TEST(pad_crop_draws_every_offset_and_flip_alike)
{
    struct picture p = sample_counting(9, 9);
    const struct transform t = transform_standard(TRANSFORM_PAD_CROP, 9, 1);
    struct random r = {11, 5, 0};
    int flips = 0, tops[3] = {0}, lefts[3] = {0};
    for (int i = 0; i < 6000; i++) {
        uint8_t out[9 * 9 * 3];
        REQUIRE(transform_apply_bytes(&t, &p, &r, out) == OK);
        const int a = out[3 * 40] - 1, b = out[3 * 41] - 1; /* the middle pixel and its right neighbour */
        flips += b < a;
        tops[a / 9 - 3]++;
        lefts[a % 9 - 3]++;
    }
    EXPECT_NEAR(flips, 3000, 200);
    for (int i = 0; i < 3; i++) {
        EXPECT_NEAR(tops[i], 2000, 190);
        EXPECT_NEAR(lefts[i], 2000, 190);
    }
    picture_free(&p);
}

TEST(resize_crop_draws_top_then_left_then_the_flip)
{
    struct picture p = sample_counting(92, 92), crop = {0};
    const struct transform t = transform_standard(TRANSFORM_RESIZE_CROP, 84, 8);
    uint8_t *out = malloc(84 * 84 * 3);
    REQUIRE(out);
    for (uint64_t s = 0; s < 20; s++) {
        struct random r = {s, 1, 0}, again = r;
        const int64_t top = (int64_t)random_below(&again, 9), left = (int64_t)random_below(&again, 9);
        EXPECT_OK(picture_crop(&p, left, top, 84, 84, &crop));
        if (random_unit(&again) < 0.5) picture_flip(&crop);
        EXPECT_OK(transform_apply_bytes(&t, &p, &r, out));
        EXPECT(!memcmp(out, crop.rgb, 84 * 84 * 3));
        EXPECT_INT(r.index, again.index);
        picture_free(&crop);
    }
    picture_free(&p);
    free(out);
}

TEST(without_randomness_each_transform_is_its_test_form)
{
    struct picture p = sample_smooth(120, 100), q = {0}, wanted = {0};
    uint8_t *out = malloc(84 * 84 * 3);
    REQUIRE(out);
    struct transform t = transform_standard(TRANSFORM_SHORTER_CROP, 84, 8);
    EXPECT_OK(picture_resize_shorter(&p, 92, &q));
    EXPECT_OK(picture_centre_crop(&q, 84, 84, &wanted));
    EXPECT_OK(transform_apply_bytes(&t, &p, NULL, out));
    EXPECT(!memcmp(out, wanted.rgb, 84 * 84 * 3));
    struct random r = {1, 1, 0};
    EXPECT_OK(transform_apply_bytes(&t, &p, &r, out)); /* this kind is never random */
    EXPECT(!memcmp(out, wanted.rgb, 84 * 84 * 3) && r.index == 0);
    t.kind = TRANSFORM_RESIZED_CROP;
    EXPECT_OK(transform_apply_bytes(&t, &p, NULL, out));
    EXPECT(!memcmp(out, wanted.rgb, 84 * 84 * 3));
    t.kind = TRANSFORM_PAD_CROP;
    EXPECT_STATUS(transform_apply_bytes(&t, &p, NULL, out), ST_SHAPE);
    EXPECT_OK(transform_apply_bytes(&t, &wanted, NULL, out));
    EXPECT(!memcmp(out, wanted.rgb, 84 * 84 * 3));
    picture_free(&p);
    picture_free(&q);
    picture_free(&wanted);
    free(out);
}

TEST(the_same_stream_gives_the_same_input_and_another_gives_another)
{
    struct picture p = sample_counting(120, 100);
    enum { N = 3 * 84 * 84 };
    float *a = malloc(N * sizeof *a), *b = malloc(N * sizeof *b);
    REQUIRE(a && b);
    for (int kind = 0; kind < 4; kind++) {
        const struct transform t = transform_standard((enum transform_kind)kind, 84, 8);
        struct random one = {5, 9, 0}, same = one, other = {5, 10, 0};
        EXPECT_OK(transform_apply(&t, &p, &one, a));
        EXPECT_OK(transform_apply(&t, &p, &same, b));
        EXPECT(!memcmp(a, b, N * sizeof *a));
        EXPECT_INT(one.index, same.index);
        EXPECT_OK(transform_apply(&t, &p, &other, b));
        EXPECT((memcmp(a, b, N * sizeof *a) != 0) == (kind != TRANSFORM_SHORTER_CROP));
    }
    picture_free(&p);
    free(a);
    free(b);
}

TEST(transforms_that_cannot_be_are_refused)
{
    struct picture p = sample_counting(4, 4);
    struct random r = {1, 1, 0};
    uint8_t out[3] = {0};
    struct transform t = transform_standard(TRANSFORM_RESIZE_CROP, 0, 8);
    EXPECT_STATUS(transform_apply_bytes(&t, &p, &r, out), ST_VALUE);
    t = transform_standard(TRANSFORM_RESIZE_CROP, 84, SIZE_MAX);
    EXPECT_STATUS(transform_apply_bytes(&t, &p, &r, out), ST_VALUE);
    t = transform_standard(TRANSFORM_PAD_CROP, 84, 2);
    EXPECT_STATUS(transform_apply_bytes(&t, &p, &r, out), ST_SHAPE);
    t = transform_standard(TRANSFORM_PAD_CROP, 84, 4);
    EXPECT_STATUS(transform_apply_bytes(&t, &p, &r, out), ST_VALUE);
    picture_free(&p);
}

TEST(a_transform_without_memory_fails_and_loses_nothing)
{
    struct picture p = sample_smooth(50, 40);
    enum { N = 3 * 20 * 20 };
    float out[N];
    for (int kind = 0; kind < 4; kind++)
        for (size_t n = 1;; n++) {
            const struct transform t = transform_standard((enum transform_kind)kind, 20, 4);
            struct random r = {2, 3, 0};
            const size_t before = alloc_live();
            alloc_fail_at(n);
            const status st = transform_apply(&t, &p, &r, out);
            const bool failed = alloc_did_fail();
            alloc_fail_at(0);
            EXPECT_STATUS(st, failed ? ST_MEMORY : OK);
            EXPECT_INT(alloc_live(), before);
            if (!failed) break;
        }
    picture_free(&p);
}

TEST(a_resized_picture_gives_the_numbers_of_its_original)
{
    struct picture p = sample_smooth(50, 40);
    enum { SIDE = 20 };
    float wanted[3 * SIDE * SIDE], seen[3 * SIDE * SIDE];
    for (size_t pad = 0; pad < 9; pad++) {
        const struct transform t = transform_standard(TRANSFORM_RESIZE_CROP, SIDE, pad);
        struct picture large = {0};
        EXPECT_OK(picture_resize(&p, SIDE + pad, SIDE + pad, &large));
        for (uint64_t i = 0; i < 12; i++) {
            struct random a = {2, i, 0}, b = a;
            EXPECT_OK(transform_apply(&t, &p, i ? &a : NULL, wanted));
            transform_resized(&t, large.rgb, i ? &b : NULL, seen);
            EXPECT(!memcmp(seen, wanted, sizeof seen));
            EXPECT_INT(a.index, b.index);
        }
        picture_free(&large);
    }
    picture_free(&p);
}
