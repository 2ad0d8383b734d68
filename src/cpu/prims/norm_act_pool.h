/* norm_act_pool.h - for batch norm with what follows it, forward and back: the work as spans that one kernel call covers.
 *
 * With pooling a span is one row of results; without, all pixels of a piece. */
#ifndef CPU_PRIMS_NORM_ACT_POOL_H
#define CPU_PRIMS_NORM_ACT_POOL_H
#include "cpu/prims/prim.h"

struct norm_work {
    const kernel_table *k;
    struct norm_pixels all; /* x: the inputs from their beginning */
    bool pool;
    size_t h, w;     /* of the inputs, with pooling */
    size_t units;    /* rows of results with pooling, else pixels */
    size_t weight;   /* elements of the input under a unit */
    size_t lanes;    /* c rounded up: the length of a channel vector */
    const real *dy;  /* the rest: for the pass at hand */
    real *y, *to[2]; /* to: gradients of the inputs */
    double *parts;   /* [pieces, 3, lanes] */
    size_t grain;    /* units of a piece */
};

struct norm_span {
    struct norm_pixels p;
    size_t x, y; /* where it begins in the inputs and in the result */
    size_t unit; /* the first */
};

enum { NORM_VECTORS = 5 }; /* of each input: mean, scale, bias, tilt, offset */

/* Bytes of the channel vectors, and the work with mean, scale and bias made in that memory. */
size_t R(norm_vector_bytes)(const struct norm_act_args *a);
void R(norm_work_make)(struct device *d, const struct norm_act_args *a, real *memory, struct norm_work *out);
/* The next span of a piece's range; false at its end. */
bool R(norm_span_next)(const struct norm_work *w, struct range *r, struct norm_span *out);
#endif
