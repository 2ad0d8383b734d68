/* measure.h - the size of a picture by its first bytes, so that a large one is refused before memory is taken for it. */
#ifndef SERVE_MEASURE_H
#define SERVE_MEASURE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Pixels that a JPEG, PNG, WebP or PPM file says it has; false where its start does not tell: the decoder has the last word. */
bool measure_picture(const uint8_t *bytes, size_t n, uint64_t *width, uint64_t *height);
#endif
