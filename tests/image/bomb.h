/* bomb.h - small files that become large pictures. */
#ifndef TESTS_IMAGE_BOMB_H
#define TESTS_IMAGE_BOMB_H
#include "tests/image/sample.h"

/* A valid WebP without loss of one dark colour, (0, 1, 0), up to 16383 x 16383; a chunk that no reader looks at makes it `bytes`
 * long, an even number from 64 on. */
struct sample_file bomb_webp(unsigned width, unsigned height, size_t bytes);
#endif
