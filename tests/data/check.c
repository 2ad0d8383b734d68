/* Tests of data/check.h. */
#include "data/check.h"
#include "data/dataset.h"
#include "tests/data/sample.h"
#include "tests/test.h"
#include <stdio.h>
#include <unistd.h>

TEST(a_check_counts_classes_sizes_and_what_cannot_be_read)
{
    struct check c = {0};
    sample_set();
    sample_file("set/train/a/bad.jpg", "no picture", 10);
    sample_file("set/test/c/wide.ppm", "P6\n3 1\n255\n123456789", 20);
    REQUIRE(data_check(sample_path("set"), NULL, &c) == OK);
    EXPECT_INT(c.splits, 2);
    EXPECT_TEXT(c.split[0].name, "train");
    EXPECT_INT(c.split[0].classes, 2);
    EXPECT_INT(c.split[0].pictures, 4);
    EXPECT_INT(c.split[0].unreadable, 1);
    EXPECT_INT(c.split[0].smallest, 1);
    EXPECT_INT(c.split[0].largest, 3);
    EXPECT_INT(c.split[1].unreadable, 0);
    EXPECT_INT(c.sizes, 2);
    EXPECT_INT(c.size[0].width, 2);
    EXPECT_INT(c.size[0].pictures, 5);
    EXPECT_INT(c.size[1].width, 3);
    EXPECT_INT(c.size[1].height, 1);
    EXPECT_INT(c.unreadable_count, 1);
    EXPECT(strstr(c.unreadable[0], "set/train/a/bad.jpg"));
    EXPECT_INT(c.twin_count, 0);
    struct dataset *d = NULL;
    char hex[65];
    REQUIRE(dataset_open(sample_path("set"), "train", NULL, &d) == OK);
    EXPECT_OK(dataset_fingerprint(d, hex));
    EXPECT_TEXT(c.split[0].fingerprint, hex);
    dataset_close(d);
    check_free(&c);
}

TEST(a_check_finds_equal_pictures_within_and_across_splits)
{
    struct check c = {0};
    sample_set();
    sample_grey("set/train/a/3.ppm", 1);
    sample_grey("set/test/c/0.ppm", 1);
    REQUIRE(data_check(sample_path("set"), NULL, &c) == OK);
    EXPECT_INT(c.twin_count, 2);
    EXPECT_TEXT(c.twins[0].first, "train/a/1.ppm");
    EXPECT_TEXT(c.twins[0].second, "test/c/0.ppm");
    EXPECT_INT(c.twins[0].first_split, 0);
    EXPECT_INT(c.twins[0].second_split, 1);
    EXPECT_TEXT(c.twins[1].second, "train/a/3.ppm");
    check_free(&c);
}

TEST(a_set_without_splits_is_checked_as_one)
{
    struct check c = {0};
    sample_grey("p/a/1.ppm", 7);
    sample_grey("p/b/1.ppm", 7);
    REQUIRE(data_check(sample_path("p"), NULL, &c) == OK);
    EXPECT_INT(c.splits, 1);
    EXPECT(!c.split[0].name);
    EXPECT_INT(c.twin_count, 1);
    EXPECT_TEXT(c.twins[0].first, "a/1.ppm");
    check_free(&c);
}

TEST(checking_survives_every_failed_allocation)
{
    sample_set();
    sample_grey("set/train/a/3.ppm", 1);
    sample_file("set/train/a/bad.jpg", "no picture", 10);
    bool failed = true;
    for (size_t n = 1; failed && n < 1000; n++) {
        struct check c = {0};
        size_t live = alloc_live();
        alloc_fail_at(n);
        status st = data_check(sample_path("set"), NULL, &c);
        failed = alloc_did_fail();
        alloc_fail_at(0);
        EXPECT(st == OK ? c.splits == 2 : failed); /* a sentence may stand for a picture whose reason is lost */
        check_free(&c);
        EXPECT_INT(alloc_live(), live);
    }
    EXPECT(!failed);
}

TEST(the_real_miniimagenet_has_the_seven_pairs_that_its_description_says)
{
    struct check c = {0};
    size_t across[3] = {0, 0, 0};
    if (UNDER_ASAN || UNDER_TSAN) {
        test_skip("60,000 pictures take too long under a sanitizer");
        return;
    }
    const char *folder = sample_real();
    if (!folder) return;
    static const char *const tars[] = {"train-1", "train-2", "val", "test"};
    for (int i = 0; i < 4; i++) {
        char from[4096], to[4096];
        snprintf(from, sizeof from, "%s/mini84ravi-%s.tar", folder, tars[i]);
        snprintf(to, sizeof to, "%s/%s.tar", test_folder(), tars[i]);
        REQUIRE(symlink(from, to) == 0);
    }
    REQUIRE(data_check(test_folder(), NULL, &c) == OK);
    EXPECT_INT(c.splits, 3);
    EXPECT_INT(c.split[0].pictures, 38400);
    EXPECT_INT(c.split[0].smallest, 600);
    EXPECT_INT(c.twin_count, 7);
    for (size_t i = 0; i < c.twin_count; i++) across[c.twins[i].second_split]++;
    EXPECT_INT(across[1], 6);
    EXPECT_INT(across[2], 1);
    EXPECT_INT(c.unreadable_count, 0);
    check_free(&c);
}
