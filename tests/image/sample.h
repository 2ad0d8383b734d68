/* sample.h - small pictures and files for the tests of src/image. */
#ifndef TESTS_IMAGE_SAMPLE_H
#define TESTS_IMAGE_SAMPLE_H
#include "image/picture.h"

/* Pixel i (from 1, row by row) is (i, 100 + i, 200 + i), modulo 256. */
struct picture sample_counting(size_t width, size_t height);
/* Smooth colours, kind to lossy formats. */
struct picture sample_smooth(size_t width, size_t height);
/* The largest difference of two pictures' values, or 256 when their sizes differ. */
int sample_difference(const struct picture *a, const struct picture *b);

/* Bytes that grow; release with free(bytes). */
struct sample_file {
    uint8_t *bytes;
    size_t n;
};
void sample_append(struct sample_file *f, const void *bytes, size_t n);
/* An EXIF block (from the byte order on) that says `orientation`; gives its length, 26. */
size_t sample_exif(bool big_endian, int orientation, uint8_t out[26]);

/* Every beginning of the file is decoded from a block of just that size: an error with a sentence, or a picture. At most
 * `tolerated` bytes may lack for a picture. */
void sample_truncate(const struct sample_file *f, size_t tolerated);
/* Every byte damaged in turn, in three ways: an error or a picture. */
void sample_damage(const struct sample_file *f);
/* Each allocation fails once: an error, and nothing is lost. */
void sample_starve(const struct sample_file *f);
/* Stored with each orientation by `encode`, the picture is upright when asked for, and else as stored. */
void sample_orientations(void (*encode)(const struct picture *p, int orientation, struct sample_file *out),
                         int tolerance);
#endif
