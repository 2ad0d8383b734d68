/* softmax.c - softmax along an axis, shifted by the largest element, and its derivative.
 *
 * A NaN anywhere in a vector makes the whole vector NaN, as does a vector of nothing but -inf. */
#include "cpu/prims/axis.h"
#include <string.h>

struct softmax {
    const kernel_table *k;
    struct axis a;
    const real *x, *dy; /* x is y in the gradient */
    real *out;
    size_t grain;
};

static void vector_softmax(const kernel_table *k, const real *x, real *y, size_t n)
{
    real top, total;
    k->max(x, n, &top);
    k->exp_sum(x, top, y, n, &total);
    k->affine(y, 1 / total, (real)-0.0, y, n);
}

/* Vectors [n] side by side, `width` of them, element i of all of them at x + i*step. */
static void bundle_softmax(const struct softmax *w, const real *x, real *y, size_t width)
{
    real top[AXIS_WIDTH], total[AXIS_WIDTH];
    size_t n = w->a.n, step = w->a.inner;
    memcpy(top, x, width * sizeof *top);
    for (size_t i = 1; i < n; i++) {
        const real *row = x + i * step;
        for (size_t j = 0; j < width; j++) top[j] = row[j] > top[j] ? row[j] : top[j];
    }
    memset(total, 0, width * sizeof *total);
    for (size_t i = 0; i < n; i++) {
        real *row = y + i * step;
        w->k->sub(x + i * step, top, row, width);
        w->k->exp(row, row, width);
        w->k->add(total, row, total, width);
    }
    for (size_t j = 0; j < width; j++) total[j] = 1 / total[j];
    for (size_t i = 0; i < n; i++) w->k->mul(y + i * step, total, y + i * step, width);
}

static status softmax_piece(void *context, size_t piece, size_t worker)
{
    const struct softmax *w = context;
    struct range r = piece_range(bundles_of(w->a), w->grain, piece);
    (void)worker;
    for (size_t i = r.from; i < r.to; i++) {
        struct bundle b = bundle_at(w->a, i);
        if (w->a.inner == 1) vector_softmax(w->k, w->x + b.offset, w->out + b.offset, w->a.n);
        else bundle_softmax(w, w->x + b.offset, w->out + b.offset, b.width);
    }
    return OK;
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

static void bundle_grad(const struct softmax *w, const real *y, const real *dy, real *dx, size_t width)
{
    real dot[AXIS_WIDTH], block[AXIS_WIDTH];
    size_t n = w->a.n, step = w->a.inner;
    memset(dot, 0, width * sizeof *dot);
    for (size_t i = 0; i < n; i++) w->k->mul_add(y + i * step, dy + i * step, dot, width);
    for (size_t i = 0; i < n; i++) {
        w->k->sub(dy + i * step, dot, block, width);
        w->k->mul_add(y + i * step, block, dx + i * step, width);
    }
}

static status softmax_grad_piece(void *context, size_t piece, size_t worker)
{
    const struct softmax *w = context;
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

static status softmax_run(struct device *d, pool_piece piece, struct softmax w)
{
    if (w.a.n == 0) return OK;
    w.grain = bundle_grain(w.a, GRAIN);
    return pool_run(cpu_of(d)->threads, pieces_of(bundles_of(w.a), w.grain), piece, &w);
}

status R(prim_softmax)(struct device *d, const tensor *x, struct axis a, tensor *y)
{
    return softmax_run(d, softmax_piece, (struct softmax){KERNELS(d), a, reals(x), NULL, reals(y), 0});
}

status R(prim_softmax_grad)(struct device *d, const tensor *y, const tensor *dy, struct axis a, tensor *dx)
{
    return softmax_run(d, softmax_grad_piece, (struct softmax){KERNELS(d), a, reals(y), reals(dy), reals(dx), 0});
}
