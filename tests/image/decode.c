/* decode.c - telling formats apart, PPM and PGM, EXIF blocks, and PNG files written without libpng. */
#include "base/file.h"
#include "image/formats.h"
#include "tests/image/sample.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

static bool reads(const char *format)
{
    for (size_t i = 0; picture_formats[i]; i++)
        if (!strcmp(picture_formats[i], format)) return true;
    return false;
}

TEST(what_is_no_picture_is_refused_by_name)
{
    struct picture p = {0};
    EXPECT_STATUS(picture_decode("notes.jpg", "hello", 5, true, &p), ST_FORMAT);
    EXPECT(strstr(error_text(), "notes.jpg"));
    EXPECT_STATUS(picture_decode("empty", "", 0, true, &p), ST_FORMAT);
    EXPECT_STATUS(picture_decode("P4", "P4 1 1 1 1", 10, true, &p), ST_FORMAT);
    EXPECT_STATUS(picture_read("no/such/file.png", true, &p), ST_IO);
    EXPECT(!p.rgb);
    EXPECT(reads("ppm"));
}

TEST(a_build_without_a_library_says_so)
{
    const struct {
        const char *format, *bytes, *title;
    } cases[] = {{"jpeg", "\xff\xd8\xff\xe0........", "JPEG: libjpeg"},
                 {"png", "\x89PNG\r\n\x1a\n....", "PNG: libpng"},
                 {"webp", "RIFF\4..\0WEBP", "WebP: libwebp"}};
    for (size_t i = 0; i < 3; i++) {
        struct picture p = {0};
        const status st = picture_decode("x", cases[i].bytes, 12, true, &p);
        EXPECT_STATUS(st, reads(cases[i].format) ? ST_FORMAT : ST_UNSUPPORTED);
        if (st == ST_UNSUPPORTED) EXPECT(strstr(error_text(), cases[i].title));
    }
}

static void expect_ppm(const char *header, const void *data, size_t n, size_t width, size_t height,
                       const uint8_t *wanted)
{
    struct sample_file f = {0};
    struct picture p = {0};
    sample_append(&f, header, strlen(header));
    sample_append(&f, data, n);
    EXPECT_OK(picture_decode(header, f.bytes, f.n, true, &p));
    EXPECT_INT(p.width, width);
    EXPECT_INT(p.height, height);
    if (p.rgb && p.width * p.height == width * height) EXPECT(!memcmp(p.rgb, wanted, width * height * 3));
    picture_free(&p);
    sample_truncate(&f, 0);
    sample_damage(&f);
    sample_starve(&f);
    free(f.bytes);
}

TEST(ppm_and_pgm_are_read_with_8_and_16_bits)
{
    expect_ppm("P6\n2 1\n255\n", "\1\2\3\4\5\6", 6, 2, 1, (const uint8_t[]){1, 2, 3, 4, 5, 6});
    expect_ppm("P5 1 2 255 ", "\7\x80", 2, 1, 2, (const uint8_t[]){7, 7, 7, 128, 128, 128});
    expect_ppm("P5#a\n# b 9\n2 #c\n1 15 ", "\0\x0f", 2, 2, 1, (const uint8_t[]){0, 0, 0, 255, 255, 255});
    expect_ppm("P6 1 1 65535 ", "\xff\xff\x80\x00\x01\x00", 6, 1, 1, (const uint8_t[]){255, 128, 1});
    expect_ppm("P5 2 1 1000 ", "\x01\xf4\xff\xff", 4, 2, 1, (const uint8_t[]){128, 128, 128, 255, 255, 255});
}

TEST(ppm_headers_that_lie_are_refused_without_memory)
{
    const char *const bad[] = {"P6 30000 30000 255 x",
                               "P6 99999999999999999999 1 255 x",
                               "P6 0 1 255 x",
                               "P6 1 1 0 xxx",
                               "P6 1 1 65536 xxxxxx",
                               "P6 -1 1 255 xxx",
                               "P6 8000 8000 255 x",
                               "P6 1 1 255xxx",
                               "P6 1 1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct picture p = {0};
        const size_t before = alloc_count();
        EXPECT(picture_decode("bad.ppm", bad[i], strlen(bad[i]), true, &p) != OK);
        EXPECT_INT(alloc_count(), before);
    }
}

TEST(exif_gives_the_orientation_or_1)
{
    uint8_t block[32] = "Exif\0";
    for (int big = 0; big < 2; big++)
        for (int o = 0; o < 10; o++) {
            sample_exif(big, o, block + 6);
            EXPECT_INT(exif_orientation(block, 32), o >= 1 && o <= 8 ? o : 1);
            EXPECT_INT(exif_orientation(block + 6, 26), o >= 1 && o <= 8 ? o : 1);
        }
    for (size_t n = 0; n < 22; n++) EXPECT_INT(exif_orientation(block + 6, n), 1);
    const uint8_t far[] = "MM\0\x2a\xff\xff\xff\xff";
    EXPECT_INT(exif_orientation(far, 8), 1);
    sample_exif(true, 6, block);
    block[9] = 200; /* more entries than there are bytes */
    EXPECT_INT(exif_orientation(block, 26), 6);
    block[13] = 4; /* not a short */
    EXPECT_INT(exif_orientation(block, 26), 1);
}

/* Two entries, of which the second says the orientation: where the block ends before it, it must not be seen. */
TEST(exif_is_not_read_behind_its_end)
{
    uint8_t block[38];
    sample_exif(true, 6, block);
    memcpy(block + 22, block + 10, 12);
    block[9] = 2;
    block[10] = 7; /* another tag */
    EXPECT_INT(exif_orientation(block, 34), 6);
    EXPECT_INT(exif_orientation(block, 33), 1);
}

TEST(colours_lie_over_white)
{
    const uint8_t rgba[] = {10, 20, 30, 255, 10, 20, 30, 0, 0, 100, 255, 128, 1, 0, 255, 254};
    uint8_t rgb[12];
    picture_flatten(rgba, 4, rgb);
    EXPECT(!memcmp(rgb, (const uint8_t[]){10, 20, 30, 255, 255, 255, 127, 177, 255, 2, 1, 255}, 12));
}

static void expect_round_trip(const struct picture *p, bool stored)
{
    char path[512];
    struct picture q = {0};
    text bytes = {0};
    snprintf(path, sizeof path, "%s/a.png", test_folder());
    if (stored) EXPECT_OK(png_write_stored(&bytes, p));
    else EXPECT_OK(picture_write_png(path, p));
    if (reads("png")) {
        if (stored) EXPECT_OK(picture_decode("a.png", bytes.data, bytes.length, true, &q));
        else EXPECT_OK(picture_read(path, true, &q));
        EXPECT_INT(sample_difference(p, &q), 0);
        picture_free(&q);
    }
    text_free(&bytes);
}

/* 21845 and 21846 pixels are rows of one and two stored blocks. */
TEST(written_png_files_read_back)
{
    const size_t sizes[][2] = {{1, 1}, {7, 5}, {21844, 2}, {21845, 2}, {60000, 1}};
    for (size_t i = 0; i < 5; i++) {
        struct picture p = sample_counting(sizes[i][0], sizes[i][1]);
        expect_round_trip(&p, false);
        expect_round_trip(&p, true);
        picture_free(&p);
    }
}

/* A one-pixel file worked out by hand (checksums by an independent program), for builds that cannot read it back. */
TEST(a_stored_png_has_the_bytes_of_the_standard)
{
    uint8_t rgb[3] = {1, 2, 3};
    const struct picture p = {1, 1, rgb};
    text bytes = {0};
    EXPECT_OK(png_write_stored(&bytes, &p));
    static const uint8_t wanted[] = {
        0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52, 0x00, 0x00,
        0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x02, 0x00, 0x00, 0x00, 0x90, 0x77, 0x53, 0xde, 0x00, 0x00, 0x00,
        0x0f, 0x49, 0x44, 0x41, 0x54, 0x78, 0x01, 0x01, 0x04, 0x00, 0xfb, 0xff, 0x00, 0x01, 0x02, 0x03, 0x00, 0x0e,
        0x00, 0x07, 0x2d, 0xa2, 0x33, 0xec, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
    };
    EXPECT_INT(bytes.length, sizeof wanted);
    EXPECT(bytes.length == sizeof wanted && !memcmp(bytes.data, wanted, sizeof wanted));
    text_free(&bytes);
}

TEST(a_png_that_cannot_be_written_leaves_no_file)
{
    struct picture p = sample_counting(3, 3);
    EXPECT_STATUS(picture_write_png("no/such/folder/a.png", &p), ST_IO);
    char path[512];
    snprintf(path, sizeof path, "%s/b.png", test_folder());
    for (size_t n = 1;; n++) {
        const size_t before = alloc_live();
        alloc_fail_at(n);
        const status st = picture_write_png(path, &p);
        const bool failed = alloc_did_fail();
        alloc_fail_at(0);
        EXPECT_INT(alloc_live(), before);
        if (!failed) {
            EXPECT_OK(st);
            break;
        }
        EXPECT(st != OK && !file_exists(path));
    }
    picture_free(&p);
}
