/* norm.h - the length of a vector whose squares overflow: scaled by its largest element. Slow, and almost never called. */
#ifndef CPU_NORM_H
#define CPU_NORM_H
#include "cpu/real.h"
#include <math.h>
#include <stddef.h>

/* sqrt(sum_p x[p * step]^2); NaN when an element is not finite. */
static inline double norm_scaled(const real *x, size_t step, size_t k)
{
    double top = 0, squares = 0;
    for (size_t p = 0; p < k; p++) {
        if (!isfinite(x[p * step])) return NAN;
        top = fmax(top, fabs((double)x[p * step]));
    }
    if (top == 0) return 0;
    for (size_t p = 0; p < k; p++) squares += (double)x[p * step] / top * ((double)x[p * step] / top);
    return top * sqrt(squares);
}

/* 1 / norm; 0 for vectors shorter than 1e-12, which count as zero (docs/mcl.md). `squares` is the plain sum, when it fits. */
static inline real norm_inverse(double squares, const real *x, size_t step, size_t k)
{
    const double norm = squares < INFINITY ? sqrt(squares) : norm_scaled(x, step, k);
    return norm < 1e-12 ? 0 : (real)(1 / norm);
}
#endif
