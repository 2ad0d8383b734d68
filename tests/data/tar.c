/* Tests of data sets in tars. */
#include "data/dataset.h"
#include "data/tar.h"
#include "tests/data/sample.h"
#include "tests/data/tar_write.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

/* Names and sizes of all members, one a line. */
static status list_member(void *context, const char *name, size_t at, size_t n)
{
    (void)at;
    text_addf(context, "%s %zu\n", name, n);
    return OK;
}

/* Walks a copy of exactly that size, so that a sanitizer sees every byte read behind it. */
static status list(const text *t, size_t n, text *names)
{
    unsigned char *copy = malloc(n + !n);
    if (!copy) return ST_MEMORY;
    if (n) memcpy(copy, t->data, n);
    text_clear(names);
    status st = tar_walk("x.tar", copy, n, list_member, names);
    free(copy);
    return st;
}

static void expect_refused(const text *t, const char *says)
{
    text names = {0};
    EXPECT_STATUS(list(t, t->length, &names), ST_FORMAT);
    if (!strstr(error_text(), says)) test_failed(__FILE__, __LINE__, "\"%s\", wanted \"%s\"", error_text(), says);
    text_free(&names);
}

TEST(tar_names_of_every_kind_are_read)
{
    text t = {0}, names = {0};
    char deep[200];
    memset(deep, 'd', sizeof deep);
    deep[sizeof deep - 1] = 0;
    tar_add(&t, USTAR, '5', "./dir/", "", 0);
    tar_add(&t, USTAR, '0', "./dir//file", "abc", 3);
    tar_add(&t, GNU, 'L', "././@LongLink", deep, sizeof deep);
    tar_add(&t, GNU, '0', "cut", "x", 1);
    tar_add(&t, USTAR, 'x', "pax", "12 path=p/q\n22 comment=not for us\n", 34);
    tar_add(&t, USTAR, '0', "short", "", 0);
    tar_add(&t, USTAR, '2', "link", "", 0);
    tar_add(&t, USTAR, '\0', "old", "x", 1);
    const size_t at = t.length;
    tar_add(&t, USTAR, '0', "name", "x", 1);
    memcpy(t.data + at + 345, "prefix/of", 9);
    tar_sum(&t, at);
    tar_end(&t);
    EXPECT_OK(list(&t, t.length, &names));
    text wanted = {0};
    text_addf(&wanted, "dir/file 3\n%s 1\np/q 0\nold 1\nprefix/of/name 1\n", deep);
    EXPECT_TEXT(text_string(&names), text_string(&wanted));
    text_free(&wanted);
    text_free(&names);
    text_free(&t);
}

TEST(tar_sizes_may_stand_in_pax_records_or_in_binary)
{
    text t = {0}, names = {0};
    tar_add(&t, USTAR, 'x', "pax", "9 size=3\n", 9);
    const size_t at = t.length;
    tar_add(&t, USTAR, '0', "a", "abc", 3);
    memcpy(t.data + at + 124, "00000000000", 11); /* the record counts */
    tar_sum(&t, at);
    const size_t binary = t.length;
    tar_add(&t, GNU, '0', "b", "abcd", 4);
    memset(t.data + binary + 124, 0, 12);
    t.data[binary + 124] = (char)0x80;
    t.data[binary + 135] = 4;
    tar_sum(&t, binary);
    tar_end(&t);
    EXPECT_OK(list(&t, t.length, &names));
    EXPECT_TEXT(text_string(&names), "a 3\nb 4\n");
    text_free(&names);
    text_free(&t);
}

TEST(a_tar_that_is_cut_anywhere_is_refused)
{
    text t = {0}, names = {0};
    tar_grey(&t, "a/1.ppm", 1);
    tar_add(&t, USTAR, 'x', "pax", "12 path=p/q\n", 12);
    tar_grey(&t, "a/2.ppm", 1);
    const size_t whole = t.length + 512;
    tar_end(&t);
    for (size_t n = 0; n < whole; n++) EXPECT_STATUS(list(&t, n, &names), ST_FORMAT);
    EXPECT_OK(list(&t, whole, &names));
    text_free(&names);
    text_free(&t);
}

TEST(hostile_tars_are_refused_with_the_place)
{
    static const struct {
        char type;
        const char *name, *data, *says;
    } bad[] = {{'0', "../up", "x", "leads outside at byte 0"},
               {'0', "a/../../up", "x", "leads outside"},
               {'0', "/etc/passwd", "x", "leads outside"},
               {'0', "", "x", "is empty or leads outside"},
               {'S', "sparse", "x", "sparse files are not read"},
               {'x', "pax", "99 path=p/q\n", "a pax record is broken"},
               {'x', "pax", "12 path=p/q", "a pax record is broken"},
               {'x', "pax", "path", "a pax record is broken"},
               {'x', "pax", "7 path\n", "a pax record is broken"},
               {'x', "pax", "11 size=3x\n", "a pax size is no number"},
               {'x', "pax", "19 size=99999999999\n", "a pax record is broken"},
               {'x', "pax", "28 size=1000000000000000000\n", "a pax size is no number"},
               {'x', "pax", "24 GNU.sparse.major=1.0\n", "sparse files are not read"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        text t = {0};
        tar_add(&t, USTAR, bad[i].type, bad[i].name, bad[i].data, strlen(bad[i].data));
        tar_end(&t);
        expect_refused(&t, bad[i].says);
        text_free(&t);
    }
}

TEST(a_tar_with_a_damaged_header_is_refused)
{
    text t = {0};
    tar_grey(&t, "a/1.ppm", 1);
    tar_end(&t);
    t.data[3] ^= 1;
    expect_refused(&t, "a header's checksum is wrong at byte 0");
    t.data[3] ^= 1;
    memcpy(t.data + 124, "77777777777", 11);
    tar_sum(&t, 0);
    expect_refused(&t, "a member is longer than the file");
    memcpy(t.data + 124, "0000000000x", 11);
    tar_sum(&t, 0);
    expect_refused(&t, "a size is no number");
    memset(t.data + 124, 0xff, 12);
    tar_sum(&t, 0);
    expect_refused(&t, "a size is no number");
    text_free(&t);
}

TEST(a_pax_size_larger_than_the_file_is_refused)
{
    text t = {0};
    tar_add(&t, USTAR, 'x', "pax", "27 size=999999999999999999\n", 27);
    tar_grey(&t, "a/1.ppm", 1);
    tar_end(&t);
    expect_refused(&t, "a member is longer than the file");
    text_free(&t);
}

TEST(a_tar_gives_the_set_and_fingerprint_of_its_folder)
{
    text t = {0};
    struct dataset *d = NULL, *folder = NULL;
    char a[65], b[65];
    sample_set();
    tar_grey(&t, "./test/c/9.ppm", 5);
    tar_grey(&t, "train/b/x.PPM", 3);
    tar_grey(&t, "train/a/2.ppm", 2);
    tar_grey(&t, "train/a/1.ppm", 1);
    tar_grey(&t, "train/a/.1.ppm", 1);
    tar_grey(&t, "readme.ppm", 1);
    tar_end(&t);
    sample_file("set.tar", t.data, t.length);
    REQUIRE(dataset_open(sample_path("set.tar"), "train", NULL, &d) == OK);
    REQUIRE(dataset_open(sample_path("set"), "train", NULL, &folder) == OK);
    EXPECT_INT(dataset_count(d), 3);
    EXPECT_TEXT(dataset_name(d, 0), "a/1.ppm");
    EXPECT_OK(dataset_fingerprint(d, a));
    EXPECT_OK(dataset_fingerprint(folder, b));
    EXPECT_TEXT(a, b);
    char *bytes = NULL;
    size_t n = 0;
    EXPECT_OK(dataset_bytes(d, 0, &bytes, &n));
    EXPECT_INT(n, SAMPLE_PPM_BYTES);
    free(bytes);
    dataset_close(d);
    dataset_close(folder);
    text_free(&t);
}

TEST(a_folder_of_tars_is_their_union_and_nothing_may_be_twice)
{
    struct dataset *d = NULL;
    text t[2] = {{0}, {0}};
    tar_grey(&t[0], "train/a/1.ppm", 1);
    tar_grey(&t[0], "test/c/1.ppm", 1);
    tar_grey(&t[1], "train/a/2.ppm", 2);
    for (int i = 0; i < 2; i++) tar_end(&t[i]);
    sample_file("tars/1.tar", t[0].data, t[0].length);
    sample_file("tars/2.tar", t[1].data, t[1].length);
    REQUIRE(dataset_open(sample_path("tars"), "train", NULL, &d) == OK);
    EXPECT_INT(dataset_count(d), 2);
    EXPECT_INT(dataset_class_count(d), 1);
    struct picture p = {0};
    EXPECT_OK(dataset_picture(d, 1, &p));
    EXPECT_INT(p.rgb[0], 2);
    picture_free(&p);
    dataset_close(d);
    d = NULL;
    sample_file("tars/3.tar", t[1].data, t[1].length);
    EXPECT_STATUS(dataset_open(sample_path("tars"), "train", NULL, &d), ST_FORMAT);
    EXPECT(strstr(error_text(), "has 'a/2.ppm' twice"));
    for (int i = 0; i < 2; i++) text_free(&t[i]);
}

TEST(a_compressed_tar_and_other_files_are_refused)
{
    struct dataset *d = NULL;
    sample_file("x.tar.gz", "\x1f\x8b\x08\x00", 4);
    EXPECT_STATUS(dataset_open(sample_path("x.tar.gz"), NULL, NULL, &d), ST_FORMAT);
    EXPECT(strstr(error_text(), "is compressed"));
    sample_file("x.txt", "words", 5);
    EXPECT_STATUS(dataset_open(sample_path("x.txt"), NULL, NULL, &d), ST_FORMAT);
    EXPECT(strstr(error_text(), "is no data set"));
    sample_file("empty", "", 0);
    EXPECT_STATUS(dataset_open(sample_path("empty"), NULL, NULL, &d), ST_FORMAT);
    EXPECT(!d);
}

TEST(opening_a_tar_survives_every_failed_allocation)
{
    text t = {0};
    tar_add(&t, USTAR, 'x', "pax", "22 path=train/a/1.ppm\n", 22);
    tar_grey(&t, "cut", 1);
    tar_end(&t);
    sample_file("set.tar", t.data, t.length);
    text_free(&t);
    bool failed = true;
    for (size_t n = 1; failed && n < 1000; n++) {
        struct dataset *d = NULL;
        size_t live = alloc_live();
        alloc_fail_at(n);
        status st = dataset_open(sample_path("set.tar"), "train", NULL, &d);
        failed = alloc_did_fail();
        alloc_fail_at(0);
        EXPECT_STATUS(st, failed ? ST_MEMORY : OK);
        dataset_close(d);
        EXPECT_INT(alloc_live(), live);
    }
    EXPECT(!failed);
}

TEST(real_tars_have_the_classes_and_pictures_that_their_description_says)
{
    static const struct {
        const char *file, *split;
        size_t classes, pictures;
    } sets[] = {{"cub-train.tar", "train", 100, 5903},
                {"cub-valtest.tar", "val", 50, 2927},
                {"cub-valtest.tar", "test", 50, 2958},
                {"mini84ravi-val.tar", "val", 16, 9600},
                {"mini84ravi-test.tar", "test", 20, 12000},
                {"caltech101.tar", NULL, 100, 2900},
                {"cub-photos.tar", NULL, 8, 104}};
    const char *folder = sample_real();
    if (!folder) return;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        struct dataset *d = NULL;
        struct picture p = {0};
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, sets[i].file);
        EXPECT_OK(dataset_open(path, sets[i].split, NULL, &d));
        if (!d) continue;
        EXPECT_INT(dataset_class_count(d), sets[i].classes);
        EXPECT_INT(dataset_count(d), sets[i].pictures);
        EXPECT_OK(dataset_picture(d, dataset_count(d) - 1, &p));
        picture_free(&p);
        dataset_close(d);
    }
}
