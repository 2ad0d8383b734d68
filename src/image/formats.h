/* formats.h - what decode.c shares with the decoders, one file a format. A decoder leaves `out` untouched when it fails. */
#ifndef IMAGE_FORMATS_H
#define IMAGE_FORMATS_H
#include "image/picture.h"

struct encoded {
    const char *name; /* for messages */
    const uint8_t *bytes;
    size_t n;
    size_t least; /* a decoder that is faster that way may give a smaller picture, no side shorter than this; 0: not */
};

/* *orientation is 1 to 8, as in EXIF; 1 where the file says nothing. */
status jpeg_decode(const struct encoded *in, struct picture *out, int *orientation);
status png_decode(const struct encoded *in, struct picture *out, int *orientation);
status webp_decode(const struct encoded *in, struct picture *out, int *orientation);
status ppm_decode(const struct encoded *in, struct picture *out, int *orientation);

/* The picture after compression as a JPEG of that quality, 1 to 100, its colours at half the resolution or not. */
status jpeg_again(const struct picture *p, int quality, bool halved, struct picture *out);

/* Refuses sizes of zero or beyond the limit; called before any memory is taken for pixels. */
status picture_bound(const char *name, size_t width, size_t height);
/* Lays colours with alpha over white: [pixels, 4] to [pixels, 3]. */
void picture_flatten(const uint8_t *rgba, size_t pixels, uint8_t *rgb);
/* The orientation in an EXIF block, with or without "Exif\0\0" in front; 1 where there is none or it makes no sense. */
int exif_orientation(const uint8_t *bytes, size_t n);

/* A PNG file's bytes, compressed by libpng or in stored blocks; to be followed by text_status. */
status png_write(text *to, const struct picture *p);
status png_write_stored(text *to, const struct picture *p);
#endif
