/* draw.c - figures, letters and sheets: where ink is, where none is, and that nothing leaves the picture. */
#include "image/draw.h"
#include "image/sheet.h"
#include "tests/image/sample.h"
#include "tests/test.h"

static const uint8_t WHITE[3] = {255, 255, 255};
static const struct ink INK = {{255, 255, 255}, 1};

static int at(const struct picture *p, size_t x, size_t y) { return p->rgb[3 * (y * p->width + x)]; }

static long sum(const struct picture *p)
{
    long s = 0;
    for (size_t i = 0; i < 3 * p->width * p->height; i++) s += p->rgb[i];
    return s;
}

TEST(line_has_its_thickness_and_smooth_edges)
{
    struct picture p = {0};
    REQUIRE(picture_new(20, 11, &p) == OK);
    draw_line(&p, (struct spot){3, 5.5f}, (struct spot){17, 5.5f}, 3, INK);
    for (size_t y = 0; y < 11; y++) EXPECT_INT(at(&p, 10, y), y >= 4 && y <= 6 ? 255 : 0);
    draw_line(&p, (struct spot){3, 1}, (struct spot){17, 1}, 1, INK); /* between two rows: half of each */
    EXPECT_NEAR(at(&p, 10, 0), 128, 1);
    EXPECT_NEAR(at(&p, 10, 1), 128, 1);
    EXPECT_INT(at(&p, 0, 5), 0);
    picture_free(&p);
}

TEST(slanted_line_covers_its_area)
{
    struct picture p = {0};
    REQUIRE(picture_new(100, 100, &p) == OK);
    draw_line(&p, (struct spot){20, 30}, (struct spot){80, 75}, 4, INK); /* 75 long, and half a disc at each end */
    EXPECT_NEAR((double)sum(&p) / 765, 75 * 4 + 3.14159 * 4, 4);
    picture_free(&p);
}

TEST(disc_covers_its_area)
{
    struct picture p = {0};
    REQUIRE(picture_new(40, 40, &p) == OK);
    draw_disc(&p, (struct spot){20.3f, 19.8f}, 9, INK);
    EXPECT_NEAR((double)sum(&p) / 765, 3.14159 * 81, 3);
    EXPECT_INT(at(&p, 20, 20), 255);
    EXPECT_INT(at(&p, 20, 8), 0);
    picture_free(&p);
}

TEST(figures_outside_are_cut_off)
{
    struct picture p = {0}, q = {0};
    REQUIRE(picture_new(10, 10, &p) == OK && picture_new(8, 8, &q) == OK);
    memset(q.rgb, 9, 3 * 64);
    draw_line(&p, (struct spot){-50, -50}, (struct spot){60, 60}, 2, INK);
    draw_line(&p, (struct spot){-9, 50}, (struct spot){-3, 50}, 2, INK);
    draw_disc(&p, (struct spot){500, -7}, 3, INK);
    draw_box(&p, 9, 9, SIZE_MAX / 4, 5, WHITE);
    draw_box(&p, 99, 99, 5, 5, WHITE);
    draw_picture(&p, &q, 6, 7);
    draw_picture(&p, &q, 60, 7);
    draw_text(&p, 7, 7, 2, "Abc", WHITE);
    EXPECT_INT(at(&p, 5, 5), 255);
    EXPECT_INT(at(&p, 6, 7), 9);
    EXPECT_INT(at(&p, 0, 9), 0);
    picture_free(&p);
    picture_free(&q);
}

TEST(letters_differ_and_stand_where_they_are_put)
{
    struct picture p = {0};
    REQUIRE(picture_new(6, 8, &p) == OK);
    uint8_t seen[95][6 * 8];
    for (int c = ' '; c <= '~'; c++) {
        const char s[2] = {(char)c, 0};
        memset(p.rgb, 0, 3 * 48);
        EXPECT_INT(draw_text(&p, 0, 0, 1, s, WHITE), 6);
        for (size_t i = 0; i < 48; i++) seen[c - ' '][i] = p.rgb[3 * i];
        for (size_t y = 0; y < 8; y++) EXPECT_INT(at(&p, 5, y), 0); /* the gap */
        for (int before = ' '; before < c; before++)
            if (!memcmp(seen[before - ' '], seen[c - ' '], 48))
                test_failed(__FILE__, __LINE__, "'%c' and '%c' look the same", before, c);
    }
    EXPECT_INT(draw_text_width(2, "na\xc3\xafve"), 60); /* five characters in six bytes */
    picture_free(&p);
}

TEST(map_sheet_has_the_picture_beside_the_overlay)
{
    const float map[4] = {0, 0, 0, 1};
    struct picture p = sample_smooth(84, 84), out = {0}, large = {0};
    const struct sheet_map s = {
        &p, map, 2, 2, "a title that is much too long for a sheet of this width, is it not?", "found"};
    EXPECT_INT(sheet_enlargement(84, 84), 3);
    EXPECT_INT(sheet_enlargement(1000, 20), 1);
    REQUIRE(sheet_map(&s, &out) == OK);
    REQUIRE(picture_resize(&p, 252, 252, &large) == OK);
    EXPECT_INT(out.width, 16 + 252 + 16 + 252 + 16);
    const size_t top = 16 + 2 * 24;
    for (size_t y = 0; y < 252; y += 10)
        EXPECT(!memcmp(out.rgb + 3 * ((top + y) * out.width + 16), large.rgb + 3 * y * 252, 3 * 252));
    const uint8_t *cold = out.rgb + 3 * ((top + 5) * out.width + 284 + 5);
    const uint8_t *hot = out.rgb + 3 * ((top + 247) * out.width + 284 + 247);
    EXPECT(hot[0] > cold[0] + 60 && hot[1] > cold[1] + 60);
    for (size_t y = 0; y < out.height; y++)
        EXPECT(out.rgb[3 * ((y + 1) * out.width - 1)] < 40); /* nothing at the edge */
    picture_free(&p);
    picture_free(&out);
    picture_free(&large);
}

TEST(pair_sheet_joins_the_cells)
{
    const struct sheet_line line = {3, 0, 1}; /* the lower right of the left one, the upper left of the right one */
    struct picture p = {0}, with = {0}, without = {0};
    REQUIRE(picture_new(84, 84, &p) == OK);
    struct sheet_pairs s = {&p, &p, 2, 2, &line, 1, "t", "a", "b"};
    REQUIRE(sheet_pairs(&s, &with) == OK);
    s.count = 0;
    REQUIRE(sheet_pairs(&s, &without) == OK);
    const size_t top = 16 + 2 * 24, second = 16 + 252 + 84;
    EXPECT(at(&with, 16 + 189, top + 189) > 230 && at(&without, 16 + 189, top + 189) < 40);
    EXPECT(at(&with, second + 63, top + 63) > 230);
    EXPECT(at(&with, (16 + 189 + second + 63) / 2, top + 126) > 230);
    EXPECT_INT(at(&with, 16 + 63, top + 63), at(&without, 16 + 63, top + 63));
    picture_free(&p);
    picture_free(&with);
    picture_free(&without);
}

TEST(sheets_refuse_empty_maps_and_lose_nothing_without_memory)
{
    const float map[1] = {1};
    struct picture p = {0}, out = {0};
    REQUIRE(picture_new(4, 4, &p) == OK);
    struct sheet_map m = {&p, map, 0, 1, "", ""};
    struct sheet_pairs s = {.left = &p, .right = &p, .title = "", .left_name = "", .right_name = ""};
    EXPECT_STATUS(sheet_map(&m, &out), ST_SHAPE);
    EXPECT_STATUS(sheet_pairs(&s, &out), ST_SHAPE);
    m.height = s.height = s.width = 1;
    const size_t live = alloc_live();
    for (size_t n = 1;; n++) {
        alloc_fail_at(n);
        status st = n % 2 ? sheet_map(&m, &out) : sheet_pairs(&s, &out);
        const bool failed = alloc_did_fail();
        alloc_fail_at(0);
        if (failed) EXPECT_STATUS(st, ST_MEMORY);
        picture_free(&out);
        EXPECT_INT(alloc_live(), live);
        if (!failed) break;
    }
    picture_free(&p);
}
