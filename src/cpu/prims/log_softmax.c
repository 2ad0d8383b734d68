/* log_softmax.c - the logarithm of softmax along an axis, right also where softmax underflows, and its derivative.
 *
 * y = (x - max) - log(sum exp(x - max)), subtracted in this order: max + log(sum) would lose the digits of the
 * logarithm when max is large. */
#include "cpu/prims/softmax.h"
#include <math.h>
#include <string.h>

static void vector_log_softmax(const kernel_table *k, const real *x, const real *dy, real *y, size_t n)
{
    real top, total;
    (void)dy;
    k->max(x, n, &top);
    k->exp_sum(x, top, y, n, &total);
    k->affine(x, 1, -top, y, n);
    k->affine(y, 1, -(real)log((double)total), y, n);
}

static void bundle_log_softmax(const kernel_table *k, const real *x, const real *dy, real *y, size_t n, size_t step,
                               size_t width)
{
    real top[AXIS_WIDTH], total[AXIS_WIDTH], block[AXIS_WIDTH];
    (void)dy;
    memcpy(top, x, width * sizeof *top);
    for (size_t i = 1; i < n; i++) {
        const real *row = x + i * step;
        for (size_t j = 0; j < width; j++) top[j] = row[j] > top[j] ? row[j] : top[j];
    }
    memset(total, 0, width * sizeof *total);
    for (size_t i = 0; i < n; i++) {
        k->sub(x + i * step, top, y + i * step, width);
        k->exp(y + i * step, block, width);
        k->add(total, block, total, width);
    }
    for (size_t j = 0; j < width; j++) total[j] = (real)log((double)total[j]);
    for (size_t i = 0; i < n; i++) k->sub(y + i * step, total, y + i * step, width);
}

/* dx += dy - exp(y) sum(dy) */
static void vector_grad(const kernel_table *k, const real *y, const real *dy, real *dx, size_t n)
{
    real sum, block[AXIS_WIDTH];
    k->sum(dy, n, &sum);
    for (size_t i = 0; i < n; i += AXIS_WIDTH) {
        size_t length = size_min(AXIS_WIDTH, n - i);
        k->exp(y + i, block, length);
        k->affine(block, -sum, 0, block, length);
        k->add(block, dy + i, block, length);
        k->add(dx + i, block, dx + i, length);
    }
}

static void bundle_grad(const kernel_table *k, const real *y, const real *dy, real *dx, size_t n, size_t step,
                        size_t width)
{
    real sum[AXIS_WIDTH], block[AXIS_WIDTH];
    memset(sum, 0, width * sizeof *sum);
    for (size_t i = 0; i < n; i++) k->add(sum, dy + i * step, sum, width);
    for (size_t i = 0; i < n; i++) {
        k->exp(y + i * step, block, width);
        k->mul(block, sum, block, width);
        k->sub(dy + i * step, block, block, width);
        k->add(dx + i * step, block, dx + i * step, width);
    }
}

static const struct R(softmax_pass) forward = {vector_log_softmax, bundle_log_softmax},
                                    backward = {vector_grad, bundle_grad};

status R(prim_log_softmax)(struct device *d, const tensor *x, struct axis a, tensor *y)
{
    return R(softmax_run)(d, &forward, a, x, NULL, y);
}

status R(prim_log_softmax_grad)(struct device *d, const tensor *y, const tensor *dy, struct axis a, tensor *dx)
{
    return R(softmax_run)(d, &backward, a, y, dy, dx);
}
