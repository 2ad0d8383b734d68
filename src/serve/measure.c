/* measure.c - the size of a picture by its first bytes. */
#include "serve/measure.h"
#include <string.h>

static uint64_t big(const uint8_t *b, size_t n)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++) v = v << 8 | b[i];
    return v;
}

static uint64_t little(const uint8_t *b, size_t n)
{
    uint64_t v = 0;
    while (n-- > 0) v = v << 8 | b[n];
    return v;
}

static bool measure_png(const uint8_t *b, size_t n, uint64_t *width, uint64_t *height)
{
    if (n < 24 || memcmp(b, "\x89PNG\r\n\x1a\n", 8) || memcmp(b + 12, "IHDR", 4)) return false;
    *width = big(b + 16, 4);
    *height = big(b + 20, 4);
    return true;
}

/* Segments follow each other until one that starts a frame. */
static bool measure_jpeg(const uint8_t *b, size_t n, uint64_t *width, uint64_t *height)
{
    if (n < 4 || b[0] != 0xff || b[1] != 0xd8) return false;
    for (size_t i = 2; n - i >= 9;) {
        if (b[i] != 0xff) return false;
        const uint8_t kind = b[i + 1];
        if (kind == 0xff) { /* a byte that fills */
            i++;
            continue;
        }
        const bool frame = kind >= 0xc0 && kind <= 0xcf && kind != 0xc4 && kind != 0xc8 && kind != 0xcc;
        if (frame) {
            *height = big(b + i + 5, 2);
            *width = big(b + i + 7, 2);
            return true;
        }
        const size_t length = (size_t)big(b + i + 2, 2);
        if (length < 2 || length > n - i - 2) return false;
        i += length + 2;
    }
    return false;
}

static bool measure_webp(const uint8_t *b, size_t n, uint64_t *width, uint64_t *height)
{
    if (n < 30 || memcmp(b, "RIFF", 4) || memcmp(b + 8, "WEBPVP8", 7)) return false;
    if (b[15] == 'X') { /* extended: both less one, in three bytes */
        *width = little(b + 24, 3) + 1;
        *height = little(b + 27, 3) + 1;
    } else if (b[15] == 'L') { /* lossless: 14 bits each, less one */
        const uint64_t bits = little(b + 21, 4);
        *width = (bits & 0x3fff) + 1;
        *height = (bits >> 14 & 0x3fff) + 1;
    } else if (b[15] == ' ') {
        *width = little(b + 26, 2) & 0x3fff;
        *height = little(b + 28, 2) & 0x3fff;
    } else {
        return false;
    }
    return true;
}

static bool number(const uint8_t *b, size_t n, size_t *at, uint64_t *out)
{
    while (*at < n && (b[*at] == ' ' || (b[*at] >= '\t' && b[*at] <= '\r') || b[*at] == '#'))
        if (b[(*at)++] == '#')
            while (*at < n && b[*at] != '\n') ++*at;
    const size_t first = *at;
    *out = 0;
    for (; *at < n && b[*at] >= '0' && b[*at] <= '9'; ++*at) {
        if (*at - first == 10) return false;
        *out = *out * 10 + (uint64_t)(b[*at] - '0');
    }
    return *at > first;
}

static bool measure_ppm(const uint8_t *b, size_t n, uint64_t *width, uint64_t *height)
{
    size_t at = 2;
    if (n < 3 || b[0] != 'P' || (b[1] != '5' && b[1] != '6')) return false;
    return number(b, n, &at, width) && number(b, n, &at, height);
}

bool measure_picture(const uint8_t *bytes, size_t n, uint64_t *width, uint64_t *height)
{
    *width = *height = 0;
    return measure_png(bytes, n, width, height) || measure_jpeg(bytes, n, width, height) ||
           measure_webp(bytes, n, width, height) || measure_ppm(bytes, n, width, height);
}
