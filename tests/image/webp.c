/* webp.c - WebP files made here with libwebp: with and without loss, alpha, which way is up, damage, bombs. */
#include "tests/image/bomb.h"
#include "tests/image/sample.h"
#include "tests/test.h"
#include <stdlib.h>
#include <sys/resource.h>
#include <webp/encode.h>

/* Copies what libwebp made and gives its block back. */
static struct sample_file taken(uint8_t *bytes, size_t n)
{
    struct sample_file f = {0};
    sample_append(&f, bytes, n);
    WebPFree(bytes);
    return f;
}

static struct sample_file lossless(const struct picture *p)
{
    uint8_t *bytes = NULL;
    const size_t n = WebPEncodeLosslessRGB(p->rgb, (int)p->width, (int)p->height, (int)p->width * 3, &bytes);
    return taken(bytes, n);
}

static void expect_near(const struct sample_file *f, const struct picture *wanted, int tolerance)
{
    struct picture seen = {0};
    EXPECT_OK(picture_decode("sample.webp", f->bytes, f->n, true, &seen));
    EXPECT(sample_difference(&seen, wanted) <= tolerance);
    picture_free(&seen);
}

TEST(webp_is_read_with_and_without_loss)
{
    struct picture p = sample_smooth(32, 16);
    uint8_t *bytes = NULL;
    const size_t n = WebPEncodeRGB(p.rgb, 32, 16, 96, 98, &bytes);
    struct sample_file lossy = taken(bytes, n), exact = lossless(&p);
    expect_near(&lossy, &p, 16);
    expect_near(&exact, &p, 0);
    free(lossy.bytes);
    free(exact.bytes);
    picture_free(&p);
}

/* Clear pixels have no colour worth keeping, so they are given white, which they show anyway. */
static struct sample_file with_alpha(void)
{
    const uint8_t rgba[] = {10, 20, 30, 255, 255, 255, 255, 0, 0, 100, 255, 128};
    uint8_t *bytes = NULL;
    const size_t n = WebPEncodeLosslessRGBA(rgba, 3, 1, 12, &bytes);
    return taken(bytes, n);
}

TEST(webp_transparency_lies_over_white)
{
    uint8_t wanted[] = {10, 20, 30, 255, 255, 255, 127, 177, 255};
    struct sample_file f = with_alpha();
    expect_near(&f, &(struct picture){3, 1, wanted}, 0);
    free(f.bytes);
}

static void put_long(struct sample_file *f, size_t v)
{
    const uint8_t bytes[4] = {(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24)};
    sample_append(f, bytes, 4);
}

/* The extended form: RIFF, a VP8X chunk with `flags`, the picture's chunk, an unknown one of
 * odd length, an EXIF chunk. */
static void extended(const struct picture *p, int flags, int orientation, struct sample_file *out)
{
    struct sample_file f = lossless(p), g = {0};
    uint8_t exif[26];
    const uint8_t about[10] = {(uint8_t)flags, 0, 0, 0, (uint8_t)(p->width - 1), 0, 0, (uint8_t)(p->height - 1)};
    sample_exif(orientation % 2, orientation, exif);
    sample_append(&g, "RIFF", 4);
    put_long(&g, 4 + 18 + (f.n - 12) + 10 + 34);
    sample_append(&g, "WEBPVP8X", 8);
    put_long(&g, 10);
    sample_append(&g, about, 10);
    sample_append(&g, f.bytes + 12, f.n - 12);
    sample_append(&g, "ODD \1\0\0\0x\0", 10);
    sample_append(&g, "EXIF", 4);
    put_long(&g, 26);
    sample_append(&g, exif, 26);
    free(f.bytes);
    *out = g;
}

static void encode_turned(const struct picture *p, int orientation, struct sample_file *out)
{
    extended(p, 0x08, orientation, out);
}

TEST(webp_orientations_are_applied_when_asked) { sample_orientations(encode_turned, 0); }

TEST(animated_webp_is_refused)
{
    struct picture p = sample_smooth(24, 16), q = {0};
    struct sample_file f;
    extended(&p, 0x02, 1, &f);
    EXPECT_STATUS(picture_decode("film.webp", f.bytes, f.n, true, &q), ST_UNSUPPORTED);
    EXPECT(strstr(error_text(), "film.webp") && strstr(error_text(), "animation"));
    free(f.bytes);
    picture_free(&p);
}

static void abuse(struct sample_file f, size_t tolerated)
{
    sample_truncate(&f, tolerated);
    sample_damage(&f);
    sample_starve(&f);
    free(f.bytes);
}

/* The chunks behind the pixels may lack without harm to them; the decoder reads some bytes less than there are. */
TEST(a_truncated_webp_is_an_error)
{
    struct picture p = sample_smooth(24, 16);
    struct sample_file f;
    uint8_t *bytes = NULL;
    const size_t n = WebPEncodeRGB(p.rgb, 24, 16, 72, 60, &bytes);
    abuse(taken(bytes, n), 4);
    abuse(lossless(&p), 4);
    abuse(with_alpha(), 4);
    extended(&p, 0x08, 6, &f);
    abuse(f, 10 + 34 + 4);
    picture_free(&p);
}

/* Width and height less one are the 14-bit numbers behind the lossless signature at byte 20. */
TEST(a_webp_bomb_is_refused_and_takes_no_memory)
{
    struct picture p = sample_smooth(24, 16), q = {0};
    struct sample_file f = lossless(&p);
    struct rusage before, after;
    const size_t count = alloc_count();
    memcpy(f.bytes + 21, "\xff\xff\xff", 3);
    f.bytes[24] |= 0x0f;
    getrusage(RUSAGE_SELF, &before);
    EXPECT_STATUS(picture_decode("bomb.webp", f.bytes, f.n, true, &q), ST_VALUE);
    getrusage(RUSAGE_SELF, &after);
    EXPECT(strstr(error_text(), "16384 x 16384"));
    EXPECT_INT(alloc_count(), count);
    EXPECT(after.ru_maxrss - before.ru_maxrss < 4096); /* KiB */
    free(f.bytes);
    picture_free(&p);
}

/* A whole and valid file this time: small ones of its kind are read, and the large one would be 805 MB. */
TEST(a_webp_that_would_become_805_megabytes_is_refused)
{
    enum { BYTES = 10 << 10 };
    struct sample_file small = bomb_webp(300, 200, BYTES), large = bomb_webp(16383, 16383, BYTES);
    struct picture p = {0};
    REQUIRE(small.bytes && large.bytes);
    EXPECT_INT(large.n, BYTES);
    EXPECT_OK(picture_decode("small.webp", small.bytes, small.n, true, &p));
    EXPECT(p.width == 300 && p.height == 200);
    for (size_t i = 0; p.rgb && i < 300 * 200 * 3; i++)
        if (p.rgb[i] != (i % 3 == 1)) {
            test_failed(__FILE__, __LINE__, "byte %zu is %d", i, p.rgb[i]);
            break;
        }
    picture_free(&p);
    (void)alloc_peak();
    const size_t before = alloc_bytes();
    EXPECT_STATUS(picture_decode("large.webp", large.bytes, large.n, true, &p), ST_VALUE);
    EXPECT_TEXT(error_text(),
                "'large.webp' has 16383 x 16383 pixels, but at most 67108864 are taken: make it smaller first");
    EXPECT(alloc_peak() - before < 1 << 16 && !p.rgb);
    free(small.bytes);
    free(large.bytes);
}
