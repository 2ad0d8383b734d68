/* Tests of data sets in folders. */
#include "base/file.h"
#include "base/pool.h"
#include "data/dataset.h"
#include "data/source.h"
#include "tests/data/sample.h"
#include "tests/test.h"
#include <stdlib.h>
#include <unistd.h>

static void expect_failure(const char *path, const char *split, status wanted, const char *says)
{
    struct dataset *d = NULL;
    EXPECT_STATUS(dataset_open(path, split, NULL, &d), wanted);
    EXPECT(!d);
    if (!strstr(error_text(), says)) test_failed(__FILE__, __LINE__, "\"%s\", wanted \"%s\"", error_text(), says);
}

TEST(a_folder_of_splits_has_classes_and_pictures_in_byte_order)
{
    struct dataset *d = NULL;
    sample_set();
    sample_file("set/train/a/.hidden.ppm", "x", 1);
    sample_file("set/train/a/notes.txt", "x", 1);
    sample_file("set/train/stray.ppm", "x", 1);
    REQUIRE(dataset_open(sample_path("set"), "train", NULL, &d) == OK);
    EXPECT_INT(dataset_class_count(d), 2);
    EXPECT_TEXT(dataset_class_name(d, 0), "a");
    EXPECT_TEXT(dataset_class_name(d, 1), "b");
    EXPECT_INT(dataset_class_size(d, 0), 2);
    EXPECT_INT(dataset_class_first(d, 1), 2);
    EXPECT_INT(dataset_count(d), 3);
    EXPECT_TEXT(dataset_name(d, 0), "a/1.ppm");
    EXPECT_TEXT(dataset_name(d, 1), "a/2.ppm");
    EXPECT_TEXT(dataset_name(d, 2), "b/x.PPM");
    EXPECT_INT(dataset_class_of(d, 1), 0);
    EXPECT_INT(dataset_class_of(d, 2), 1);
    struct picture p = {0};
    EXPECT_OK(dataset_picture(d, 1, &p));
    EXPECT_INT(p.width, 2);
    EXPECT_INT(p.rgb[0], 2);
    picture_free(&p);
    char *bytes = NULL;
    size_t n = 0;
    EXPECT_OK(dataset_bytes(d, 2, &bytes, &n));
    EXPECT_INT(n, SAMPLE_PPM_BYTES);
    free(bytes);
    dataset_close(d);
}

TEST(a_class_that_begins_like_another_comes_first)
{
    struct dataset *d = NULL;
    sample_grey("p/a-b/1.ppm", 1); /* '-' is before '/', yet class "a" is before "a-b" */
    sample_grey("p/a/2.ppm", 1);
    sample_grey("p/B/3.ppm", 1);
    REQUIRE(dataset_open(sample_path("p"), NULL, NULL, &d) == OK);
    EXPECT_TEXT(dataset_class_name(d, 0), "B");
    EXPECT_TEXT(dataset_class_name(d, 1), "a");
    EXPECT_TEXT(dataset_class_name(d, 2), "a-b");
    dataset_close(d);
}

TEST(a_folder_of_classes_needs_no_split_and_has_none)
{
    struct dataset *d = NULL;
    const char **splits = NULL;
    sample_grey("plain/a/1.ppm", 1);
    sample_grey("plain/b/1.ppm", 2);
    sample_grey("plain/b/thumbs/1.ppm", 2); /* deeper: not of this set */
    REQUIRE(dataset_open(sample_path("plain/"), NULL, NULL, &d) == OK);
    EXPECT_INT(dataset_count(d), 2);
    struct picture p = {0};
    EXPECT_OK(dataset_picture(d, 1, &p));
    picture_free(&p);
    dataset_close(d);
    REQUIRE(dataset_splits(sample_path("plain"), &splits) == OK);
    EXPECT(!splits[0]);
    free(splits);
    expect_failure(sample_path("plain"), "train", ST_VALUE, "has no split 'train': it is a set of classes");
}

TEST(splits_are_listed_in_their_usual_order)
{
    const char **splits = NULL;
    sample_set();
    sample_grey("set/val/v/1.ppm", 1);
    sample_grey("set/extra/v/1.ppm", 1);
    REQUIRE(dataset_splits(sample_path("set"), &splits) == OK);
    static const char *const wanted[] = {"train", "val", "test", "extra"};
    for (int i = 0; i < 4; i++) {
        REQUIRE(splits[i]);
        EXPECT_TEXT(splits[i], wanted[i]);
    }
    EXPECT(!splits[4]);
    free(splits);
}

TEST(a_missing_split_says_which_there_are)
{
    sample_set();
    expect_failure(sample_path("set"), "val", ST_VALUE,
                   "has no pictures in split 'val'; it has the splits train, test");
    expect_failure(sample_path("set"), NULL, ST_VALUE, "has splits: choose one of train, test");
    expect_failure(sample_path("none"), "val", ST_IO, "No such file or directory");
    REQUIRE(folder_make(sample_path("empty")) == OK);
    expect_failure(sample_path("empty"), NULL, ST_VALUE, "has no pictures in class folders");
}

TEST(classes_without_pictures_are_left_out_with_a_warning)
{
    struct dataset *d = NULL;
    struct sample_log log;
    sample_log_begin(&log);
    sample_set();
    REQUIRE(folder_make(sample_path("set/train/none")) == OK);
    REQUIRE(dataset_open(sample_path("set"), "train", &(struct dataset_options){.log = &log.sink}, &d) == OK);
    EXPECT_INT(dataset_class_count(d), 2);
    EXPECT(strstr(log.lines, "class 'none' of '"));
    EXPECT(strstr(log.lines, "has no pictures and is left out\n"));
    dataset_close(d);
}

TEST(a_link_to_a_class_folder_is_followed)
{
    struct dataset *d = NULL;
    sample_set();
    REQUIRE(symlink("a", sample_path("set/train/linked")) == 0);
    REQUIRE(dataset_open(sample_path("set"), "train", NULL, &d) == OK);
    EXPECT_INT(dataset_class_count(d), 3);
    dataset_close(d);
}

TEST(a_picture_that_cannot_be_read_is_named)
{
    struct dataset *d = NULL;
    struct picture p = {0};
    sample_file("set/train/a/bad.jpg", "no picture", 10);
    REQUIRE(dataset_open(sample_path("set"), "train", NULL, &d) == OK);
    EXPECT(dataset_picture(d, 0, &p) != OK);
    EXPECT(strstr(error_text(), "set/train/a/bad.jpg"));
    REQUIRE(unlink(sample_path("set/train/a/bad.jpg")) == 0);
    EXPECT_STATUS(dataset_picture(d, 0, &p), ST_IO);
    EXPECT(strstr(error_text(), "set/train/a/bad.jpg"));
    dataset_close(d);
}

TEST(suffixes_tell_pictures_in_any_case)
{
    EXPECT(picture_suffix("a.jpg") && picture_suffix("a.b.JPEG") && picture_suffix("x.WebP") &&
           picture_suffix("y.pgm"));
    EXPECT(!picture_suffix("jpg") && !picture_suffix("a.jpg.txt") && !picture_suffix("a.gif") && !picture_suffix("a."));
}

static status decode_piece(void *context, size_t piece, size_t worker)
{
    const struct dataset *d = context;
    struct picture p = {0};
    (void)worker;
    status st = dataset_picture(d, piece % dataset_count(d), &p);
    if (st == OK && p.rgb[0] != piece % dataset_count(d) + 1) st = fail(ST_VALUE, "picture %zu is another", piece);
    picture_free(&p);
    return st;
}

TEST(pictures_are_decoded_by_many_threads_at_once)
{
    struct dataset *d = NULL;
    pool *threads = NULL;
    sample_set();
    REQUIRE(dataset_open(sample_path("set"), "train", NULL, &d) == OK);
    REQUIRE(pool_new(4, &threads) == OK);
    EXPECT_OK(pool_run(threads, 200, decode_piece, d));
    pool_free(threads);
    dataset_close(d);
}

TEST(opening_a_folder_survives_every_failed_allocation)
{
    sample_set();
    bool failed = true;
    for (size_t n = 1; failed && n < 1000; n++) {
        struct dataset *d = NULL;
        struct picture p = {0};
        size_t live = alloc_live();
        alloc_fail_at(n);
        status st = dataset_open(sample_path("set"), "train", NULL, &d);
        if (st == OK) st = dataset_picture(d, 0, &p);
        failed = alloc_did_fail();
        alloc_fail_at(0);
        EXPECT_STATUS(st, failed ? ST_MEMORY : OK);
        picture_free(&p);
        dataset_close(d);
        EXPECT_INT(alloc_live(), live);
    }
    EXPECT(!failed);
}

TEST(a_fingerprint_depends_on_class_names_and_pixels_and_not_on_file_names)
{
    char whole[3][65];
    struct dataset *d = NULL;
    sample_set();
    for (int i = 0; i < 3; i++) {
        REQUIRE(dataset_open(sample_path("set"), "train", NULL, &d) == OK);
        EXPECT_OK(dataset_fingerprint(d, whole[i]));
        dataset_close(d);
        if (i == 0) REQUIRE(rename(sample_path("set/train/b/x.PPM"), sample_path("set/train/b/y.ppm")) == 0);
        if (i == 0) sample_file("set/train/b/unreadable.jpg", "x", 1);
        if (i == 1) sample_grey("set/train/b/y.ppm", 99);
    }
    EXPECT_TEXT(whole[1], whole[0]);
    EXPECT(strcmp(whole[2], whole[0]));
}
