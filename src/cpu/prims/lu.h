/* lu.h - LU factors of one small matrix, for primitives that solve many. Rows are contiguous, `step` apart. */
#ifndef CPU_PRIMS_LU_H
#define CPU_PRIMS_LU_H
#include "cpu/prims/prim.h"

/* For float and double, lu_factor_f32 and so on; either type of primitive may call both.
 *
 * lu_factor replaces a [n, n] by its factors, partial pivoting; pivot[i] is the row that changed places with row i. Returns n,
 * or the first i whose pivot is not larger than `tolerance` times the largest element. A NaN counts as a good pivot: it shows.
 * lu_solve_one solves a x = b, or a^T x = b, in place. */
#define LU_OF(type, kernels, name) \
    size_t lu_factor_##name(const kernels *k, size_t n, type *a, size_t step, int *pivot, double tolerance); \
    void lu_solve_one_##name(const kernels *k, size_t n, const type *lu, size_t step, const int *pivot, \
                             bool transposed, type *x);
LU_OF(float, struct kernels_f32, f32)
LU_OF(double, struct kernels_f64, f64)
#undef LU_OF
#endif
