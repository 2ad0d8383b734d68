/* Tests of packs that hold pictures back. */
#include "base/file.h"
#include "data/dataset.h"
#include "data/pack.h"
#include "tests/data/sample.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

/* Splits train (a, b), val (c) and test (d), of 12 pictures each; the greys are 1 to 48. */
static void make_set(void)
{
    static const char *const classes[] = {"train/a", "train/b", "val/c", "test/d"};
    for (int c = 0; c < 4; c++)
        for (int i = 0; i < 12; i++) {
            char name[60];
            snprintf(name, sizeof name, "joined/%s/%02d.ppm", classes[c], i);
            sample_grey(name, 1 + 12 * c + i);
        }
}

/* How often each grey is in the split; false when it cannot be opened. */
static bool count_greys(const char *pack, const char *split, size_t classes, int seen[49])
{
    struct dataset *d = NULL;
    EXPECT_OK(dataset_open(sample_path(pack), split, NULL, &d));
    if (!d) return false;
    EXPECT_INT(dataset_class_count(d), classes);
    for (size_t i = 0; i < dataset_count(d); i++) {
        struct picture p = {0};
        EXPECT_OK(dataset_picture(d, i, &p));
        EXPECT_INT(dataset_class_of(d, i), (p.rgb[0] - 1) / 12);
        seen[p.rgb[0]]++;
        picture_free(&p);
    }
    dataset_close(d);
    return true;
}

static bool pack_held(size_t hold, uint64_t seed, const char *to, int train[49], int val[49])
{
    const struct pack_options o = {.hold = hold, .seed = seed};
    struct pack_result r = {0};
    EXPECT_OK(pack_write(sample_path("joined"), &o, sample_path(to), &r));
    EXPECT_INT(r.splits, 2);
    EXPECT_INT(r.pictures, 48);
    return count_greys(to, "train", 4, train) && count_greys(to, "val", 4, val);
}

TEST(a_pack_may_join_all_splits_and_hold_pictures_of_each_class_back)
{
    int train[3][49] = {{0}}, val[3][49] = {{0}};
    struct dataset *none = NULL;
    make_set();
    REQUIRE(pack_held(5, 1, "one.pack", train[0], val[0]));
    REQUIRE(pack_held(5, 1, "again.pack", train[1], val[1]));
    REQUIRE(pack_held(5, 2, "other.pack", train[2], val[2]));
    for (int c = 0; c < 4; c++) {
        int held = 0;
        for (int g = 1 + 12 * c; g <= 12 + 12 * c; g++) {
            EXPECT_INT(train[0][g] + val[0][g], 1);
            held += val[0][g];
        }
        EXPECT_INT(held, 5);
    }
    EXPECT(!memcmp(val[0], val[1], sizeof val[0]) && memcmp(val[0], val[2], sizeof val[0]) != 0);
    EXPECT_STATUS(dataset_open(sample_path("one.pack"), "test", NULL, &none), ST_VALUE);
}

TEST(holding_back_is_refused_where_nothing_would_be_left_or_classes_meet)
{
    const struct pack_options all = {.hold = 12}, one = {.hold = 1};
    make_set();
    EXPECT_STATUS(pack_write(sample_path("joined"), &all, sample_path("no.pack"), NULL), ST_VALUE);
    EXPECT_TEXT(error_text(), "class 'a' has 12 pictures: with 12 held back none is left to train with");
    sample_grey("joined/test/b/00.ppm", 7);
    sample_grey("joined/test/b/01.ppm", 8);
    EXPECT_STATUS(pack_write(sample_path("joined"), &one, sample_path("no.pack"), NULL), ST_VALUE);
    EXPECT_TEXT(error_text(), "class 'b' stands in two splits: they cannot be joined");
    EXPECT(!file_exists(sample_path("no.pack")));
}
