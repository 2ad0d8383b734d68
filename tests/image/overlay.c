/* overlay.c - maps over pictures: where they are light, where they are dark, and what is refused. */
#include "image/overlay.h"
#include "image/ramp.h"
#include "tests/image/sample.h"
#include "tests/test.h"

static struct picture blue(size_t width, size_t height)
{
    struct picture p = {0};
    if (picture_new(width, height, &p) == OK)
        for (size_t i = 0; i < width * height; i++) p.rgb[3 * i + 2] = 200;
    return p;
}

static int red_at(const struct picture *p, size_t x, size_t y) { return p->rgb[3 * (y * p->width + x)]; }

TEST(overlay_is_light_at_the_largest_cell_and_dark_at_the_least)
{
    const float map[4] = {0, 0, 0, 7}; /* the lower right quarter */
    struct picture p = blue(40, 20), q = {0};
    EXPECT_OK(picture_overlay(&p, map, 2, 2, &q));
    EXPECT_INT(q.width, 40);
    EXPECT_INT(q.height, 20);
    const uint8_t *least = q.rgb, *most = q.rgb + 3 * (40 * 20 - 1);
    uint8_t dark[3], light[3];
    ramp_colour(0, dark);
    ramp_colour(1, light);
    /* the least: its grey is 0.114 * 200, of the rest of its colour a tenth is left */
    EXPECT_NEAR(least[0], 0.5 * (22.8 - 0.1 * 22.8) + 0.5 * dark[0], 1);
    EXPECT_NEAR(least[2], 0.5 * (22.8 + 0.1 * 177.2) + 0.5 * dark[2], 1);
    EXPECT_NEAR(most[0], 0.68 * light[0], 1);
    EXPECT_NEAR(most[2], 0.32 * 200 + 0.68 * light[2], 1);
    EXPECT(red_at(&q, 20, 19) > red_at(&q, 10, 19) && red_at(&q, 20, 19) < red_at(&q, 35, 19));
    picture_free(&p);
    picture_free(&q);
}

TEST(overlay_does_not_depend_on_the_scale_of_the_map)
{
    const float map[6] = {0.25f, 1, 0.5f, 2, 0, 1}, large[6] = {2, 8, 4, 16, 0, 8};
    struct picture p = sample_counting(31, 17), a = {0}, b = {0};
    EXPECT_OK(picture_overlay(&p, map, 2, 3, &a));
    EXPECT_OK(picture_overlay(&p, large, 2, 3, &b));
    EXPECT_INT(sample_difference(&a, &b), 0);
    picture_free(&p);
    picture_free(&a);
    picture_free(&b);
}

TEST(overlay_of_an_even_map_is_even)
{
    const float map[4] = {3, 3, 3, 3};
    struct picture p = blue(9, 9), q = {0};
    EXPECT_OK(picture_overlay(&p, map, 2, 2, &q));
    for (size_t i = 1; i < 81; i++) EXPECT(!memcmp(q.rgb, q.rgb + 3 * i, 3));
    picture_free(&p);
    picture_free(&q);
}

TEST(overlay_refuses_an_empty_map)
{
    struct picture p = blue(3, 3), q = {0};
    EXPECT_STATUS(picture_overlay(&p, NULL, 0, 5, &q), ST_SHAPE);
    EXPECT(!q.rgb);
    picture_free(&p);
}
