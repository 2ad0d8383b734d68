/* sample.c - small pictures and files, and what must hold for the files of every format. */
#include "tests/image/sample.h"
#include "tests/test.h"
#include <stdlib.h>

static struct picture blank(size_t width, size_t height)
{
    struct picture p = {0};
    if (picture_new(width, height, &p) != OK) abort();
    return p;
}

struct picture sample_counting(size_t width, size_t height)
{
    struct picture p = blank(width, height);
    for (size_t i = 0; i < width * height; i++)
        for (size_t c = 0; c < 3; c++) p.rgb[i * 3 + c] = (uint8_t)(i + 1 + 100 * c);
    return p;
}

struct picture sample_smooth(size_t width, size_t height)
{
    struct picture p = blank(width, height);
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++) {
            uint8_t *rgb = p.rgb + (y * width + x) * 3;
            rgb[0] = (uint8_t)(40 + 150 * x / width);
            rgb[1] = (uint8_t)(40 + 150 * y / height);
            rgb[2] = (uint8_t)(60 + 60 * x / width + 60 * y / height);
        }
    return p;
}

int sample_difference(const struct picture *a, const struct picture *b)
{
    int most = 0;
    if (!a->rgb || !b->rgb || a->width != b->width || a->height != b->height) return 256;
    for (size_t i = 0; i < a->width * a->height * 3; i++) {
        const int d = abs(a->rgb[i] - b->rgb[i]);
        if (d > most) most = d;
    }
    return most;
}

void sample_append(struct sample_file *f, const void *bytes, size_t n)
{
    uint8_t *more = realloc(f->bytes, f->n + n + 1);
    if (!more) abort();
    if (n) memcpy(more + f->n, bytes, n);
    f->bytes = more;
    f->n += n;
}

size_t sample_exif(bool big_endian, int orientation, uint8_t out[26])
{
    const uint8_t big[26] = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, (uint8_t)orientation};
    const uint8_t little[26] = {'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, (uint8_t)orientation};
    memcpy(out, big_endian ? big : little, 26);
    return 26;
}

/* The bytes are copied to a block of their own, so that a sanitizer sees a read behind the end. */
static bool decodes(const uint8_t *bytes, size_t n)
{
    struct picture p = {0};
    uint8_t *copy = malloc(n ? n : 1);
    if (!copy) abort();
    memcpy(copy, bytes, n);
    const status st = picture_decode("sample", copy, n, true, &p);
    if (st == OK) EXPECT(p.rgb && p.width && p.height);
    else EXPECT(!p.rgb && strstr(error_text(), "sample"));
    picture_free(&p);
    free(copy);
    return st == OK;
}

void sample_truncate(const struct sample_file *f, size_t tolerated)
{
    const size_t before = alloc_live();
    EXPECT(decodes(f->bytes, f->n));
    for (size_t n = 0; n < f->n; n++)
        if (decodes(f->bytes, n) && n + tolerated < f->n)
            test_failed(__FILE__, __LINE__, "%zu of %zu bytes are taken for the whole picture", n, f->n);
    EXPECT_INT(alloc_live(), before);
}

void sample_damage(const struct sample_file *f)
{
    const uint8_t flips[] = {0x01, 0x80, 0xff};
    const size_t before = alloc_live();
    for (size_t i = 0; i < f->n; i++)
        for (int k = 0; k < 3; k++) {
            f->bytes[i] ^= flips[k];
            decodes(f->bytes, f->n);
            f->bytes[i] ^= flips[k];
        }
    EXPECT_INT(alloc_live(), before);
}

void sample_starve(const struct sample_file *f)
{
    const size_t before = alloc_live();
    for (size_t n = 1;; n++) {
        struct picture p = {0};
        alloc_fail_at(n);
        const status st = picture_decode("sample", f->bytes, f->n, true, &p);
        const bool failed = alloc_did_fail();
        alloc_fail_at(0);
        EXPECT(failed ? st != OK && !p.rgb : st == OK);
        picture_free(&p);
        EXPECT_INT(alloc_live(), before);
        if (!failed) break;
    }
}

/* Which place of the stored picture shows at (x, y) when held upright: EXIF's table, one line each. */
static size_t stored_place(int orientation, size_t x, size_t y, size_t width, size_t height)
{
    const size_t right = width - 1, bottom = height - 1;
    switch (orientation) {
    case 2: return y * width + (right - x);
    case 3: return (bottom - y) * width + (right - x);
    case 4: return (bottom - y) * width + x;
    case 5: return x * width + y;
    case 6: return (bottom - x) * width + y;
    case 7: return (bottom - x) * width + (right - y);
    case 8: return x * width + (right - y);
    default: return y * width + x;
    }
}

void sample_orientations(void (*encode)(const struct picture *p, int orientation, struct sample_file *out),
                         int tolerance)
{
    struct picture p = sample_smooth(24, 16);
    for (int o = 0; o <= 9; o++) {
        struct sample_file f = {0};
        const bool side = o >= 5 && o <= 8;
        struct picture wanted = blank(side ? 16 : 24, side ? 24 : 16), seen = {0}, stored = {0};
        for (size_t i = 0; i < 24 * 16; i++)
            memcpy(wanted.rgb + i * 3, p.rgb + 3 * stored_place(o, i % wanted.width, i / wanted.width, 24, 16), 3);
        encode(&p, o, &f);
        EXPECT_OK(picture_decode("sample", f.bytes, f.n, true, &seen));
        EXPECT_OK(picture_decode("sample", f.bytes, f.n, false, &stored));
        if (sample_difference(&seen, &wanted) > tolerance || sample_difference(&stored, &p) > tolerance)
            test_failed(__FILE__, __LINE__, "orientation %d is not turned as it should be", o);
        picture_free(&seen);
        picture_free(&stored);
        picture_free(&wanted);
        free(f.bytes);
    }
    picture_free(&p);
}
