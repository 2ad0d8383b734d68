/* Tests of packs. */
#include "data/pack.h"
#include "base/file.h"
#include "data/dataset.h"
#include "data/pack_format.h"
#include "tests/data/sample.h"
#include "tests/test.h"
#include <stdlib.h>
#include <unistd.h>

static status read_pack(unsigned char **bytes, size_t *n)
{
    char *data = NULL;
    status st = file_read(sample_path("set.pack"), 1 << 20, &data, n);
    *bytes = (unsigned char *)data;
    return st;
}

/* Opens those bytes as a pack and reads every picture of its train split. */
static status try_pack(const unsigned char *bytes, size_t n)
{
    struct dataset *d = NULL;
    sample_file("try.pack", bytes, n);
    status st = dataset_open(sample_path("try.pack"), "train", NULL, &d);
    for (size_t i = 0; st == OK && i < dataset_count(d); i++) {
        struct picture p = {0};
        st = dataset_picture(d, i, &p);
        picture_free(&p);
    }
    dataset_close(d);
    return st;
}

static void expect_same(const char *a_path, const char *b_path, const char *split)
{
    struct dataset *a = NULL, *b = NULL;
    char x[65], y[65];
    REQUIRE(dataset_open(a_path, split, NULL, &a) == OK);
    EXPECT_OK(dataset_open(b_path, split, NULL, &b));
    REQUIRE(b);
    EXPECT_INT(dataset_count(b), dataset_count(a));
    for (size_t i = 0; i < dataset_count(a); i++) EXPECT_TEXT(dataset_name(b, i), dataset_name(a, i));
    EXPECT_OK(dataset_fingerprint(a, x));
    EXPECT_OK(dataset_fingerprint(b, y));
    EXPECT_TEXT(y, x);
    dataset_close(a);
    dataset_close(b);
}

TEST(a_pack_holds_every_split_with_the_same_names_and_fingerprints)
{
    struct pack_result r;
    const char **splits = NULL;
    sample_set();
    REQUIRE(pack_write(sample_path("set"), NULL, sample_path("set.pack"), &r) == OK);
    EXPECT_INT(r.splits, 2);
    EXPECT_INT(r.pictures, 5);
    EXPECT_INT(r.skipped, 0);
    expect_same(sample_path("set"), sample_path("set.pack"), "train");
    expect_same(sample_path("set"), sample_path("set.pack"), "test");
    REQUIRE(dataset_splits(sample_path("set.pack"), &splits) == OK);
    EXPECT_TEXT(splits[0], "train");
    EXPECT_TEXT(splits[1], "test");
    EXPECT(!splits[2]);
    free(splits);
    REQUIRE(pack_write(sample_path("set.pack"), NULL, sample_path("again.pack"), NULL) == OK);
    unsigned char *a = NULL;
    char *b = NULL;
    size_t n = 0, m = 0;
    REQUIRE(read_pack(&a, &n) == OK);
    REQUIRE(file_read(sample_path("again.pack"), 1 << 20, &b, &m) == OK);
    EXPECT(n == m && !memcmp(a, b, n));
    free(a);
    free(b);
}

TEST(a_set_without_splits_packs_to_one_without_splits)
{
    struct pack_result r;
    sample_grey("plain/a/1.ppm", 1);
    sample_grey("plain/b/1.ppm", 2);
    REQUIRE(pack_write(sample_path("plain"), NULL, sample_path("plain.pack"), &r) == OK);
    EXPECT_INT(r.splits, 0);
    EXPECT_INT(r.pictures, 2);
    expect_same(sample_path("plain"), sample_path("plain.pack"), NULL);
}

TEST(a_pack_may_have_its_pictures_resized)
{
    struct dataset *d = NULL;
    struct picture p = {0};
    char *bytes = NULL;
    size_t n = 0;
    sample_set();
    const struct pack_options o = {.side = 8};
    REQUIRE(pack_write(sample_path("set"), &o, sample_path("set.pack"), NULL) == OK);
    REQUIRE(dataset_open(sample_path("set.pack"), "test", NULL, &d) == OK);
    EXPECT_OK(dataset_picture(d, 1, &p));
    EXPECT_INT(p.width, 8);
    EXPECT_INT(p.height, 8);
    EXPECT_INT(p.rgb[3 * 63], 5);
    EXPECT_OK(dataset_bytes(d, 1, &bytes, &n));
    EXPECT_INT(n, 192);
    free(bytes);
    picture_free(&p);
    dataset_close(d);
}

TEST(a_pack_may_have_its_pictures_compressed)
{
    struct dataset *d = NULL, *from = NULL;
    struct picture p = {0}, whole = {0}, small = {0}, wanted = {0};
    sample_set();
    sample_file("set/test/c/9.ppm", "P6 3 2 255\n\xff\0\0\0\xff\0\0\0\xff\x80\x10\x20@\xf0@  \x90", 29);
    const struct pack_options o = {.side = 8, .filter = RESIZE_LANCZOS, .quality = 50, .halved = true};
    const status st = pack_write(sample_path("set"), &o, sample_path("set.pack"), NULL);
    if (st == ST_UNSUPPORTED) {
        test_skip("this build has no libjpeg");
        return;
    }
    REQUIRE(st == OK && dataset_open(sample_path("set.pack"), "test", NULL, &d) == OK &&
            dataset_open(sample_path("set"), "test", NULL, &from) == OK);
    EXPECT_OK(dataset_picture(d, 1, &p));
    REQUIRE(dataset_picture(from, 1, &whole) == OK && picture_resize_by(&whole, 8, 8, RESIZE_LANCZOS, &small) == OK &&
            picture_compress(&small, 50, true, &wanted) == OK);
    EXPECT(p.width == 8 && p.height == 8 && !memcmp(p.rgb, wanted.rgb, 192));
    picture_free(&p);
    picture_free(&whole);
    picture_free(&small);
    picture_free(&wanted);
    dataset_close(d);
    dataset_close(from);
}

static void expect_refused(const struct pack_options *o, status wanted, const char *sentence)
{
    EXPECT_STATUS(pack_write(sample_path("set"), o, sample_path("no.pack"), NULL), wanted);
    EXPECT_TEXT(error_text(), sentence);
    EXPECT(!file_exists(sample_path("no.pack")));
}

TEST(options_of_a_pack_that_could_have_no_effect_are_refused)
{
    sample_set();
    expect_refused(&(struct pack_options){.filter = RESIZE_LANCZOS}, ST_USAGE,
                   "the filter lanczos is for resizing, but no side is given");
    expect_refused(&(struct pack_options){.side = 8, .halved = true}, ST_USAGE,
                   "colours are halved by compressing, but no quality is given");
    if (picture_compress_check(50) == OK)
        expect_refused(&(struct pack_options){.quality = 101}, ST_VALUE,
                       "a JPEG's quality is 101, but must lie between 1 and 100");
}

static bool count_progress(void *context, size_t done, size_t all)
{
    size_t *seen = context;
    EXPECT(done >= seen[0] && done <= all);
    seen[0] = done;
    seen[1] = all;
    return done < 1000;
}

static bool stop_at_once(void *context, size_t done, size_t all)
{
    (void)context;
    return done > all;
}

TEST(packing_can_be_stopped_and_leaves_nothing_behind)
{
    sample_set();
    const struct pack_options o = {.progress = stop_at_once};
    EXPECT_STATUS(pack_write(sample_path("set"), &o, sample_path("set.pack"), NULL), ST_VALUE);
    EXPECT(strstr(error_text(), "packing was stopped after 3 of 5 pictures"));
    EXPECT(!file_exists(sample_path("set.pack")));
}

TEST(unreadable_pictures_are_left_out_of_a_pack_with_a_warning_or_refused)
{
    struct pack_result r;
    struct sample_log log;
    size_t seen[2] = {0, 0};
    sample_set();
    sample_file("set/train/a/bad.jpg", "no picture", 10);
    sample_log_begin(&log);
    struct pack_options o = {.log = &log.sink, .progress = count_progress, .context = seen};
    REQUIRE(pack_write(sample_path("set"), &o, sample_path("set.pack"), &r) == OK);
    EXPECT_INT(r.pictures, 5);
    EXPECT_INT(r.skipped, 1);
    EXPECT_INT(seen[0], 6);
    EXPECT_INT(seen[1], 6);
    EXPECT(strstr(log.lines, "left out: ") && strstr(log.lines, "train/a/bad.jpg"));
    REQUIRE(unlink(sample_path("set.pack")) == 0);
    o = (struct pack_options){.strict = true};
    EXPECT(pack_write(sample_path("set"), &o, sample_path("set.pack"), &r) != OK);
    EXPECT(strstr(error_text(), "train/a/bad.jpg"));
    EXPECT(!file_exists(sample_path("set.pack")));
}

TEST(a_pack_cut_or_damaged_anywhere_is_refused)
{
    unsigned char *bytes = NULL;
    size_t n = 0;
    sample_set();
    REQUIRE(pack_write(sample_path("set"), NULL, sample_path("set.pack"), NULL) == OK);
    REQUIRE(read_pack(&bytes, &n) == OK);
    EXPECT_OK(try_pack(bytes, n));
    for (size_t i = 0; i < n; i++) EXPECT(try_pack(bytes, i) != OK);
    /* Paddings and the bytes of the other split may be anything: a changed byte is refused or changes nothing. */
    size_t refused = 0;
    for (size_t i = 0; i < n; i++) {
        bytes[i] ^= 0x41;
        refused += try_pack(bytes, n) != OK;
        bytes[i] ^= 0x41;
    }
    EXPECT(refused > 3 * 12 + 5 * PACK_RECORD_BYTES);
    free(bytes);
}

/* The footer's sum of a changed table made right again, so that the bounds themselves are tried. */
static void mend(unsigned char *bytes, size_t n)
{
    unsigned char *footer = bytes + n - PACK_FOOTER_BYTES;
    pack_put(footer + 16, pack_sum(bytes + pack_u64(footer), (size_t)pack_u64(footer + 8)), 8);
}

TEST(a_pack_with_hostile_numbers_is_refused)
{
    static const struct {
        size_t at, bytes;
        uint64_t value;
        const char *says;
    } bad[] = {{0, 8, 1, "lies outside"},
               {0, 8, 0, "lies outside"},
               {0, 8, UINT64_MAX - 63, "lies outside"},
               {16, 4, 0, "no pixels or too many"},
               {16, 4, UINT32_MAX, "no pixels or too many"},
               {20, 4, 1 << 20, "lies outside"},
               {24, 4, UINT32_MAX, "a name is too long"},
               {28, 4, 0, "a name is empty"},
               {32, 4, 60000, "a name is too long"},
               {PACK_RECORD_BYTES, 1, 0, "has a NUL"}};
    unsigned char *bytes = NULL;
    size_t n = 0;
    sample_set();
    REQUIRE(pack_write(sample_path("set"), NULL, sample_path("set.pack"), NULL) == OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        REQUIRE(read_pack(&bytes, &n) == OK);
        pack_put(bytes + pack_u64(bytes + n - PACK_FOOTER_BYTES) + bad[i].at, bad[i].value, bad[i].bytes);
        mend(bytes, n);
        EXPECT_STATUS(try_pack(bytes, n), ST_FORMAT);
        if (!strstr(error_text(), bad[i].says))
            test_failed(__FILE__, __LINE__, "case %zu: \"%s\", wanted \"%s\"", i, error_text(), bad[i].says);
        free(bytes);
    }
}

TEST(a_pack_of_another_version_is_refused_by_number)
{
    unsigned char *bytes = NULL;
    size_t n = 0;
    sample_set();
    REQUIRE(pack_write(sample_path("set"), NULL, sample_path("set.pack"), NULL) == OK);
    REQUIRE(read_pack(&bytes, &n) == OK);
    bytes[8] = 9;
    EXPECT_STATUS(try_pack(bytes, n), ST_UNSUPPORTED);
    EXPECT(strstr(error_text(), "is a pack of version 9; this program reads version 1"));
    free(bytes);
}

TEST(packing_survives_every_failed_allocation)
{
    sample_set();
    bool failed = true;
    for (size_t n = 1; failed && n < 1000; n++) {
        size_t live = alloc_live();
        struct dataset *d = NULL;
        alloc_fail_at(n);
        status st = pack_write(sample_path("set"), NULL, sample_path("set.pack"), NULL);
        if (st == OK) st = dataset_open(sample_path("set.pack"), "train", NULL, &d);
        failed = alloc_did_fail();
        alloc_fail_at(0);
        EXPECT(st == OK ? !failed : failed);
        dataset_close(d);
        EXPECT_INT(alloc_live(), live);
    }
    EXPECT(!failed);
}
