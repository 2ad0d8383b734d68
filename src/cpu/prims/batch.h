/* batch.h - for batch normalisation in cpu/prims: a tensor [..., c] as rows of c, cut into blocks whose sums are added
 * in their order. */
#ifndef CPU_PRIMS_BATCH_H
#define CPU_PRIMS_BATCH_H
#include "cpu/prims/prim.h"

enum { BATCH_BLOCKS = 64 }; /* at most; cut by the number of rows alone */

struct batch {
    size_t rows, c, grain, blocks;
};

static inline struct batch batch_of(const tensor *x)
{
    const size_t c = x->dim[x->rank - 1], rows = tensor_span(x, 0, x->rank - 1);
    const size_t grain = size_max(size_max(1, GRAIN / size_max(1, c)), size_div_up(rows, BATCH_BLOCKS));
    return (struct batch){rows, c, grain, pieces_of(rows, grain)};
}
#endif
