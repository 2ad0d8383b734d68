/* depthwise.h - for the convolutions in cpu/prims: filters of one channel each, in the order in which kernels read them, and
 * rows of their outputs. */
#ifndef CPU_PRIMS_DEPTHWISE_H
#define CPU_PRIMS_DEPTHWISE_H
#include "cpu/prims/prim.h"

/* [c, 1, kh, kw] to [kh * kw][c]. */
void R(depthwise_order)(const tensor *w, real *taps);

/* A map that filters run over. */
struct depthwise_over {
    const real *x, *taps; /* the map; [kh * kw][c] */
    size_t h;             /* its rows */
    size_t kh, top;       /* rows of the filter; zeros above the map */
};

/* Rows [from, to) of one map's outputs, by as few calls of the kernel as rows of the filter permit that leave the map. `form` says the rest. */
void R(depthwise_band)(const kernel_table *k, const struct depthwise_rows *form, const struct depthwise_over *over,
                       size_t from, size_t to, real *y);
#endif
