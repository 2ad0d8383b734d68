/* bomb.c - see bomb.h.
 *
 * Each of the five prefix codes of the file (green, red, blue, alpha, distance) has a single symbol. Such a code takes no bits,
 * so no pixel does either: the file is as long for one pixel as for 268 million. */
#include "tests/image/bomb.h"
#include "tests/test.h"
#include <stdlib.h>

struct bits {
    uint8_t byte[16];
    unsigned n;
};

/* The lowest bit first. */
static void put(struct bits *b, unsigned value, unsigned count)
{
    for (unsigned i = 0; i < count; i++, b->n++) b->byte[b->n / 8] |= (uint8_t)((value >> i & 1) << b->n % 8);
}

static void append_chunk(struct sample_file *f, const char *name, const void *data, size_t n)
{
    const uint8_t length[] = {(uint8_t)n, (uint8_t)(n >> 8), (uint8_t)(n >> 16), (uint8_t)(n >> 24)};
    sample_append(f, name, 4);
    sample_append(f, length, 4);
    sample_append(f, data, n);
}

struct sample_file bomb_webp(unsigned width, unsigned height, size_t bytes)
{
    enum { HEADER = 12, CHUNK = 8, CODED = 12 };
    struct bits b = {.n = 8};
    struct sample_file f = {0};
    b.byte[0] = 0x2f;
    put(&b, width - 1, 14);
    put(&b, height - 1, 14);
    put(&b, 0, 1 + 3);     /* no alpha; version 0 */
    put(&b, 0, 1 + 1 + 1); /* no transform, no colour cache, one set of codes for all of the picture */
    for (int code = 0; code < 5; code++) {
        put(&b, 1, 1);         /* a simple code */
        put(&b, 0, 1 + 1);     /* of one symbol, which has one bit */
        put(&b, code == 0, 1); /* green is 1, all others 0 */
    }
    const size_t filling = bytes - HEADER - 2 * CHUNK - CODED;
    uint8_t *nothing = calloc(filling, 1);
    if (!nothing) return f;
    append_chunk(&f, "RIFF", "WEBP", 4);
    append_chunk(&f, "VP8L", b.byte, CODED);
    append_chunk(&f, "junk", nothing, filling);
    for (int i = 0; i < 4; i++) f.bytes[4 + i] = (uint8_t)((bytes - CHUNK) >> 8 * i);
    free(nothing);
    return f;
}
