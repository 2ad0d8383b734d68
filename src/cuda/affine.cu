/* affine.cu - scaling, shifting and adding whole tensors. Scalars that are tensors stay on the device. */
#include "cuda/gpu.cuh"

template <typename real> status affine(struct device *d, const tensor *x, double mul, double add, tensor *y)
{
    const real *px = reals<real>(x), m = (real)mul, a = (real)add;
    real *py = reals<real>(y);
    return each(gpu_enter(d), count_of(y), [=] __device__(size_t i) { py[i] = m * px[i] + a; });
}

template <typename real> status axpy(struct device *d, double alpha, const tensor *x, tensor *y)
{
    const real *px = reals<real>(x), a = (real)alpha;
    real *py = reals<real>(y);
    return each(gpu_enter(d), count_of(y), [=] __device__(size_t i) { py[i] += a * px[i]; });
}

template <typename real> status scale_by(struct device *d, const tensor *scalar, tensor *x)
{
    const real *s = reals<real>(scalar);
    real *px = reals<real>(x);
    return each(gpu_enter(d), count_of(x), [=] __device__(size_t i) { px[i] *= *s; });
}

template <typename real> status axpy_by(struct device *d, const tensor *scalar, const tensor *x, tensor *y)
{
    const real *s = reals<real>(scalar), *px = reals<real>(x);
    real *py = reals<real>(y);
    return each(gpu_enter(d), count_of(y), [=] __device__(size_t i) { py[i] += *s * px[i]; });
}

template <typename real> status fill(struct device *d, double value, tensor *y)
{
    const real v = (real)value;
    real *py = reals<real>(y);
    return each(gpu_enter(d), count_of(y), [=] __device__(size_t i) { py[i] = v; });
}

template <typename real> static void enter(struct prims *p)
{
    p->affine = affine<real>;
    p->axpy = axpy<real>;
    p->scale_by = scale_by<real>;
    p->axpy_by = axpy_by<real>;
    p->fill = fill<real>;
}

void table_affine(struct prims p[DT_REALS])
{
    enter<float>(&p[DT_F32]);
    enter<double>(&p[DT_F64]);
}
