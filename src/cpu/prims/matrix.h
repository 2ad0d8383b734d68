/* matrix.h - for files in cpu/prims: a tensor seen as a batch of row-major matrices. */
#ifndef CPU_PRIMS_MATRIX_H
#define CPU_PRIMS_MATRIX_H
#include "cpu/prims/prim.h"

struct matrices {
    real *data; /* [batch, rows, columns] */
    size_t batch, rows, columns;
};

/* Rank 2 is a batch of one; axes before the last two are all batch. */
static inline struct matrices matrices_of(const tensor *x)
{
    return (struct matrices){reals(x), tensor_span(x, 0, x->rank - 2), x->dim[x->rank - 2], x->dim[x->rank - 1]};
}

/* Matrix i; a batch of one serves all. */
static inline real *matrix_at(const struct matrices *x, size_t i)
{
    return x->data + (x->batch == 1 ? 0 : i * x->rows * x->columns);
}
#endif
