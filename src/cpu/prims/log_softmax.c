/* log_softmax.c - the logarithm of softmax along an axis, right also where softmax underflows, and its derivative.
 *
 * y = (x - max) - log(sum exp(x - max)), subtracted in this order: max + log(sum) would lose the digits of the
 * logarithm when max is large. */
#include "cpu/prims/axis.h"
#include <math.h>
#include <string.h>

struct log_softmax {
    const kernel_table *k;
    struct axis a;
    const real *x, *dy; /* x is y in the gradient */
    real *out;
    size_t grain;
};

static void vector_log_softmax(const kernel_table *k, const real *x, real *y, size_t n)
{
    real top, total;
    k->max(x, n, &top);
    k->exp_sum(x, top, y, n, &total);
    k->affine(x, 1, -top, y, n);
    k->affine(y, 1, -(real)log((double)total), y, n);
}

static void bundle_log_softmax(const struct log_softmax *w, const real *x, real *y, size_t width)
{
    real top[AXIS_WIDTH], total[AXIS_WIDTH], block[AXIS_WIDTH];
    size_t n = w->a.n, step = w->a.inner;
    memcpy(top, x, width * sizeof *top);
    for (size_t i = 1; i < n; i++) {
        const real *row = x + i * step;
        for (size_t j = 0; j < width; j++) top[j] = row[j] > top[j] ? row[j] : top[j];
    }
    memset(total, 0, width * sizeof *total);
    for (size_t i = 0; i < n; i++) {
        w->k->sub(x + i * step, top, y + i * step, width);
        w->k->exp(y + i * step, block, width);
        w->k->add(total, block, total, width);
    }
    for (size_t j = 0; j < width; j++) total[j] = (real)log((double)total[j]);
    for (size_t i = 0; i < n; i++) w->k->sub(y + i * step, total, y + i * step, width);
}

static status log_softmax_piece(void *context, size_t piece, size_t worker)
{
    const struct log_softmax *w = context;
    struct range r = piece_range(bundles_of(w->a), w->grain, piece);
    (void)worker;
    for (size_t i = r.from; i < r.to; i++) {
        struct bundle b = bundle_at(w->a, i);
        if (w->a.inner == 1) vector_log_softmax(w->k, w->x + b.offset, w->out + b.offset, w->a.n);
        else bundle_log_softmax(w, w->x + b.offset, w->out + b.offset, b.width);
    }
    return OK;
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

static void bundle_grad(const struct log_softmax *w, const real *y, const real *dy, real *dx, size_t width)
{
    real sum[AXIS_WIDTH], block[AXIS_WIDTH];
    size_t n = w->a.n, step = w->a.inner;
    memset(sum, 0, width * sizeof *sum);
    for (size_t i = 0; i < n; i++) w->k->add(sum, dy + i * step, sum, width);
    for (size_t i = 0; i < n; i++) {
        w->k->exp(y + i * step, block, width);
        w->k->mul(block, sum, block, width);
        w->k->sub(dy + i * step, block, block, width);
        w->k->add(dx + i * step, block, dx + i * step, width);
    }
}

static status log_softmax_grad_piece(void *context, size_t piece, size_t worker)
{
    const struct log_softmax *w = context;
    struct range r = piece_range(bundles_of(w->a), w->grain, piece);
    (void)worker;
    for (size_t i = r.from; i < r.to; i++) {
        struct bundle b = bundle_at(w->a, i);
        const real *y = w->x + b.offset, *dy = w->dy + b.offset;
        if (w->a.inner == 1) vector_grad(w->k, y, dy, w->out + b.offset, w->a.n);
        else bundle_grad(w, y, dy, w->out + b.offset, b.width);
    }
    return OK;
}

static status log_softmax_run(struct device *d, pool_piece piece, struct log_softmax w)
{
    if (w.a.n == 0) return OK;
    w.grain = bundle_grain(w.a, GRAIN);
    return pool_run(cpu_of(d)->threads, pieces_of(bundles_of(w.a), w.grain), piece, &w);
}

status R(prim_log_softmax)(struct device *d, const tensor *x, struct axis a, tensor *y)
{
    return log_softmax_run(d, log_softmax_piece, (struct log_softmax){KERNELS(d), a, reals(x), NULL, reals(y), 0});
}

status R(prim_log_softmax_grad)(struct device *d, const tensor *y, const tensor *dy, struct axis a, tensor *dx)
{
    return log_softmax_run(d, log_softmax_grad_piece,
                           (struct log_softmax){KERNELS(d), a, reals(y), reals(dy), reals(dx), 0});
}
