/* webp.c - WebP through libwebp. The library takes no limits, so the header is read and judged first. */
#include "base/size.h"
#include "image/formats.h"
#include <stdlib.h>
#include <string.h>
#include <webp/decode.h>

static size_t long_at(const uint8_t *b) { return b[0] | (size_t)b[1] << 8 | (size_t)b[2] << 16 | (size_t)b[3] << 24; }

/* Chunks follow the 12 bytes of the RIFF header: four letters, a length, the data padded to an even length. */
static int orientation_of(const struct encoded *in)
{
    for (size_t at = 12; at <= in->n && in->n - at >= 8;) {
        const size_t length = long_at(in->bytes + at + 4), there = in->n - at - 8;
        if (!memcmp(in->bytes + at, "EXIF", 4)) return exif_orientation(in->bytes + at + 8, size_min(length, there));
        if (length > there) break;
        at += 8 + length + length % 2;
    }
    return 1;
}

static status decode_alpha(const struct encoded *in, struct picture *p)
{
    const size_t pixels = p->width * p->height;
    uint8_t *rgba = malloc(pixels * 4);
    if (!rgba) return fail(ST_MEMORY, "no memory to read '%s'", in->name);
    const bool good = WebPDecodeRGBAInto(in->bytes, in->n, rgba, pixels * 4, (int)p->width * 4) != NULL;
    if (good) picture_flatten(rgba, pixels, p->rgb);
    free(rgba);
    return good ? OK : fail(ST_FORMAT, "'%s' is a damaged WebP, or ends early", in->name);
}

static status decode_opaque(const struct encoded *in, struct picture *p)
{
    const size_t bytes = p->width * p->height * 3;
    if (WebPDecodeRGBInto(in->bytes, in->n, p->rgb, bytes, (int)p->width * 3)) return OK;
    return fail(ST_FORMAT, "'%s' is a damaged WebP, or ends early", in->name);
}

status webp_decode(const struct encoded *in, struct picture *out, int *orientation)
{
    WebPBitstreamFeatures about;
    struct picture p;
    if (WebPGetFeatures(in->bytes, in->n, &about) != VP8_STATUS_OK || about.width < 1 || about.height < 1)
        return fail(ST_FORMAT, "'%s' has a damaged WebP header", in->name);
    if (about.has_animation)
        return fail(ST_UNSUPPORTED, "'%s' is an animation; only still pictures are read", in->name);
    status st = picture_bound(in->name, (size_t)about.width, (size_t)about.height);
    if (st != OK) return st;
    st = picture_new((size_t)about.width, (size_t)about.height, &p);
    if (st != OK) return st;
    st = about.has_alpha ? decode_alpha(in, &p) : decode_opaque(in, &p);
    if (st == OK) {
        *out = p;
        *orientation = orientation_of(in);
    } else picture_free(&p);
    return st;
}
