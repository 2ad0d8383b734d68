/* copying.h - weights of a Conv-4 whose features can be worked out by hand. */
#ifndef TESTS_API_COPYING_H
#define TESTS_API_COPYING_H
#include <stdbool.h>

enum { COPYING_WIDTH = 2 };
/* A folder of .npy for a Conv-4 of two channels whose convolutions copy input channel 0 and whose norms do nothing but
 * divide by sqrt(1 + 1e-5). */
bool copying_weights(const char *folder);
#endif
