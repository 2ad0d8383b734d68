/* softmax.c - softmax along an axis, shifted by the largest element, and its derivative.
 *
 * A NaN anywhere in a vector makes the whole vector NaN, as does a vector of nothing but -inf. */
#include "cpu/prims/softmax.h"
#include <string.h>

struct run {
    const struct R(softmax_pass) *pass;
    const kernel_table *k;
    struct axis a;
    const real *x, *dy;
    real *out;
    size_t grain;
};

static status run_piece(void *context, size_t piece, size_t worker)
{
    const struct run *w = context;
    struct range r = piece_range(bundles_of(w->a), w->grain, piece);
    (void)worker;
    for (size_t i = r.from; i < r.to; i++) {
        struct bundle b = bundle_at(w->a, i);
        const real *x = w->x + b.offset, *dy = w->dy ? w->dy + b.offset : NULL;
        if (w->a.inner == 1) w->pass->vector(w->k, x, dy, w->out + b.offset, w->a.n);
        else w->pass->bundle(w->k, x, dy, w->out + b.offset, w->a.n, w->a.inner, b.width);
    }
    return OK;
}

status R(softmax_run)(struct device *d, const struct R(softmax_pass) *pass, struct axis a, const tensor *x,
                      const tensor *dy, tensor *out)
{
    struct run w = {pass, KERNELS(d), a, reals(x), dy ? reals(dy) : NULL, reals(out), bundle_grain(a, GRAIN)};
    if (a.n == 0) return OK;
    return pool_run(cpu_of(d)->threads, pieces_of(bundles_of(a), w.grain), run_piece, &w);
}

static void vector_softmax(const kernel_table *k, const real *x, const real *dy, real *y, size_t n)
{
    real top, total;
    (void)dy;
    k->max(x, n, &top);
    k->exp_sum(x, top, y, n, &total);
    k->affine(y, 1 / total, (real)-0.0, y, n);
}

static void bundle_softmax(const kernel_table *k, const real *x, const real *dy, real *y, size_t n, size_t step,
                           size_t width)
{
    real top[AXIS_WIDTH], total[AXIS_WIDTH];
    (void)dy;
    memcpy(top, x, width * sizeof *top);
    for (size_t i = 1; i < n; i++) {
        const real *row = x + i * step;
        for (size_t j = 0; j < width; j++) top[j] = row[j] > top[j] ? row[j] : top[j];
    }
    memset(total, 0, width * sizeof *total);
    for (size_t i = 0; i < n; i++) {
        real *row = y + i * step;
        k->sub(x + i * step, top, row, width);
        k->exp(row, row, width);
        k->add(total, row, total, width);
    }
    for (size_t j = 0; j < width; j++) total[j] = 1 / total[j];
    for (size_t i = 0; i < n; i++) k->mul(y + i * step, total, y + i * step, width);
}

/* dx += y (dy - dot(y, dy)) */
static void vector_grad(const kernel_table *k, const real *y, const real *dy, real *dx, size_t n)
{
    real dot, block[AXIS_WIDTH];
    k->dot(y, dy, n, &dot);
    for (size_t i = 0; i < n; i += AXIS_WIDTH) {
        size_t length = size_min(AXIS_WIDTH, n - i);
        k->affine(dy + i, 1, -dot, block, length);
        k->mul_add(y + i, block, dx + i, length);
    }
}

static void bundle_grad(const kernel_table *k, const real *y, const real *dy, real *dx, size_t n, size_t step,
                        size_t width)
{
    real dot[AXIS_WIDTH], block[AXIS_WIDTH];
    memset(dot, 0, width * sizeof *dot);
    for (size_t i = 0; i < n; i++) k->mul_add(y + i * step, dy + i * step, dot, width);
    for (size_t i = 0; i < n; i++) {
        k->sub(dy + i * step, dot, block, width);
        k->mul_add(y + i * step, block, dx + i * step, width);
    }
}

static const struct R(softmax_pass) forward = {vector_softmax, bundle_softmax}, backward = {vector_grad, bundle_grad};

status R(prim_softmax)(struct device *d, const tensor *x, struct axis a, tensor *y)
{
    return R(softmax_run)(d, &forward, a, x, NULL, y);
}

status R(prim_softmax_grad)(struct device *d, const tensor *y, const tensor *dy, struct axis a, tensor *dx)
{
    return R(softmax_run)(d, &backward, a, y, dy, dx);
}
