/* png.c - PNG files made here with libpng: every colour type and depth, which way is up, damage, bombs. */
#include "tests/image/sample.h"
#include "tests/test.h"
#include <png.h>
#include <stdlib.h>
#include <sys/resource.h>

struct kind {
    int type, depth;
    bool interlaced;
    int orientation; /* 0: no EXIF chunk */
};

/* Four colours; the second is half transparent where the palette's transparency is used. */
static const png_color palette[4] = {{10, 20, 30}, {200, 100, 0}, {0, 0, 255}, {255, 255, 255}};

static void put_bytes(png_structp png, png_bytep bytes, size_t n) { sample_append(png_get_io_ptr(png), bytes, n); }
static void flush_nothing(png_structp png) { (void)png; }

static void describe(png_structp png, png_infop info, const struct kind *k, bool transparent)
{
    static const uint8_t alpha[2] = {255, 128};
    uint8_t exif[26];
    if (k->type == PNG_COLOR_TYPE_PALETTE) {
        png_set_PLTE(png, info, palette, 4);
        if (transparent) png_set_tRNS(png, info, alpha, 2, NULL);
    } else if (transparent) {
        const png_color_16 clear = {.red = 200, .green = 100, .blue = 0, .gray = 1};
        png_set_tRNS(png, info, NULL, 0, &clear);
    }
    if (k->orientation) {
        sample_exif(k->orientation % 2, k->orientation, exif);
        png_set_eXIf_1(png, info, sizeof exif, exif);
    }
}

/* `rows`: what libpng packs, `bytes` a row. */
static struct sample_file encode(const uint8_t *rows, size_t bytes, size_t width, size_t height, const struct kind *k,
                                 bool transparent)
{
    struct sample_file f = {0};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    uint8_t *pointers[64];
    if (!info || height > 64 || setjmp(png_jmpbuf(png))) abort();
    png_set_write_fn(png, &f, put_bytes, flush_nothing);
    png_set_IHDR(png, info, (png_uint_32)width, (png_uint_32)height, k->depth, k->type,
                 k->interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    describe(png, info, k, transparent);
    for (size_t y = 0; y < height; y++) pointers[y] = (uint8_t *)rows + y * bytes;
    png_set_rows(png, info, pointers);
    png_write_png(png, info, PNG_TRANSFORM_IDENTITY, NULL);
    png_destroy_write_struct(&png, &info);
    return f;
}

static void expect_pixels(struct sample_file f, const uint8_t *wanted, size_t width, size_t height)
{
    struct picture p = {0};
    EXPECT_OK(picture_decode("sample.png", f.bytes, f.n, true, &p));
    EXPECT(p.width == width && p.height == height);
    if (p.rgb && p.width == width && p.height == height) EXPECT(!memcmp(p.rgb, wanted, width * height * 3));
    picture_free(&p);
    free(f.bytes);
}

TEST(png_rgb_is_exact_interlaced_or_not)
{
    struct picture p = sample_counting(13, 11);
    for (int i = 0; i < 2; i++)
        expect_pixels(encode(p.rgb, 39, 13, 11, &(struct kind){PNG_COLOR_TYPE_RGB, 8, i, 0}, false), p.rgb, 13, 11);
    picture_free(&p);
}

TEST(png_grey_of_every_depth_is_spread_to_255)
{
    const struct {
        int depth;
        uint8_t row[4], grey[2];
    } cases[] = {{1, {0x40}, {0, 255}},
                 {2, {0x60}, {85, 170}},
                 {4, {0x1e}, {17, 238}},
                 {8, {7, 250}, {7, 250}},
                 {16, {7, 200, 250, 3}, {7, 250}}};
    for (size_t i = 0; i < 5; i++) {
        const uint8_t *g = cases[i].grey, wanted[] = {g[0], g[0], g[0], g[1], g[1], g[1]};
        const struct kind k = {PNG_COLOR_TYPE_GRAY, cases[i].depth, false, 0};
        expect_pixels(encode(cases[i].row, 4, 2, 1, &k, false), wanted, 2, 1);
    }
}

TEST(png_palettes_are_looked_up)
{
    const uint8_t two_bits[] = {0x1b}, wanted[] = {10, 20, 30, 200, 100, 0, 0, 0, 255, 255, 255, 255};
    const struct kind k = {PNG_COLOR_TYPE_PALETTE, 2, false, 0};
    expect_pixels(encode(two_bits, 1, 4, 1, &k, false), wanted, 4, 1);
    const uint8_t over_white[] = {10, 20, 30, 227, 177, 127, 0, 0, 255, 255, 255, 255};
    expect_pixels(encode(two_bits, 1, 4, 1, &k, true), over_white, 4, 1);
}

TEST(png_transparency_lies_over_white)
{
    const uint8_t rgba[] = {10, 20, 30, 255, 10, 20, 30, 0, 0, 100, 255, 128};
    const uint8_t wanted[] = {10, 20, 30, 255, 255, 255, 127, 177, 255};
    for (int i = 0; i < 2; i++)
        expect_pixels(encode(rgba, 12, 3, 1, &(struct kind){PNG_COLOR_TYPE_RGBA, 8, i, 0}, false), wanted, 3, 1);
    const uint8_t grey[] = {50, 255, 50, 0}, grey_wanted[] = {50, 50, 50, 255, 255, 255};
    expect_pixels(encode(grey, 4, 2, 1, &(struct kind){PNG_COLOR_TYPE_GRAY_ALPHA, 8, false, 0}, false), grey_wanted, 2,
                  1);
    const uint8_t key[] = {200, 100, 0, 200, 100, 1}, key_wanted[] = {255, 255, 255, 200, 100, 1};
    expect_pixels(encode(key, 6, 2, 1, &(struct kind){PNG_COLOR_TYPE_RGB, 8, false, 0}, true), key_wanted, 2, 1);
}

TEST(png_with_16_bits_keeps_the_high_ones)
{
    const uint8_t deep[] = {1, 255, 128, 0, 254, 254}, wanted[] = {1, 128, 254};
    expect_pixels(encode(deep, 6, 1, 1, &(struct kind){PNG_COLOR_TYPE_RGB, 16, false, 0}, false), wanted, 1, 1);
}

static void encode_turned(const struct picture *p, int orientation, struct sample_file *out)
{
    const struct kind k = {PNG_COLOR_TYPE_RGB, 8, false, orientation};
    *out = encode(p->rgb, p->width * 3, p->width, p->height, &k, false);
}

TEST(png_orientations_are_applied_when_asked) { sample_orientations(encode_turned, 0); }

TEST(a_truncated_png_is_an_error)
{
    struct picture p = sample_counting(6, 5);
    uint8_t rgba[120];
    for (size_t i = 0; i < 120; i++) rgba[i] = (uint8_t)(i * 37);
    for (int i = 0; i < 4; i++) {
        const struct kind k = {i < 2 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_RGBA, 8, i % 2, 6};
        struct sample_file f = encode(i < 2 ? p.rgb : rgba, i < 2 ? 18 : 24, 6, 5, &k, false);
        sample_truncate(&f, 0);
        sample_damage(&f);
        sample_starve(&f);
        free(f.bytes);
    }
    picture_free(&p);
}

/* Width and height stand at byte 16; the header's checksum follows at 29. */
TEST(a_png_bomb_is_refused_and_takes_no_memory)
{
    const uint8_t header[] = {0x89, 'P',  'N',  'G',  '\r', '\n', 0x1a, '\n', 0,    0,    0,    13,   'I',  'H',  'D',
                              'R',  0,    0,    0x75, 0x30, 0,    0,    0x75, 0x30, 8,    2,    0,    0,    0,    0xe9,
                              0x45, 0x6f, 0xed, 0,    0,    0,    1,    'I',  'D',  'A',  'T',  0,    0x28, 0x38, 0x7d,
                              0xe8, 0,    0,    0,    0,    'I',  'E',  'N',  'D',  0xae, 0x42, 0x60, 0x82};
    struct picture p = {0};
    struct rusage before, after;
    const size_t live = alloc_live();
    getrusage(RUSAGE_SELF, &before);
    EXPECT_STATUS(picture_decode("bomb.png", header, sizeof header, true, &p), ST_VALUE);
    getrusage(RUSAGE_SELF, &after);
    EXPECT(strstr(error_text(), "30000 x 30000"));
    EXPECT(after.ru_maxrss - before.ru_maxrss < 4096); /* KiB */
    EXPECT(!p.rgb && alloc_live() == live);
}

/* The length of the EXIF chunk, which stands behind the header at byte 33. */
TEST(a_png_chunk_longer_than_the_file_takes_no_memory)
{
    struct picture p = sample_counting(3, 2), q = {0};
    struct sample_file f = encode(p.rgb, 9, 3, 2, &(struct kind){PNG_COLOR_TYPE_RGB, 8, false, 6}, false);
    REQUIRE(!memcmp(f.bytes + 37, "eXIf", 4));
    f.bytes[33] = 0x70;
    const size_t count = alloc_count();
    EXPECT_STATUS(picture_decode("claims.png", f.bytes, f.n, true, &q), ST_FORMAT);
    EXPECT_INT(alloc_count(), count);
    free(f.bytes);
    picture_free(&p);
}
