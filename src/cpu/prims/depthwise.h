/* depthwise.h - for the convolutions in cpu/prims: filters of one channel each in the order in which kernels read them. */
#ifndef CPU_PRIMS_DEPTHWISE_H
#define CPU_PRIMS_DEPTHWISE_H
#include "cpu/prims/prim.h"

/* [c, 1, kh, kw] to [kh * kw][c]. */
void R(depthwise_order)(const tensor *w, real *taps);
#endif
