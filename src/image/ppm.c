/* ppm.c - binary PPM and PGM with 8 or 16 bits a value: the format that needs no library. */
#include "image/formats.h"

enum { MOST_NUMBER = 1 << 26 };

struct header {
    size_t channels, width, height, most; /* `most`: the value of full brightness */
    size_t data_at;
};

static bool is_blank(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Blanks and comments, then a decimal number that ends before a blank. */
static bool number_at(const struct encoded *in, size_t *at, size_t *out)
{
    size_t i = *at, value = 0;
    bool comment = false;
    for (; i < in->n && (comment || is_blank(in->bytes[i]) || in->bytes[i] == '#'); i++)
        comment = in->bytes[i] == '#' || (comment && in->bytes[i] != '\n');
    const size_t first = i;
    for (; i < in->n && in->bytes[i] >= '0' && in->bytes[i] <= '9'; i++) {
        value = value * 10 + (size_t)(in->bytes[i] - '0');
        if (value > MOST_NUMBER) value = MOST_NUMBER + 1; /* too large stays too large */
    }
    *at = i;
    *out = value;
    return i > first && i < in->n && is_blank(in->bytes[i]);
}

static status read_header(const struct encoded *in, struct header *h)
{
    size_t at = 2;
    h->channels = in->bytes[1] == '6' ? 3 : 1;
    if (!number_at(in, &at, &h->width) || !number_at(in, &at, &h->height) || !number_at(in, &at, &h->most))
        return fail(ST_FORMAT, "'%s' has a damaged PPM header", in->name);
    if (h->most < 1 || h->most > 65535)
        return fail(ST_FORMAT, "'%s' says that its brightest value is %zu; it must be 1 to 65535", in->name, h->most);
    h->data_at = at + 1;
    return picture_bound(in->name, h->width, h->height);
}

status ppm_decode(const struct encoded *in, struct picture *out, int *orientation)
{
    struct header h;
    status st = read_header(in, &h);
    if (st != OK) return st;
    const size_t bytes = h.most > 255 ? 2 : 1, pixels = h.width * h.height;
    if (in->n - h.data_at < pixels * h.channels * bytes)
        return fail(ST_FORMAT, "'%s' ends early: %zu x %zu pixels need %zu bytes, %zu are there", in->name, h.width,
                    h.height, pixels * h.channels * bytes, in->n - h.data_at);
    struct picture p;
    st = picture_new(h.width, h.height, &p);
    if (st != OK) return st;
    const uint8_t *from = in->bytes + h.data_at;
    for (size_t i = 0; i < pixels * 3; i++) {
        const uint8_t *at = from + (h.channels == 3 ? i : i / 3) * bytes;
        size_t value = bytes == 2 ? (size_t)at[0] << 8 | at[1] : at[0];
        if (value > h.most) value = h.most;
        p.rgb[i] = (uint8_t)((value * 255 + h.most / 2) / h.most);
    }
    *out = p;
    *orientation = 1;
    return OK;
}
