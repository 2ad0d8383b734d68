/* lu.h - LU factors of one small matrix, for primitives that solve many. Rows are contiguous, `step` apart. */
#ifndef CPU_PRIMS_LU_H
#define CPU_PRIMS_LU_H
#include "cpu/prims/prim.h"

/* Replaces a [n, n] by its factors, partial pivoting; pivot[i] is the row that changed places with row i. Returns n, or the
 * first i whose pivot is not larger than `tolerance` times the largest element. A NaN counts as a good pivot: it shows. */
size_t R(lu_factor)(const kernel_table *k, size_t n, real *a, size_t step, int *pivot, double tolerance);
/* Solves a x = b, or a^T x = b, in place. */
void R(lu_solve_one)(const kernel_table *k, size_t n, const real *lu, size_t step, const int *pivot, bool transposed,
                     real *x);
#endif
