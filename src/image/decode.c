/* decode.c - from a file's bytes to a picture: which format it is, whether this build reads it, and which way is up. */
#include "base/file.h"
#include "image/formats.h"
#include <stdlib.h>
#include <string.h>

#ifdef CENTRA_HAVE_JPEG
#define DECODE_JPEG jpeg_decode
#define JPEG_AGAIN jpeg_again
#else
#define DECODE_JPEG NULL
#define JPEG_AGAIN NULL
#endif
#ifdef CENTRA_HAVE_PNG
#define DECODE_PNG png_decode
#else
#define DECODE_PNG NULL
#endif
#ifdef CENTRA_HAVE_WEBP
#define DECODE_WEBP webp_decode
#else
#define DECODE_WEBP NULL
#endif

const char *const picture_formats[] = {
#ifdef CENTRA_HAVE_JPEG
    "jpeg",
#endif
#ifdef CENTRA_HAVE_PNG
    "png",
#endif
#ifdef CENTRA_HAVE_WEBP
    "webp",
#endif
    "ppm", NULL};

/* A format is known by `magic` at the start and, where there is one, `second` at place `at`. */
static const struct format {
    const char *title, *library;
    const char *magic, *second;
    size_t magic_bytes, second_bytes, at;
    status (*decode)(const struct encoded *in, struct picture *out, int *orientation); /* NULL: not in this build */
} formats[] = {
    {"JPEG", "libjpeg", "\xff\xd8\xff", NULL, 3, 0, 0, DECODE_JPEG},
    {"PNG", "libpng", "\x89PNG\r\n\x1a\n", NULL, 8, 0, 0, DECODE_PNG},
    {"WebP", "libwebp", "RIFF", "WEBP", 4, 4, 8, DECODE_WEBP},
    {"PPM", "", "P6", NULL, 2, 0, 0, ppm_decode},
    {"PGM", "", "P5", NULL, 2, 0, 0, ppm_decode},
};

static const struct format *format_of(const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const struct format *f = &formats[i];
        if (n < f->magic_bytes || n < f->at + f->second_bytes || memcmp(bytes, f->magic, f->magic_bytes)) continue;
        if (!f->second || !memcmp(bytes + f->at, f->second, f->second_bytes)) return f;
    }
    return NULL;
}

/* Turns a picture stored with orientation 2 to 8 upright. 5 to 8 lie on their side: rows become columns. */
static status turn(struct picture *p, int orientation)
{
    const bool side = orientation >= 5;
    const bool mirror_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    const bool mirror_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    struct picture to;
    const status st = picture_new(side ? p->height : p->width, side ? p->width : p->height, &to);
    if (st != OK) return st;
    for (size_t y = 0; y < to.height; y++)
        for (size_t x = 0; x < to.width; x++) {
            size_t from_x = side ? y : x, from_y = side ? x : y;
            if (mirror_x) from_x = p->width - 1 - from_x;
            if (mirror_y) from_y = p->height - 1 - from_y;
            memcpy(to.rgb + (y * to.width + x) * 3, p->rgb + (from_y * p->width + from_x) * 3, 3);
        }
    picture_free(p);
    *p = to;
    return OK;
}

static status decode(const struct encoded *in, bool upright, struct picture *out)
{
    status st = OK;
    struct picture p = {0};
    int orientation = 1;
    const struct format *f = format_of(in->bytes, in->n);
    if (!f) return fail(ST_FORMAT, "'%s' is no picture that can be read: not JPEG, PNG, WebP, PPM or PGM", in->name);
    if (!f->decode)
        return fail(ST_UNSUPPORTED, "'%s': this build cannot read %s: %s was not there", in->name, f->title,
                    f->library);
    TRY(f->decode(in, &p, &orientation));
    if (upright && orientation != 1) TRY(turn(&p, orientation));
    *out = p;
    p = (struct picture){0};
done:
    picture_free(&p);
    return st;
}

status picture_decode(const char *name, const void *bytes, size_t n, bool upright, struct picture *out)
{
    return decode(&(struct encoded){.name = name, .bytes = bytes, .n = n}, upright, out);
}

status picture_read_least(const char *path, bool upright, size_t least, struct picture *out)
{
    char *bytes;
    size_t n;
    status st = file_read(path, PICTURE_MOST_BYTES, &bytes, &n);
    if (st != OK) return st;
    st = decode(&(struct encoded){path, (const uint8_t *)bytes, n, least}, upright, out);
    free(bytes);
    return st;
}

status picture_read(const char *path, bool upright, struct picture *out)
{
    return picture_read_least(path, upright, 0, out);
}

static status (*const again)(const struct picture *, int, bool, struct picture *) = JPEG_AGAIN;

status picture_compress_check(int quality)
{
    if (!again) return fail(ST_UNSUPPORTED, "this build cannot compress JPEG: it was made without libjpeg");
    if (quality < 1 || quality > 100)
        return fail(ST_VALUE, "a JPEG's quality is %d, but must lie between 1 and 100", quality);
    return OK;
}

status picture_compress(const struct picture *p, int quality, bool halved, struct picture *out)
{
    const status st = picture_compress_check(quality);
    return st == OK ? again(p, quality, halved, out) : st;
}
