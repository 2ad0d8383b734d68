/* triangle.h - for files in cpu/prims: solving with one triangular matrix, the step that lu_solve, cholesky_solve and
 * triangular_solve share. Implemented in cpu/prims/triangular.c. */
#ifndef CPU_PRIMS_TRIANGLE_H
#define CPU_PRIMS_TRIANGLE_H
#include "cpu/prims/matrix.h"

enum {
    SOLVE_WIDTH = 128
}; /* right-hand sides that are solved together, so that large batches of them can be shared out */

struct triangle {
    const real *t; /* [n, n]; only its triangle is read */
    size_t n;
    bool upper, transposed, unit; /* solve with t or its transpose; unit: the diagonal is taken as 1 and not read */
};

/* Solves in place for `columns` right-hand sides x [n, columns], row step x_row. A zero on the diagonal gives
 * infinities or NaN, as division does. */
void R(triangle_solve)(const kernel_table *k, struct triangle t, real *x, size_t x_row, size_t columns);

/* A unit of a solve is up to SOLVE_WIDTH right-hand sides of one matrix: how many there are, and how many make a
 * piece. x is [batch, n, right-hand sides]. */
size_t R(solve_units)(const struct matrices *x);
size_t R(solve_grain)(const struct matrices *x);

struct solve_block {
    real *x;       /* the right-hand sides of the unit, copied from b unless x is b */
    size_t matrix; /* which one of the batch */
    size_t row;    /* row step of x */
    size_t columns;
};
struct solve_block R(solve_block)(const struct matrices *b, const struct matrices *x, size_t unit);
#endif
