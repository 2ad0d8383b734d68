/* utf8.h - where a UTF-8 character ends. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H
#include <stddef.h>

/* Bytes of the well-formed character (Unicode 15, table 3-7) at `s`, of which `n` bytes may be read; 0: none there. */
static inline size_t utf8_length(const char *s, size_t n)
{
    const unsigned char *b = (const unsigned char *)s;
    if (n == 0) return 0;
    if (b[0] < 0x80) return 1;
    if (b[0] < 0xc2 || b[0] > 0xf4) return 0;
    size_t length = b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : 4;
    if (n < length) return 0;
    unsigned low = b[0] == 0xe0 ? 0xa0 : b[0] == 0xf0 ? 0x90 : 0x80;  /* no overlong forms */
    unsigned high = b[0] == 0xed ? 0x9f : b[0] == 0xf4 ? 0x8f : 0xbf; /* no surrogates, nothing above U+10FFFF */
    if (b[1] < low || b[1] > high) return 0;
    for (size_t i = 2; i < length; i++)
        if (b[i] < 0x80 || b[i] > 0xbf) return 0;
    return length;
}
#endif
