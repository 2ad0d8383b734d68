/* l2norm.c - vectors along an axis divided by their length, and the derivative.
 *
 * Vectors shorter than 1e-12 become zeros; their inverse length counts as 0, which makes the derivative 0 as well. */
#include "cpu/prims/axis.h"
#include <math.h>
#include <string.h>

struct l2norm {
    const kernel_table *k;
    struct axis a;
    const real *x, *dy; /* x is y in the gradient */
    real *inverse;      /* [outer, inner] */
    real *out;
    size_t grain;
};

static real inverse_norm(const kernel_table *k, const real *x, size_t n)
{
    real square;
    k->dot(x, x, n, &square);
    double norm = sqrt((double)square);
    return norm < 1e-12 ? 0 : (real)(1 / norm);
}

static status l2norm_piece(void *context, size_t piece, size_t worker)
{
    const struct l2norm *w = context;
    struct range r = piece_range(bundles_of(w->a), w->grain, piece);
    size_t n = w->a.n, step = w->a.inner;
    (void)worker;
    for (size_t i = r.from; i < r.to; i++) {
        struct bundle b = bundle_at(w->a, i);
        const real *x = w->x + b.offset;
        real *y = w->out + b.offset, *inverse = w->inverse + b.vector;
        if (step == 1) {
            *inverse = inverse_norm(w->k, x, n);
            w->k->affine(x, *inverse, (real)-0.0, y, n);
        } else {
            w->k->inverse_norms(x, step, n, b.width, inverse);
            for (size_t j = 0; j < n; j++) w->k->mul(x + j * step, inverse, y + j * step, b.width);
        }
    }
    return OK;
}

/* dx += (dy - y dot(y, dy)) / norm */
static void bundle_grad(const struct l2norm *w, struct bundle b)
{
    real dot[AXIS_WIDTH], block[AXIS_WIDTH];
    size_t n = w->a.n, step = w->a.inner;
    const real *y = w->x + b.offset, *dy = w->dy + b.offset;
    memset(dot, 0, b.width * sizeof *dot);
    for (size_t i = 0; i < n; i++) w->k->mul_add(y + i * step, dy + i * step, dot, b.width);
    for (size_t i = 0; i < n; i++) {
        w->k->mul(y + i * step, dot, block, b.width);
        w->k->sub(dy + i * step, block, block, b.width);
        w->k->mul_add(block, w->inverse + b.vector, w->out + b.offset + i * step, b.width);
    }
}

static status l2norm_grad_piece(void *context, size_t piece, size_t worker)
{
    const struct l2norm *w = context;
    struct range r = piece_range(bundles_of(w->a), w->grain, piece);
    (void)worker;
    for (size_t i = r.from; i < r.to; i++) {
        struct bundle b = bundle_at(w->a, i);
        const real *y = w->x + b.offset, *dy = w->dy + b.offset;
        if (w->a.inner == 1) {
            real dot, inverse = w->inverse[b.vector];
            w->k->dot(y, dy, w->a.n, &dot);
            w->k->axpy(inverse, dy, w->out + b.offset, w->a.n);
            w->k->axpy(-inverse * dot, y, w->out + b.offset, w->a.n);
        } else {
            bundle_grad(w, b);
        }
    }
    return OK;
}

static status l2norm_run(struct device *d, pool_piece piece, struct l2norm w)
{
    w.grain = bundle_grain(w.a, 2 * GRAIN);
    return pool_run(cpu_of(d)->threads, pieces_of(bundles_of(w.a), w.grain), piece, &w);
}

status R(prim_l2norm)(struct device *d, const tensor *x, struct axis a, tensor *y, tensor *inverse)
{
    return l2norm_run(d, l2norm_piece, (struct l2norm){KERNELS(d), a, reals(x), NULL, reals(inverse), reals(y), 0});
}

status R(prim_l2norm_grad)(struct device *d, const tensor *y, const tensor *inverse, const tensor *dy, struct axis a,
                           tensor *dx)
{
    return l2norm_run(d, l2norm_grad_piece,
                      (struct l2norm){KERNELS(d), a, reals(y), reals(dy), reals(inverse), reals(dx), 0});
}
