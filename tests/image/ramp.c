/* ramp.c - the colour ramp: its lightness, its ends, and values outside. */
#include "image/ramp.h"
#include "tests/test.h"

static double linear(uint8_t v)
{
    const double x = v / 255.0;
    return x <= 0.04045 ? x / 12.92 : pow((x + 0.055) / 1.055, 2.4);
}

/* CIE L*, from 0 to 100: not the space that the ramp is built in, so that the test does not repeat its formula. */
static double lightness(const uint8_t rgb[3])
{
    const double y = 0.2126 * linear(rgb[0]) + 0.7152 * linear(rgb[1]) + 0.0722 * linear(rgb[2]);
    return y > 0.008856 ? 116 * cbrt(y) - 16 : 903.3 * y;
}

TEST(ramp_grows_lighter_with_every_step)
{
    double before = -1;
    for (int i = 0; i <= 64; i++) {
        uint8_t rgb[3];
        ramp_colour(i / 64.0, rgb);
        const double l = lightness(rgb);
        if (!(l > before + 0.5)) test_failed(__FILE__, __LINE__, "step %d has lightness %g after %g", i, l, before);
        if (i) EXPECT(l - before < 2.3); /* an even step is 1.25 */
        before = l;
    }
}

/* What a dichromat without green receptors sees (Vienot et al. 1999): red and green become one. */
static void without_green(const uint8_t rgb[3], double out[3])
{
    const double r = linear(rgb[0]), g = linear(rgb[1]), b = linear(rgb[2]);
    out[0] = out[1] = 0.29275 * r + 0.70725 * g;
    out[2] = -0.02234 * r + 0.02234 * g + b;
}

TEST(ramp_keeps_its_order_for_the_colour_blind)
{
    double before = -1;
    for (int i = 0; i <= 32; i++) {
        uint8_t rgb[3];
        double seen[3];
        ramp_colour(i / 32.0, rgb);
        without_green(rgb, seen);
        const double y = 0.9278 * seen[0] + 0.0722 * seen[2];
        EXPECT(y > before);
        before = y;
    }
}

TEST(ramp_goes_from_dark_violet_to_light_yellow)
{
    uint8_t first[3], middle[3], last[3], below[3], above[3];
    ramp_colour(0, first);
    ramp_colour(0.5, middle);
    ramp_colour(1, last);
    EXPECT(first[2] > first[0] && first[0] > first[1] && first[2] < 110);
    EXPECT(middle[0] > 180 && middle[0] > middle[1] + 60 && middle[0] > middle[2] + 40);
    EXPECT(last[0] > 235 && last[1] > 225 && last[2] < last[0] - 50);
    ramp_colour(-3, below);
    ramp_colour(17, above);
    EXPECT(!memcmp(below, first, 3) && !memcmp(above, last, 3));
    ramp_colour(NAN, below);
    EXPECT(!memcmp(below, first, 3));
}

TEST(ramp_table_has_the_same_colours)
{
    struct ramp r;
    ramp_fill(&r);
    for (int i = 0; i < RAMP_STEPS; i += 17) {
        uint8_t rgb[3];
        ramp_colour(i / 255.0, rgb);
        EXPECT(!memcmp(rgb, r.rgb[i], 3));
    }
}
