/* jpeg.c - JPEG files made here with libjpeg: every colour space, which way is up, damage, bombs. */
#include "tests/image/sample.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <jpeglib.h>

struct kind {
    J_COLOR_SPACE given, stored;
    bool progressive, jfif, adobe;
    int orientation; /* 0: no EXIF block */
    bool big_endian;
};

static const struct kind plain = {JCS_RGB, JCS_YCbCr, false, true, false, 0, false};

static int channels_of(J_COLOR_SPACE space) { return space == JCS_GRAYSCALE ? 1 : space == JCS_CMYK ? 4 : 3; }

static void put_exif(struct jpeg_compress_struct *c, const struct kind *k)
{
    uint8_t block[32] = "Exif\0";
    sample_exif(k->big_endian, k->orientation, block + 6);
    jpeg_write_marker(c, JPEG_APP0 + 1, block, sizeof block);
}

/* `pixels`: [height, width, channels of k->given]. */
static void encode(const uint8_t *pixels, size_t width, size_t height, const struct kind *k, struct sample_file *out)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    unsigned char *bytes = NULL;
    unsigned long n = 0;
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &bytes, &n);
    c.image_width = (JDIMENSION)width;
    c.image_height = (JDIMENSION)height;
    c.input_components = channels_of(k->given);
    c.in_color_space = k->given;
    jpeg_set_defaults(&c);
    jpeg_set_colorspace(&c, k->stored);
    jpeg_set_quality(&c, 95, TRUE);
    for (int i = 0; i < c.num_components; i++) c.comp_info[i].h_samp_factor = c.comp_info[i].v_samp_factor = 1;
    c.write_JFIF_header = k->jfif;
    c.write_Adobe_marker = k->adobe;
    if (k->progressive) jpeg_simple_progression(&c);
    jpeg_start_compress(&c, TRUE);
    if (k->orientation) put_exif(&c, k);
    while (c.next_scanline < height) {
        JSAMPROW row = (uint8_t *)pixels + c.next_scanline * width * (size_t)c.input_components;
        jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    *out = (struct sample_file){0};
    sample_append(out, bytes, n);
    jpeg_destroy_compress(&c);
    free(bytes);
}

static void expect_near(const struct sample_file *f, const struct picture *wanted, int tolerance)
{
    struct picture seen = {0};
    EXPECT_OK(picture_decode("sample.jpg", f->bytes, f->n, true, &seen));
    const int most = sample_difference(&seen, wanted);
    if (most > tolerance) test_failed(__FILE__, __LINE__, "the values are up to %d off, %d allowed", most, tolerance);
    picture_free(&seen);
}

TEST(jpeg_colours_are_understood_with_and_without_markers)
{
    const struct kind kinds[] = {
        plain,
        {JCS_RGB, JCS_YCbCr, true, true, false, 0, false},   /* progressive */
        {JCS_RGB, JCS_YCbCr, false, false, false, 0, false}, /* neither JFIF nor Adobe: YCbCr by its component names */
        {JCS_RGB, JCS_RGB, false, false, false, 0, false},   /* likewise RGB */
        {JCS_RGB, JCS_RGB, false, false, true, 0, false},
    };
    struct picture p = sample_smooth(24, 16);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct sample_file f;
        encode(p.rgb, 24, 16, &kinds[i], &f);
        expect_near(&f, &p, 6);
        free(f.bytes);
    }
    picture_free(&p);
}

TEST(grey_jpeg_becomes_three_equal_colours)
{
    struct picture p = sample_smooth(16, 16);
    uint8_t grey[256];
    struct sample_file f;
    for (size_t i = 0; i < 256; i++) grey[i] = p.rgb[i * 3 + 2], memset(p.rgb + i * 3, grey[i], 3);
    encode(grey, 16, 16, &(struct kind){JCS_GRAYSCALE, JCS_GRAYSCALE, false, true, false, 0, false}, &f);
    expect_near(&f, &p, 3);
    free(f.bytes);
    picture_free(&p);
}

/* One colour of ink: cyan 40 %, no magenta, yellow 20 %, black 20 %; Adobe's files hold it inverted. */
TEST(cmyk_and_ycck_become_rgb_inverted_or_not)
{
    const struct kind kinds[] = {{JCS_CMYK, JCS_CMYK, false, false, true, 0, false},
                                 {JCS_CMYK, JCS_YCCK, false, false, true, 0, false},
                                 {JCS_CMYK, JCS_CMYK, false, false, false, 0, false}};
    const uint8_t ink[4] = {102, 0, 51, 51}, rgb[3] = {122, 204, 163};
    struct picture p = sample_smooth(8, 8);
    for (size_t i = 0; i < 64; i++) memcpy(p.rgb + i * 3, rgb, 3);
    for (size_t k = 0; k < 3; k++) {
        uint8_t pixels[256];
        struct sample_file f;
        for (size_t i = 0; i < 256; i++) pixels[i] = (uint8_t)(kinds[k].adobe ? 255 - ink[i % 4] : ink[i % 4]);
        encode(pixels, 8, 8, &kinds[k], &f);
        expect_near(&f, &p, 3);
        free(f.bytes);
    }
    picture_free(&p);
}

static void encode_turned(const struct picture *p, int orientation, struct sample_file *out)
{
    struct kind k = plain;
    k.orientation = orientation;
    k.big_endian = orientation % 2;
    encode(p->rgb, p->width, p->height, &k, out);
}

TEST(jpeg_orientations_are_applied_when_asked) { sample_orientations(encode_turned, 6); }

TEST(a_truncated_jpeg_is_an_error)
{
    struct picture p = sample_smooth(24, 16);
    struct kind k = plain;
    for (int progressive = 0; progressive < 2; progressive++) {
        struct sample_file f;
        k.progressive = progressive;
        encode(p.rgb, 24, 16, &k, &f);
        sample_truncate(&f, 0);
        sample_damage(&f);
        sample_starve(&f);
        free(f.bytes);
    }
    picture_free(&p);
}

/* Forty bytes of the pixels lack, but the file ends as it should. */
TEST(a_jpeg_with_a_hole_is_an_error)
{
    struct picture p = sample_smooth(24, 16), q = {0};
    struct sample_file f;
    encode(p.rgb, 24, 16, &plain, &f);
    memmove(f.bytes + f.n - 42, f.bytes + f.n - 2, 2);
    EXPECT_STATUS(picture_decode("hole.jpg", f.bytes, f.n - 40, true, &q), ST_FORMAT);
    EXPECT(strstr(error_text(), "lacks"));
    free(f.bytes);
    picture_free(&p);
}

/* Where the frame header (SOF0 or SOF2) begins. */
static uint8_t *frame_of(struct sample_file *f)
{
    for (size_t i = 2; i + 9 < f->n; i += 2 + (size_t)(f->bytes[i + 2] << 8 | f->bytes[i + 3]))
        if (f->bytes[i + 1] == 0xc0 || f->bytes[i + 1] == 0xc2) return f->bytes + i;
    return NULL;
}

TEST(a_jpeg_bomb_is_refused_and_takes_no_memory)
{
    struct picture p = sample_smooth(24, 16), q = {0};
    struct kind k = plain;
    struct sample_file f;
    struct rusage before, after;
    k.progressive = true;
    encode(p.rgb, 24, 16, &k, &f);
    uint8_t *frame = frame_of(&f);
    REQUIRE(frame);
    memcpy(frame + 5, "\x75\x30\x75\x30", 4); /* 30000 x 30000 */
    const size_t count = alloc_count();
    getrusage(RUSAGE_SELF, &before);
    EXPECT_STATUS(picture_decode("bomb.jpg", f.bytes, f.n, true, &q), ST_VALUE);
    getrusage(RUSAGE_SELF, &after);
    EXPECT(strstr(error_text(), "30000 x 30000"));
    EXPECT_INT(alloc_count(), count);
    EXPECT(after.ru_maxrss - before.ru_maxrss < 4096); /* KiB */
    free(f.bytes);
    picture_free(&p);
}

/* The first scan, which holds the coarse values, said 120 times more: harmless but for the time it takes. */
TEST(a_jpeg_of_endless_scans_is_refused)
{
    struct picture p = sample_smooth(8, 8), q = {0};
    struct kind k = plain;
    struct sample_file f, g = {0};
    size_t from = 0, to;
    k.progressive = true;
    encode(p.rgb, 8, 8, &k, &f);
    while (f.bytes[from] != 0xff || f.bytes[from + 1] != 0xda) from++;
    for (to = from + 2; f.bytes[to] != 0xff || f.bytes[to + 1] == 0;) to++;
    sample_append(&g, f.bytes, to);
    for (int i = 0; i < 120; i++) sample_append(&g, f.bytes + from, to - from);
    sample_append(&g, f.bytes + to, f.n - to);
    EXPECT_STATUS(picture_decode("endless.jpg", g.bytes, g.n, true, &q), ST_FORMAT);
    EXPECT(strstr(error_text(), "scans"));
    free(f.bytes);
    free(g.bytes);
    picture_free(&p);
}

/* 320 x 240 with `least` 60: a quarter. The blocks' smaller transforms are means of squares of pixels, nearly. */
TEST(a_jpeg_is_read_smaller_where_that_is_allowed)
{
    struct picture p = sample_smooth(320, 240), whole = {0}, part = {0}, half = {0}, wanted = {0};
    struct sample_file f;
    char path[600];
    FILE *file;
    encode(p.rgb, 320, 240, &plain, &f);
    snprintf(path, sizeof path, "%s/x.jpg", test_folder());
    REQUIRE((file = fopen(path, "wb")));
    EXPECT(fwrite(f.bytes, 1, f.n, file) == f.n && fclose(file) == 0);
    EXPECT_OK(picture_read_least(path, true, 0, &whole));
    EXPECT_OK(picture_read_least(path, true, 60, &part));
    EXPECT_OK(picture_read_least(path, true, 61, &half));
    EXPECT(whole.width == 320 && part.width == 80 && part.height == 60 && half.width == 160 && half.height == 120);
    EXPECT_OK(picture_resize(&whole, 80, 60, &wanted));
    EXPECT(sample_difference(&part, &wanted) <= 6);
    picture_free(&p);
    picture_free(&whole);
    picture_free(&part);
    picture_free(&half);
    picture_free(&wanted);
    free(f.bytes);
}

/* Squares of the differences from the picture, summed. */
static double loss(const struct picture *p, int quality, bool halved)
{
    struct picture q = {0};
    double sum = 0;
    EXPECT_OK(picture_compress(p, quality, halved, &q));
    EXPECT(q.width == p->width && q.height == p->height);
    for (size_t i = 0; q.rgb && i < q.width * q.height * 3; i++) {
        const double d = (double)q.rgb[i] - (double)p->rgb[i];
        sum += d * d;
    }
    picture_free(&q);
    return sum / (double)(p->width * p->height * 3);
}

TEST(compressing_again_costs_more_at_lower_quality_and_with_halved_colours)
{
    struct picture p = {0};
    REQUIRE(picture_new(33, 21, &p) == OK);
    for (size_t i = 0; i < 33 * 21; i++) { /* colours that change from pixel to pixel, light that hardly does */
        p.rgb[3 * i] = i % 2 ? 160 : 96;
        p.rgb[3 * i + 1] = i % 2 ? 96 : 128;
        p.rgb[3 * i + 2] = i % 2 ? 112 : 128;
    }
    const double best = loss(&p, 100, false), worse = loss(&p, 40, false), halved = loss(&p, 100, true);
    EXPECT(best < 2 && worse > 4 * best && halved > 50 * best);
    EXPECT_STATUS(picture_compress(&p, 0, false, &p), ST_VALUE);
    EXPECT_STATUS(picture_compress(&p, 101, false, &p), ST_VALUE);
    picture_free(&p);
}
