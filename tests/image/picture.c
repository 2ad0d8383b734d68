/* picture.c - cutting, padding, mirroring, resizing and colours, by values worked out by hand. */
#include "image/picture.h"
#include "tests/image/sample.h"
#include "tests/test.h"
#include <stdio.h>

/* One row or column as text: the red values. */
static const char *reds(const struct picture *p)
{
    static char line[256];
    size_t at = 0;
    line[0] = 0;
    for (size_t i = 0; i < p->width * p->height && at + 8 < sizeof line; i++)
        at += (size_t)snprintf(line + at, sizeof line - at, i ? " %d" : "%d", p->rgb[i * 3]);
    return line;
}

TEST(a_new_picture_is_black_and_within_the_limits)
{
    struct picture p = {0};
    const size_t before = alloc_count();
    EXPECT_STATUS(picture_new(0, 5, &p), ST_VALUE);
    EXPECT_STATUS(picture_new(1 << 14, (1 << 12) + 1, &p), ST_VALUE);
    EXPECT_STATUS(picture_new(SIZE_MAX, SIZE_MAX, &p), ST_VALUE);
    EXPECT_INT(alloc_count(), before);
    EXPECT(!p.rgb);
    EXPECT_OK(picture_new(2, 1, &p));
    EXPECT_TEXT(reds(&p), "0 0");
    picture_free(&p);
    picture_free(&p);
}

TEST(a_crop_beyond_the_edge_is_black_there)
{
    struct picture p = sample_counting(3, 2), q = {0};
    EXPECT_OK(picture_crop(&p, 1, 0, 2, 2, &q));
    EXPECT_TEXT(reds(&q), "2 3 5 6");
    picture_free(&q);
    EXPECT_OK(picture_crop(&p, -1, 1, 3, 2, &q));
    EXPECT_TEXT(reds(&q), "0 4 5 0 0 0");
    picture_free(&q);
    const int64_t far[] = {INT64_MIN, -2, 3, INT64_MAX};
    for (int i = 0; i < 4; i++) {
        EXPECT_OK(picture_crop(&p, far[i], far[i], 2, 1, &q));
        EXPECT_TEXT(reds(&q), "0 0");
        picture_free(&q);
    }
    picture_free(&p);
}

TEST(a_centre_crop_pads_what_is_smaller)
{
    struct picture p = sample_counting(2, 1), q = {0};
    EXPECT_OK(picture_centre_crop(&p, 5, 1, &q)); /* three columns lack: one left, two right */
    EXPECT_TEXT(reds(&q), "0 1 2 0 0");
    picture_free(&q);
    EXPECT_OK(picture_centre_crop(&p, 1, 2, &q)); /* (2 - 1) / 2 is 0 to even; one row lacks, below */
    EXPECT_TEXT(reds(&q), "1 0");
    picture_free(&q);
    picture_free(&p);
}

TEST(reflecting_does_not_repeat_the_edge)
{
    struct picture p = sample_counting(4, 3), q = {0};
    EXPECT_OK(picture_pad_reflect(&p, 2, &q));
    EXPECT_INT(q.width, 8);
    EXPECT_INT(q.height, 7);
    const int columns[] = {3, 2, 1, 2, 3, 4, 3, 2}, rows[] = {2, 1, 0, 1, 2, 1, 0};
    for (size_t i = 0; i < 56; i++) EXPECT_INT(q.rgb[i * 3], rows[i / 8] * 4 + columns[i % 8]);
    picture_free(&q);
    EXPECT_STATUS(picture_pad_reflect(&p, 3, &q), ST_VALUE);
    EXPECT(!q.rgb);
    picture_free(&p);
}

TEST(black_padding_is_black_on_all_sides)
{
    struct picture p = sample_counting(2, 1), q = {0};
    EXPECT_OK(picture_pad_black(&p, 1, &q));
    EXPECT_TEXT(reds(&q), "0 0 0 0 0 1 2 0 0 0 0 0");
    picture_free(&q);
    EXPECT_STATUS(picture_pad_black(&p, SIZE_MAX, &q), ST_VALUE);
    picture_free(&p);
}

TEST(flipping_mirrors_each_row)
{
    struct picture p = sample_counting(3, 2);
    picture_flip(&p);
    EXPECT_TEXT(reds(&p), "3 2 1 6 5 4");
    EXPECT_INT(p.rgb[1], 103); /* the colours of a pixel stay in order */
    picture_free(&p);
}

/* 4 to 2: a triangle of half-width 2 around the middle of each pair, cut at the edge:
 * places 0, 1 and 2 weigh 3, 3 and 1 sevenths. */
TEST(shrinking_averages_with_a_triangle)
{
    struct picture p = sample_counting(4, 1), q = {0};
    const uint8_t values[] = {0, 70, 140, 210};
    for (size_t i = 0; i < 4; i++) memset(p.rgb + i * 3, values[i], 3);
    EXPECT_OK(picture_resize(&p, 2, 1, &q));
    EXPECT_TEXT(reds(&q), "50 160"); /* (70 * 3 + 140) / 7, and its mirror */
    picture_free(&q);
    picture_free(&p);
}

TEST(enlarging_interpolates_between_centres)
{
    struct picture p = sample_counting(1, 2), q = {0};
    memset(p.rgb, 0, 3);
    memset(p.rgb + 3, 100, 3);
    EXPECT_OK(picture_resize(&p, 1, 4, &q));
    EXPECT_TEXT(reds(&q), "0 25 75 100");
    picture_free(&q);
    picture_free(&p);
}

static void expect_resized(const struct picture *p, size_t width, size_t height, enum resize_filter filter,
                           const char *wanted)
{
    struct picture q = {0};
    EXPECT_OK(picture_resize_by(p, width, height, filter, &q));
    if (q.rgb) EXPECT_TEXT(reds(&q), wanted);
    picture_free(&q);
}

/* Numbers recorded from Pillow 9.4. */
TEST(sharper_filters_are_pillows)
{
    struct picture line = sample_counting(6, 1), field = sample_counting(5, 4);
    const uint8_t values[] = {0, 70, 140, 210, 255, 10};
    for (size_t i = 0; i < 6; i++) memset(line.rgb + i * 3, values[i], 3);
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 5; x++) memset(field.rgb + (y * 5 + x) * 3, (37 * x * x + 91 * y + 13 * x * y) % 256, 3);
    expect_resized(&line, 9, 1, RESIZE_BICUBIC, "0 29 82 128 177 222 255 128 0");
    expect_resized(&line, 4, 1, RESIZE_BICUBIC, "20 121 234 97");
    expect_resized(&line, 9, 1, RESIZE_LANCZOS, "0 26 84 130 170 230 255 123 0");
    expect_resized(&line, 4, 1, RESIZE_LANCZOS, "18 117 243 96");
    expect_resized(&field, 3, 6, RESIZE_BICUBIC, "8 113 71 53 92 152 130 84 209 211 131 101 130 180 163 34 210 249");
    expect_resized(&field, 3, 6, RESIZE_LANCZOS, "7 118 63 41 93 159 140 82 210 226 127 94 130 186 156 24 212 255");
    expect_resized(&field, 5, 4, RESIZE_LANCZOS, reds(&field));
    picture_free(&line);
    picture_free(&field);
}

TEST(resizing_to_the_same_size_copies)
{
    struct picture p = sample_counting(3, 3), q = {0};
    EXPECT_OK(picture_resize(&p, 3, 3, &q));
    EXPECT(q.rgb && q.rgb != p.rgb && !memcmp(p.rgb, q.rgb, 27));
    picture_free(&q);
    picture_free(&p);
}

TEST(resizing_to_nothing_or_too_much_is_refused)
{
    struct picture p = sample_counting(3, 3), q = {0};
    EXPECT_STATUS(picture_resize(&p, 0, 3, &q), ST_VALUE);
    EXPECT_STATUS(picture_resize(&p, SIZE_MAX, 2, &q), ST_VALUE);
    EXPECT_STATUS(picture_resize_shorter(&p, SIZE_MAX, &q), ST_VALUE);
    EXPECT_STATUS(picture_resize_shorter(&p, 0, &q), ST_VALUE);
    EXPECT(!q.rgb);
    picture_free(&p);
}

TEST(the_longer_side_is_cut_to_whole_pixels)
{
    const size_t sizes[][4] = {{500, 375, 122, 92}, {333, 500, 92, 138}, {92, 92, 92, 92}, {100, 1, 9200, 92}};
    for (size_t i = 0; i < 4; i++) {
        struct picture p = {0}, q = {0};
        REQUIRE(picture_new(sizes[i][0], sizes[i][1], &p) == OK);
        EXPECT_OK(picture_resize_shorter(&p, 92, &q));
        EXPECT_INT(q.width, sizes[i][2]);
        EXPECT_INT(q.height, sizes[i][3]);
        picture_free(&q);
        picture_free(&p);
    }
}

/* L of (200, 100, 50) is (3919000 + 3847000 + 373550 + 32768) >> 16 = 124. */
TEST(colours_are_cut_and_not_rounded)
{
    const struct {
        struct jitter j;
        uint8_t wanted[3];
    } cases[] = {
        {{{0, 3, 3, 3}, 0.5f, 1, 1}, {100, 50, 25}},  {{{0, 3, 3, 3}, 1.3f, 1, 1}, {255, 130, 65}},
        {{{0, 3, 3, 3}, 0.75f, 1, 1}, {150, 75, 37}}, {{{3, 1, 3, 3}, 1, 0.5f, 1}, {162, 112, 87}},
        {{{3, 3, 2, 3}, 1, 1, 0.5f}, {162, 112, 87}}, {{{3, 3, 2, 3}, 1, 1, 0}, {124, 124, 124}},
        {{{3, 3, 2, 3}, 1, 1, 2.0f}, {255, 76, 0}},   {{{0, 1, 2, 3}, 1, 1, 1}, {200, 100, 50}},
        {{{2, 0, 3, 3}, 0.5f, 1, 0}, {62, 62, 62}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t rgb[3] = {200, 100, 50};
        struct picture p = {1, 1, rgb};
        picture_jitter(&p, &cases[i].j);
        for (int c = 0; c < 3; c++)
            if (rgb[c] != cases[i].wanted[c])
                test_failed(__FILE__, __LINE__, "case %zu colour %d: %d, wanted %d", i, c, rgb[c], cases[i].wanted[c]);
    }
}

/* Grey 10 and 101: their mean 55.5 is rounded to 56. */
TEST(contrast_turns_around_the_mean_of_the_picture)
{
    uint8_t rgb[6] = {10, 10, 10, 101, 101, 101};
    struct picture p = {2, 1, rgb};
    const struct jitter j = {{1, 3, 3, 3}, 1, 0, 1};
    picture_jitter(&p, &j);
    EXPECT_TEXT(reds(&p), "56 56");
}

TEST(jitter_orders_and_factors_are_uniform)
{
    struct random r = {7, 1, 0};
    int first[4] = {0}, seen[24] = {0};
    double low = 9, high = 0, sum = 0;
    for (int i = 0; i < 4800; i++) {
        const struct jitter j = jitter_draw(&r, 0.4f);
        const float f[] = {j.brightness, j.contrast, j.saturation};
        first[j.order[0]]++;
        EXPECT_INT(1 << j.order[0] | 1 << j.order[1] | 1 << j.order[2] | 1 << j.order[3], 15);
        seen[j.order[0] * 6 + (j.order[1] - (j.order[1] > j.order[0])) * 2 + (j.order[2] > j.order[3])]++;
        for (int c = 0; c < 3; c++) low = fmin(low, f[c]), high = fmax(high, f[c]), sum += f[c] / (3 * 4800.0);
    }
    EXPECT(low >= 0.6 - 1e-6 && low < 0.605 && high <= 1.4 + 1e-6 && high > 1.395);
    EXPECT_NEAR(sum, 1.0, 0.01);
    for (int i = 0; i < 24; i++) EXPECT_NEAR(seen[i], 200, 70); /* five standard deviations */
    for (int i = 0; i < 4; i++) EXPECT_NEAR(first[i], 1200, 150);
}

TEST(random_boxes_lie_inside_and_have_the_asked_area_and_shape)
{
    struct random r = {3, 2, 0};
    double area = 0;
    for (int i = 0; i < 4000; i++) {
        const struct box b = picture_random_box(200, 160, &r);
        EXPECT(b.width > 0 && b.height > 0 && b.left + b.width <= 200 && b.top + b.height <= 160);
        const double ratio = (double)b.width / (double)b.height, part = (double)(b.width * b.height) / 32000;
        EXPECT(ratio > 0.73 && ratio < 1.37 && part > 0.078 && part <= 1.0);
        area += part / 4000;
    }
    EXPECT_NEAR(area, 0.455, 0.015); /* of 40,000 boxes of an independent program; four standard deviations */
}

/* A strip in which no box of the asked shape has the asked area: the middle, at the nearest allowed ratio. */
TEST(a_strip_gives_its_middle)
{
    struct random r = {1, 1, 0};
    const struct box wide = picture_random_box(3000, 3, &r), tall = picture_random_box(30, 3000, &r);
    EXPECT_INT(wide.width, 4);
    EXPECT_INT(wide.height, 3);
    EXPECT_INT(wide.left, 1498);
    EXPECT_INT(wide.top, 0);
    EXPECT_INT(tall.width, 30);
    EXPECT_INT(tall.height, 40);
    EXPECT_INT(tall.top, 1480);
}
