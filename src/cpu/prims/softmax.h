/* softmax.h - what softmax and its logarithm share: a pass over all vectors along an axis, forward or backward. */
#ifndef CPU_PRIMS_SOFTMAX_H
#define CPU_PRIMS_SOFTMAX_H
#include "cpu/prims/axis.h"

/* One vector, or `width` of them side by side: element i of all of them at x + i*step. x is y in a derivative, dy is NULL
 * forward. */
struct R(softmax_pass) {
    void (*vector)(const kernel_table *k, const real *x, const real *dy, real *out, size_t n);
    void (*bundle)(const kernel_table *k, const real *x, const real *dy, real *out, size_t n, size_t step,
                   size_t width);
};
status R(softmax_run)(struct device *d, const struct R(softmax_pass) *pass, struct axis a, const tensor *x,
                      const tensor *dy, tensor *out);
#endif
