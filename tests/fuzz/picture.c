/* Fuzz target: any bytes are either refused with a sentence or give a picture whose every pixel can be read and resized. */
#include "image/picture.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check(bool condition)
{
    if (!condition) abort();
}

/* A header of 18 bytes that promises a large picture is honest but slow; the fuzzer is to look at many small ones. */
static bool is_large(const struct picture *p) { return p->width * p->height > 1 << 16; }

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct picture p = {0}, small = {0};
    if (picture_decode("fuzz.picture", bytes, n, true, &p) != OK) {
        check(!p.rgb && strstr(error_text(), "fuzz.picture"));
        return 0;
    }
    check(p.rgb && p.width && p.height && p.width * p.height <= PICTURE_MOST_PIXELS);
    if (!is_large(&p)) {
        check(picture_resize(&p, 5, 7, &small) == OK);
        uint8_t sum = 0; /* touches every byte */
        for (size_t i = 0; i < p.width * p.height * 3; i++) sum ^= p.rgb[i];
        (void)(*(volatile uint8_t *)&sum);
    }
    picture_free(&small);
    picture_free(&p);
    return 0;
}
