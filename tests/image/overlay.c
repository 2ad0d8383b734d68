/* overlay.c - maps over pictures: where they glow, where they fade, and what is refused. */
#include "image/overlay.h"
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

TEST(overlay_glows_at_the_largest_cell_and_fades_at_the_least)
{
    const float map[4] = {0, 0, 0, 7}; /* the lower right quarter */
    struct picture p = blue(40, 20), q = {0};
    EXPECT_OK(picture_overlay(&p, map, 2, 2, &q));
    EXPECT_INT(q.width, 40);
    EXPECT_INT(q.height, 20);
    const uint8_t *least = q.rgb, *most = q.rgb + 3 * (40 * 20 - 1);
    EXPECT(least[0] == least[1] && least[1] == least[2]); /* grey: 0.30 * 0.114 * 200 */
    EXPECT_INT(least[0], 7);
    EXPECT_INT(most[0], 97);  /* 255 * 1.0 * 0.38 */
    EXPECT_INT(most[2], 129); /* 200 * 0.62 + 255 * 0.05 * 0.38 */
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
