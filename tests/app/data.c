/* data.c - transcripts of centra data. */
#include "tests/app/program.h"
#include "base/file.h"
#include "tests/data/sample.h"
#include "tests/test.h"
#include <stdio.h>

static void expect_says(const struct ran *r, int code, const char *out, const char *err)
{
    EXPECT_INT(r->status, code);
    if (*out && !strstr(r->out, out)) test_failed(__FILE__, __LINE__, "output \"%s\", wanted \"%s\"", r->out, out);
    if (*err && !strstr(r->err, err)) test_failed(__FILE__, __LINE__, "errors \"%s\", wanted \"%s\"", r->err, err);
}

TEST(data_check_tells_splits_sizes_and_equal_pictures)
{
    sample_set();
    sample_grey("set/test/c/0.ppm", 1);
    struct ran r = program_run("", WORDS("data", "check", "set"));
    expect_says(&r, 0, "split  classes  pictures  a class  unreadable  fingerprint\ntrain        2         3      1-2",
                "");
    expect_says(&r, 0,
                "\nsizes\n  2x2  6\n\nidentical pictures (1 pairs across splits)\n  train/a/1.ppm  test/c/0.ppm\n", "");
    ran_free(&r);
    r = program_run("", WORDS("data", "check", "set", "--json"));
    expect_says(&r, 0, "\"across_splits\": true", "");
    expect_says(&r, 0, "\"smallest_class\": 1", "");
    ran_free(&r);
    r = program_run("", WORDS("data", "check", "set", "--strict"));
    expect_says(&r, 1, "identical", "centra data: 1 picture of 'set' stands in more than one split\n");
    ran_free(&r);
}

TEST(data_check_ends_with_1_when_a_picture_cannot_be_read)
{
    sample_set();
    sample_file("set/train/a/bad.jpg", "no picture", 10);
    struct ran r = program_run("", WORDS("data", "check", "set"));
    expect_says(&r, 1, "cannot be read\n  ", "centra data: 1 picture of 'set' cannot be read\n");
    expect_says(&r, 1, "set/train/a/bad.jpg", "");
    ran_free(&r);
}

TEST(data_pack_leaves_out_what_cannot_be_read_and_keeps_the_fingerprint)
{
    sample_set();
    sample_file("set/train/a/bad.jpg", "no picture", 10);
    struct ran r = program_run("", WORDS("data", "pack", "set", "set.pack"));
    expect_says(&r, 0, "5 pictures packed, 1 left out\n", "centra data: warning: left out: ");
    ran_free(&r);
    struct ran a = program_run("", WORDS("data", "check", "set", "--json"));
    struct ran b = program_run("", WORDS("data", "check", "set.pack", "--json"));
    const char *x = strstr(a.out, "\"fingerprint\""), *y = strstr(b.out, "\"fingerprint\"");
    REQUIRE(x && y);
    EXPECT(!strncmp(x, y, 80));
    ran_free(&a);
    ran_free(&b);
    r = program_run("", WORDS("data", "pack", "set", "other.pack", "--strict"));
    expect_says(&r, 1, "", "set/train/a/bad.jpg");
    ran_free(&r);
    EXPECT(!file_exists(sample_path("other.pack")));
    EXPECT_RUN(0, "{\"splits\": 2, \"pictures\": 5, \"skipped\": 0}\n", "", "data", "pack", "set.pack", "again.pack",
               "--side", "4", "--json");
}

TEST(data_split_writes_lists_once)
{
    for (int i = 0; i < 4; i++) {
        char name[40];
        snprintf(name, sizeof name, "four/c%d/x.ppm", i);
        sample_grey(name, i);
    }
    EXPECT_RUN(0,
               "train: 2 classes, 2 pictures\nval: 0 classes, 0 pictures\ntest: 1 classes, 1 pictures\n"
               "in no split: 1 classes\n",
               "", "data", "split", "four", "--train", "2", "--val", "0", "--test", "1");
    EXPECT_REFUSED(1,
                   "centra data: 'four' is split already: remove its train.csv, val.csv and test.csv to split it anew",
                   "data", "split", "four");
    struct ran r = program_run("", WORDS("data", "check", "four"));
    expect_says(&r, 0, "\ntrain        2 ", "");
    ran_free(&r);
}

TEST(data_refuses_what_is_missing_or_too_much)
{
    EXPECT_REFUSED(2, "centra data: something is missing: centra data pack PATH OUT", "data", "pack", "set");
    EXPECT_REFUSED(2, "centra data: too much: centra data check PATH", "data", "check", "a", "b");
    EXPECT_REFUSED(1, "centra data: cannot open 'none': No such file or directory", "data", "check", "none");
}

/* A file's name neither steers a terminal nor begins another line. */
TEST(data_names_unreadable_pictures_in_one_line_each)
{
    sample_set();
    sample_file("set/train/a/x\x1b[2J\ny.jpg", "no picture", 10);
    struct ran r = program_run("", WORDS("data", "check", "set"));
    expect_says(&r, 1, "set/train/a/x?[2J?y.jpg", "");
    ran_free(&r);
    r = program_run("", WORDS("data", "pack", "set", "set.pack"));
    expect_says(&r, 0, "", "set/train/a/x?[2J?y.jpg");
    ran_free(&r);
}
