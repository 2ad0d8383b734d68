/* affine.c - scaling, shifting and adding whole tensors: affine, axpy, scale_by, axpy_by and fill.
 *
 * Products without a sum go through the affine kernel with -0 added, which leaves every number as it is, the sign of
 * zero included; +0 would turn -0 into +0. */
#include "cpu/prims/prim.h"

struct affine {
    const kernel_table *k;
    const real *x;
    real mul, add;
    real *y;
    size_t count;
};

static status affine_piece(void *context, size_t piece, size_t worker)
{
    const struct affine *w = context;
    struct range r = piece_range(w->count, GRAIN, piece);
    (void)worker;
    w->k->affine(w->x + r.from, w->mul, w->add, w->y + r.from, r.to - r.from);
    return OK;
}

static status axpy_piece(void *context, size_t piece, size_t worker)
{
    const struct affine *w = context;
    struct range r = piece_range(w->count, GRAIN, piece);
    (void)worker;
    w->k->axpy(w->mul, w->x + r.from, w->y + r.from, r.to - r.from);
    return OK;
}

static status fill_piece(void *context, size_t piece, size_t worker)
{
    const struct affine *w = context;
    struct range r = piece_range(w->count, GRAIN, piece);
    (void)worker;
    for (size_t i = r.from; i < r.to; i++) w->y[i] = w->add;
    return OK;
}

static status affine_run(struct device *d, pool_piece piece, const tensor *x, real mul, real add, tensor *y)
{
    struct affine w = {KERNELS(d), reals(x), mul, add, reals(y), tensor_count(y)};
    return pool_run(cpu_of(d)->threads, pieces_of(w.count, GRAIN), piece, &w);
}

status R(prim_affine)(struct device *d, const tensor *x, double mul, double add, tensor *y)
{
    return affine_run(d, affine_piece, x, (real)mul, (real)add, y);
}

status R(prim_axpy)(struct device *d, double alpha, const tensor *x, tensor *y)
{
    return affine_run(d, axpy_piece, x, (real)alpha, 0, y);
}

status R(prim_scale_by)(struct device *d, const tensor *scalar, tensor *x)
{
    if (*reals(scalar) == 1) return OK; /* the usual case: a loss's own gradient */
    return affine_run(d, affine_piece, x, *reals(scalar), (real)-0.0, x);
}

status R(prim_axpy_by)(struct device *d, const tensor *scalar, const tensor *x, tensor *y)
{
    return affine_run(d, axpy_piece, x, *reals(scalar), 0, y);
}

status R(prim_fill)(struct device *d, double value, tensor *y)
{
    return affine_run(d, fill_piece, y, 1, (real)value, y);
}
