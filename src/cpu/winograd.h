/* winograd.h - the numbers of Winograd's convolution F(4x4, 3x3).
 *
 * Four outputs of a filter of three taps, from six inputs, are the product of two polynomials; it is taken at five points
 * and at infinity: y = O [(W w) * (I x)], with 6 products instead of 12. In two dimensions each map is applied to rows
 * and columns: 36 products instead of 144. The points are 0, +-A and +-B. Those below are exact in binary and keep the
 * error of f32 about four times smaller than the usual 1 and 2. Derivatives use the same maps, transposed. */
#ifndef CPU_WINOGRAD_H
#define CPU_WINOGRAD_H
#include "cpu/real.h"

enum { WINOGRAD_PLACES = 36, WINOGRAD_PATCH = 6, WINOGRAD_TILE = 4 };

#define WINOGRAD_A 0.75
#define WINOGRAD_B 1.5
#define WINOGRAD_A2 (WINOGRAD_A * WINOGRAD_A)
#define WINOGRAD_B2 (WINOGRAD_B * WINOGRAD_B)
/* 1 over the product of a point's distances from the others */
#define WINOGRAD_N0 (1 / (WINOGRAD_A2 * WINOGRAD_B2))
#define WINOGRAD_NA (1 / (2 * WINOGRAD_A2 * (WINOGRAD_A2 - WINOGRAD_B2)))
#define WINOGRAD_NB (1 / (2 * WINOGRAD_B2 * (WINOGRAD_B2 - WINOGRAD_A2)))
#endif
