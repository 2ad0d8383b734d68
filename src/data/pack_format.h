/* pack_format.h - the bytes of a pack. All numbers are little-endian.
 *
 *   header  64 bytes: "CENTRAPK", version u32, zeros
 *   pixels  of each picture, RGB, 8 bits, row by row; each begins at a multiple of 64
 *   table   one record a picture: pixels' place u64, their sum u64, width u32, height u32, then the lengths u32 of three
 *           names and the names themselves: split (empty: none), class, file
 *   footer  64 bytes: table's place u64, its bytes u64, its sum u64, pictures u64, the file's bytes u64, zeros, "CENTRAPE"
 *
 * The table stands at the end because only then is it known: nothing is written twice. */
#ifndef DATA_PACK_FORMAT_H
#define DATA_PACK_FORMAT_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PACK_MAGIC "CENTRAPK"
#define PACK_END_MAGIC "CENTRAPE"
enum {
    PACK_VERSION = 1,
    PACK_ALIGN = 64,
    PACK_HEADER_BYTES = 64,
    PACK_FOOTER_BYTES = 64,
    PACK_END_MAGIC_AT = 56,
    PACK_RECORD_BYTES = 36, /* without the names */
    PACK_NAME_MOST = 1 << 16
};

static inline uint32_t pack_u32(const unsigned char *b)
{
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}
static inline uint64_t pack_u64(const unsigned char *b) { return pack_u32(b) | (uint64_t)pack_u32(b + 4) << 32; }

static inline void pack_put(unsigned char *b, uint64_t v, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) b[i] = (unsigned char)(v >> 8 * i);
}

/* The sum that notices damage: words of eight bytes, the last filled with zeros, mixed by multiplication. */
static inline uint64_t pack_sum(const unsigned char *b, size_t n)
{
    uint64_t h = 0x9e3779b97f4a7c15u ^ n;
    for (size_t i = 0; i < n; i += 8) {
        unsigned char tail[8] = {0};
        const unsigned char *word = b + i;
        if (n - i < 8) word = memcpy(tail, b + i, n - i);
        h = (h ^ pack_u64(word)) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    return h;
}
#endif
