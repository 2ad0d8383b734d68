/* extract.h - dense feature extractors: from a network's last map to the vectors that heads compare. */
#ifndef NETS_EXTRACT_H
#define NETS_EXTRACT_H
#include "ops/ops.h"

/* PyramidFCN: x [n, C, h, w] averaged to s x s for each size s in turn, side by side: [n, C, 1, sum of s*s]. Without sizes
 * the map itself, [n, C, 1, h*w]. */
var *extract_pyramid(tape *t, var *x, size_t count, const size_t *sizes);
#endif
