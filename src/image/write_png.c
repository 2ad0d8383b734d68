/* write_png.c - PNG files: through libpng where the build has it, else with an own writer that does not compress.
 *
 * A PNG is a signature and chunks: length, four letters, data, CRC-32. The pixels are one zlib stream, which may consist
 * of stored blocks of at most 65,535 bytes and ends with an Adler-32 of what they hold. */
#include "base/file.h"
#include "base/size.h"
#include "image/formats.h"
#include <string.h>

enum { MOST_BLOCK = 65535, ADLER_BASE = 65521 };

/* A chunk being written: text_add_bytes with a running CRC. */
struct chunk {
    text *to;
    uint32_t crc;
};

static uint32_t crc_more(uint32_t crc, const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return crc;
}

static void big_endian(uint32_t v, uint8_t out[4])
{
    for (int i = 0; i < 4; i++) out[i] = (uint8_t)(v >> (24 - 8 * i));
}

static void put(struct chunk *c, const uint8_t *bytes, size_t n)
{
    c->crc = crc_more(c->crc, bytes, n);
    text_add_bytes(c->to, bytes, n);
}

static void put_number(struct chunk *c, uint32_t v)
{
    uint8_t bytes[4];
    big_endian(v, bytes);
    put(c, bytes, 4);
}

static struct chunk chunk_begin(text *to, const char *letters, uint32_t length)
{
    struct chunk c = {to, 0};
    uint8_t bytes[8];
    big_endian(length, bytes);
    memcpy(bytes + 4, letters, 4);
    put(&c, bytes, 4);
    c.crc = 0xffffffffu; /* the length does not count */
    put(&c, bytes + 4, 4);
    return c;
}

static void chunk_end(struct chunk *c) { put_number(c, c->crc ^ 0xffffffffu); }

/* A remainder each byte: this writer is the exception, not worth cleverness. */
static uint32_t adler_more(uint32_t adler, const uint8_t *bytes, size_t n)
{
    uint32_t a = adler & 0xffff, b = adler >> 16;
    for (size_t i = 0; i < n; i++) {
        a = (a + bytes[i]) % ADLER_BASE;
        b = (b + a) % ADLER_BASE;
    }
    return b << 16 | a;
}

/* One row: a 0 for "no filter", then the pixels, in as many stored blocks as it takes. */
static void put_row(struct chunk *c, const uint8_t *row, size_t n, bool last_row, uint32_t *adler)
{
    uint8_t filter = 0;
    for (size_t at = 0, size; at < n + 1; at += size) {
        size = size_min(MOST_BLOCK, n + 1 - at);
        const bool last = last_row && at + size == n + 1;
        const uint8_t head[5] = {last, (uint8_t)size, (uint8_t)(size >> 8), (uint8_t)~size, (uint8_t)(~size >> 8)};
        put(c, head, sizeof head);
        if (at == 0) put(c, &filter, 1);
        put(c, at ? row + at - 1 : row, at ? size : size - 1);
    }
    *adler = adler_more(adler_more(*adler, &filter, 1), row, n);
}

status png_write_stored(text *to, const struct picture *p)
{
    const size_t n = p->width * 3, blocks = size_div_up(n + 1, MOST_BLOCK);
    const uint8_t zlib[2] = {0x78, 0x01};
    uint32_t adler = 1;
    text_add_bytes(to, "\x89PNG\r\n\x1a\n", 8);
    struct chunk c = chunk_begin(to, "IHDR", 13);
    put_number(&c, (uint32_t)p->width);
    put_number(&c, (uint32_t)p->height);
    put(&c, (const uint8_t[]){8, 2, 0, 0, 0}, 5); /* 8 bits, RGB, the only compression and filter, not interlaced */
    chunk_end(&c);
    /* Fits 31 bits: the pixel limit allows 192 MiB of pixels, and 6 bytes a row more. */
    c = chunk_begin(to, "IDAT", (uint32_t)(2 + p->height * (n + 1 + 5 * blocks) + 4));
    put(&c, zlib, 2);
    for (size_t y = 0; y < p->height; y++) put_row(&c, p->rgb + y * n, n, y + 1 == p->height, &adler);
    put_number(&c, adler);
    chunk_end(&c);
    c = chunk_begin(to, "IEND", 0);
    chunk_end(&c);
    return OK;
}

status picture_png(const struct picture *p, text *to)
{
#ifdef CENTRA_HAVE_PNG
    const status st = png_write(to, p);
#else
    const status st = png_write_stored(to, p);
#endif
    return st == OK ? text_status(to) : st;
}

status picture_write_png(const char *path, const struct picture *p)
{
    struct file_writer w;
    text bytes = {0};
    status st = picture_png(p, &bytes);
    if (st == OK) st = file_begin(path, &w);
    if (st == OK) {
        file_put(&w, bytes.data, bytes.length);
        st = file_commit(&w);
    }
    text_free(&bytes);
    return st;
}
