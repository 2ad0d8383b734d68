/* resample.c - pictures at another side, by hand. */
#include "train/resample.h"
#include "tests/heads/rig.h"
#include "tests/test.h"

static void expect_sides(size_t from, size_t to, const double *in, const double *wanted)
{
    struct world w;
    struct resampler r;
    double seen[32];
    REQUIRE(to * to * 2 <= 32 && rig_open(&w, NULL, 1, DT_F32));
    EXPECT_OK(resampler_new(from, to, &r));
    const var *y = resample(w.t, &r, world_constant(&w, DIMS(1, 2, from, from), in));
    REQUIRE(y);
    EXPECT_DIMS(y->value, 1, 2, to, to);
    EXPECT(world_read(&w, &y->value, seen));
    EXPECT_ALL_NEAR(seen, wanted, 2 * to * to, 1e-6);
    resampler_free(&r);
    world_close(&w);
}

/* Rows and columns are not the same, nor are the two planes. */
TEST(pictures_are_enlarged_between_their_pixels)
{
    static const double in[] = {0, 4, 8, 12, 1, 1, 1, 1};
    static const double wanted[] = {0, 1, 3, 4, 2, 3, 5, 6, 6, 7, 9, 10, 8, 9, 11, 12,
                                    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  1, 1, 1,  1};
    expect_sides(2, 4, in, wanted);
}

/* The weights of the first pixel are 3, 3, 1 and 0 sevenths. */
TEST(pictures_are_made_smaller_by_the_average_around_a_pixel)
{
    static const double in[] = {7, 14, 21, 0, 7, 14, 21, 0, 7, 14, 21, 0, 7, 14, 21, 0,
                                7, 7,  7,  7, 0, 0,  0,  0, 0, 0,  0,  0, 7, 7,  7,  7};
    static const double wanted[] = {12, 11, 12, 11, 3, 3, 3, 3};
    expect_sides(4, 2, in, wanted);
}

TEST(the_same_side_is_the_same_picture)
{
    static const double in[] = {1, 2, 3, 4, 5, 6, 7, 8};
    expect_sides(2, 2, in, in);
}
