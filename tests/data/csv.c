/* Tests of data sets given as lists. */
#include "data/csv.h"
#include "base/text.h"
#include "data/dataset.h"
#include "tests/data/sample.h"
#include "tests/test.h"
#include <stdlib.h>

static status list_line(void *context, const char *filename, const char *label)
{
    text_addf(context, "[%s][%s]", filename, label);
    return OK;
}

/* Reads a copy of exactly that size. */
static status list(const char *bytes, size_t n, text *to)
{
    char *copy = malloc(n + !n);
    if (!copy) return ST_MEMORY;
    memcpy(copy, bytes, n);
    text_clear(to);
    status st = csv_read("x.csv", copy, n, list_line, to);
    free(copy);
    return st;
}

TEST(lists_are_read_with_quotes_line_ends_and_a_mark)
{
    static const char *const good[][2] = {
        {"filename,label\na.jpg,n01\nb.jpg,n02\n", "[a.jpg][n01][b.jpg][n02]"},
        {"\xef\xbb\xbf"
         "filename,label\r\na.jpg,n01\r\n",
         "[a.jpg][n01]"},
        {"filename,label\na.jpg,n01", "[a.jpg][n01]"},
        {"label,filename\nn01,a.jpg\n", "[a.jpg][n01]"},
        {"id,filename,label\n7,a.jpg,n01\n", "[a.jpg][n01]"},
        {"\"filename\",\"label\"\n\"a, \"\"b\"\".jpg\",\"n 01\"\r\n", "[a, \"b\".jpg][n 01]"},
        {"filename,label\n", ""},
        {"filename,label", ""}};
    text seen = {0};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        EXPECT_OK(list(good[i][0], strlen(good[i][0]), &seen));
        EXPECT_TEXT(text_string(&seen), good[i][1]);
    }
    text_free(&seen);
}

TEST(bad_lists_are_refused_with_the_line)
{
    static const char *const bad[][2] = {
        {"", "line 1: the first line must name the columns: filename,label"},
        {"a.jpg,n01\n", "line 1: the first line must name"},
        {"filename,label,label\n", "line 1: the first line must name"},
        {"filename,label\na.jpg\n", "line 2: it has 1 columns, the first line 2"},
        {"filename,label\na.jpg,b,c\n", "line 2: it has 3 columns"},
        {"filename,label\na.jpg,b\n\n", "line 3: it has 1 columns"},
        {"filename,label\na.jpg,\n", "line 2: the filename or the label is empty"},
        {"filename,label\n,b\n", "line 2: the filename or the label is empty"},
        {"filename,label\n\"a.jpg,b\nc,d\n", "line 2: a quote is not closed on its line"},
        {"filename,label\n\"a.jpg", "line 2: a quote is not closed on its line"},
        {"filename,label\n\"a.jpg\"x,b\n", "line 2: something stands behind a closing quote"},
        {"filename,label\na\"b.jpg,b\n", "line 2: a quote stands within a word"},
        {"filename,label\na.jpg,b\rc,d\n", "line 2: a carriage return stands within the line"}};
    text seen = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        EXPECT_STATUS(list(bad[i][0], strlen(bad[i][0]), &seen), ST_FORMAT);
        if (!strstr(error_text(), bad[i][1]))
            test_failed(__FILE__, __LINE__, "case %zu: \"%s\", wanted \"%s\"", i, error_text(), bad[i][1]);
    }
    EXPECT_STATUS(list("filename,label\na\0b,c\n", 21, &seen), ST_FORMAT);
    EXPECT(strstr(error_text(), "line 2: it has a NUL"));
    EXPECT_STATUS(list(",,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,", 38, &seen), ST_FORMAT);
    EXPECT(strstr(error_text(), "more than 32 columns"));
    text_free(&seen);
}

static void put(const char *name, const char *words) { sample_file(name, words, strlen(words)); }

TEST(a_list_is_one_split_beside_its_pictures_or_with_their_folder)
{
    struct dataset *d = NULL;
    const char **splits = NULL;
    sample_grey("l/sub/1.ppm", 1);
    sample_grey("l/2.ppm", 2);
    put("l/train.csv", "filename,label\n2.ppm,b\nsub/1.ppm,a\n");
    REQUIRE(dataset_open(sample_path("l/train.csv"), NULL, NULL, &d) == OK);
    EXPECT_INT(dataset_class_count(d), 2);
    EXPECT_TEXT(dataset_name(d, 0), "a/sub/1.ppm");
    struct picture p = {0};
    EXPECT_OK(dataset_picture(d, 1, &p));
    EXPECT_INT(p.rgb[0], 2);
    picture_free(&p);
    dataset_close(d);
    d = NULL;
    REQUIRE(dataset_open(sample_path("l/train.csv"), "train", NULL, &d) == OK);
    dataset_close(d);
    d = NULL;
    EXPECT_STATUS(dataset_open(sample_path("l/train.csv"), "test", NULL, &d), ST_VALUE);
    EXPECT(strstr(error_text(), "is one list: it has no split 'test'"));
    REQUIRE(dataset_splits(sample_path("l/train.csv"), &splits) == OK);
    EXPECT(!splits[0]);
    free(splits);
    put("elsewhere/mine.csv", "filename,label\n2.ppm,b\n");
    REQUIRE(dataset_open(sample_path("elsewhere/mine.csv"), NULL, &(struct dataset_options){.images = sample_path("l")},
                         &d) == OK);
    EXPECT_OK(dataset_picture(d, 0, &p));
    picture_free(&p);
    dataset_close(d);
}

TEST(a_folder_of_lists_and_images_has_their_splits)
{
    struct dataset *d = NULL;
    const char **splits = NULL;
    sample_grey("m/images/1.ppm", 1);
    sample_grey("m/images/2.ppm", 2);
    put("m/train.csv", "filename,label\n1.ppm,a\n");
    put("m/test.csv", "filename,label\n2.ppm,b\n");
    REQUIRE(dataset_splits(sample_path("m"), &splits) == OK);
    EXPECT_TEXT(splits[0], "train");
    EXPECT_TEXT(splits[1], "test");
    EXPECT(!splits[2]);
    free(splits);
    REQUIRE(dataset_open(sample_path("m"), "test", NULL, &d) == OK);
    EXPECT_INT(dataset_count(d), 1);
    struct picture p = {0};
    EXPECT_OK(dataset_picture(d, 0, &p));
    EXPECT_INT(p.rgb[0], 2);
    picture_free(&p);
    dataset_close(d);
    d = NULL;
    EXPECT_STATUS(dataset_open(sample_path("m"), "val", NULL, &d), ST_VALUE);
    EXPECT(strstr(error_text(), "it has the splits train, test"));
    EXPECT_STATUS(dataset_open(sample_path("m"), NULL, NULL, &d), ST_VALUE);
    put("m/val.csv", "filename,label\n");
    EXPECT_STATUS(dataset_open(sample_path("m"), "val", NULL, &d), ST_VALUE);
    put("m/val.csv", "filename,label\n1.ppm,a\n1.ppm,a\n");
    EXPECT_STATUS(dataset_open(sample_path("m"), "val", NULL, &d), ST_FORMAT);
    EXPECT(strstr(error_text(), "has 'a/1.ppm' twice"));
}

TEST(opening_lists_survives_every_failed_allocation)
{
    sample_grey("m/images/1.ppm", 1);
    put("m/train.csv", "filename,label\n1.ppm,a\n");
    bool failed = true;
    for (size_t n = 1; failed && n < 1000; n++) {
        struct dataset *d = NULL;
        struct picture p = {0};
        size_t live = alloc_live();
        alloc_fail_at(n);
        status st = dataset_open(sample_path("m"), "train", NULL, &d);
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
