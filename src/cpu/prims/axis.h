/* axis.h - for files in cpu/prims: work along the middle axis of [outer, n, inner], cut into bundles.
 *
 * With inner = 1 a bundle is one contiguous vector; otherwise it is up to AXIS_WIDTH neighbouring vectors, whose rows
 * are contiguous, so that kernels run across vectors and the statistics of a bundle fit on the stack. */
#ifndef CPU_PRIMS_AXIS_H
#define CPU_PRIMS_AXIS_H
#include "cpu/prims/prim.h"

enum { AXIS_WIDTH = 256 };

struct bundle {
    size_t offset; /* of its first element */
    size_t vector; /* number of its first vector, counting [outer, inner] */
    size_t width;  /* vectors in it */
};

static inline size_t bundles_of(struct axis a) { return a.outer * size_div_up(a.inner, AXIS_WIDTH); }

/* Bundles of a piece, so that the piece has about `elements` elements. */
static inline size_t bundle_grain(struct axis a, size_t elements)
{
    return size_max(1, elements / size_max(1, a.n * size_min(a.inner, AXIS_WIDTH)));
}

static inline struct bundle bundle_at(struct axis a, size_t i)
{
    size_t blocks = size_div_up(a.inner, AXIS_WIDTH), outer = i / blocks, from = i % blocks * AXIS_WIDTH;
    return (struct bundle){outer * a.n * a.inner + from, outer * a.inner + from, size_min(AXIS_WIDTH, a.inner - from)};
}
#endif
