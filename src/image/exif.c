/* exif.c - one number from an EXIF block: which way up the camera was held.
 *
 * The block is a small TIFF file: byte order, the offset of a directory, and there entries of 12 bytes. Only the first
 * directory is looked at; every offset is checked, and anything odd means "upright". */
#include "base/size.h"
#include "image/formats.h"
#include <string.h>

enum { TAG_ORIENTATION = 0x0112, TYPE_SHORT = 3 };

struct tiff {
    const uint8_t *bytes;
    size_t n;
    bool big_endian;
};

static unsigned short_at(const struct tiff *t, size_t at)
{
    const unsigned a = t->bytes[at], b = t->bytes[at + 1];
    return t->big_endian ? a << 8 | b : b << 8 | a;
}

static size_t long_at(const struct tiff *t, size_t at)
{
    const size_t a = short_at(t, at), b = short_at(t, at + 2);
    return t->big_endian ? a << 16 | b : b << 16 | a;
}

static int orientation_in(const struct tiff *t)
{
    const size_t directory = long_at(t, 4);
    if (directory > t->n - 2) return 1; /* n is at least 8 */
    const size_t fit = (t->n - 2 - directory) / 12, entries = size_min(short_at(t, directory), fit);
    for (size_t i = 0; i < entries; i++) {
        const size_t at = directory + 2 + i * 12;
        if (short_at(t, at) != TAG_ORIENTATION || short_at(t, at + 2) != TYPE_SHORT) continue;
        const unsigned value = short_at(t, at + 8);
        return value >= 1 && value <= 8 ? (int)value : 1;
    }
    return 1;
}

int exif_orientation(const uint8_t *bytes, size_t n)
{
    if (n >= 6 && !memcmp(bytes, "Exif\0\0", 6)) {
        bytes += 6;
        n -= 6;
    }
    if (n < 8) return 1;
    struct tiff t = {bytes, n, bytes[0] == 'M'};
    if (memcmp(bytes, "II\x2a\0", 4) && memcmp(bytes, "MM\0\x2a", 4)) return 1;
    return orientation_in(&t);
}
