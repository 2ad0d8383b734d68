/* elementwise.cu - y = a op b with broadcasting, y = f(x), leaky relu, and their derivatives. */
#include "cuda/broadcast.cuh"

template <typename real> static __device__ inline real combine(enum binary_kind kind, real a, real b)
{
    switch (kind) {
    case BINARY_ADD: return a + b;
    case BINARY_SUB: return a - b;
    case BINARY_MUL: return a * b;
    case BINARY_DIV: break;
    }
    return a / b;
}

template <typename real>
status binary(struct device *d, enum binary_kind kind, const tensor *a, const tensor *b, tensor *y)
{
    const struct broadcast s = broadcast_make(a, b, y);
    const real *pa = reals<real>(a), *pb = reals<real>(b);
    real *py = reals<real>(y);
    return each(gpu_enter(d), count_of(y), [=] __device__(size_t i) {
        size_t at_a, at_b;
        s.find(i, &at_a, &at_b);
        py[i] = combine(kind, pa[at_a], pb[at_b]);
    });
}

/* exp and log go through double: its rounding is far below a float's. */
template <typename real> static __device__ inline real apply(enum unary_kind kind, real x)
{
    switch (kind) {
    case UNARY_EXP: return (real)exp((double)x);
    case UNARY_LOG: return (real)log((double)x);
    case UNARY_SQRT: return sqrt(x);
    case UNARY_RELU: break;
    }
    return x < 0 ? (real)0 : x; /* NaN stays */
}

template <typename real> status unary(struct device *d, enum unary_kind kind, const tensor *x, tensor *y)
{
    const real *px = reals<real>(x);
    real *py = reals<real>(y);
    return each(gpu_enter(d), count_of(y), [=] __device__(size_t i) { py[i] = apply(kind, px[i]); });
}

/* relu is tested on y, so that x is not needed; at 0 its derivative is 0. */
template <typename real>
status unary_grad(struct device *d, enum unary_kind kind, const tensor *x, const tensor *y, const tensor *dy, tensor *dx)
{
    const real *px = reals<real>(x), *py = reals<real>(y), *pdy = reals<real>(dy);
    real *out = reals<real>(dx);
    return each(gpu_enter(d), count_of(dx), [=] __device__(size_t i) {
        switch (kind) {
        case UNARY_EXP: out[i] += pdy[i] * py[i]; break;
        case UNARY_LOG: out[i] += pdy[i] / px[i]; break;
        case UNARY_SQRT: out[i] += pdy[i] / (2 * py[i]); break;
        case UNARY_RELU: out[i] += py[i] > 0 ? pdy[i] : (real)0; break;
        }
    });
}

template <typename real> status leaky_relu(struct device *d, const tensor *x, double slope, tensor *y)
{
    const real *px = reals<real>(x), low = (real)slope;
    real *py = reals<real>(y);
    return each(gpu_enter(d), count_of(x), [=] __device__(size_t i) { py[i] = px[i] * (px[i] > 0 ? (real)1 : low); });
}

template <typename real>
status leaky_relu_grad(struct device *d, const tensor *x, const tensor *dy, double slope, tensor *dx)
{
    const real *px = reals<real>(x), *pdy = reals<real>(dy), low = (real)slope;
    real *out = reals<real>(dx);
    return each(gpu_enter(d), count_of(x),
                [=] __device__(size_t i) { out[i] += pdy[i] * (px[i] > 0 ? (real)1 : low); });
}

template <typename real> status clip(struct device *d, const tensor *x, double low, double high, tensor *y)
{
    const real *px = reals<real>(x), least = (real)low, most = (real)high;
    real *py = reals<real>(y);
    return each(gpu_enter(d), count_of(x), [=] __device__(size_t i) {
        const real v = px[i];
        py[i] = v < least ? least : v > most ? most : v; /* NaN stays */
    });
}

template <typename real>
status clip_grad(struct device *d, const tensor *x, const tensor *dy, double low, double high, tensor *dx)
{
    const real *px = reals<real>(x), *pdy = reals<real>(dy), least = (real)low, most = (real)high;
    real *out = reals<real>(dx);
    return each(gpu_enter(d), count_of(x), [=] __device__(size_t i) {
        if (px[i] > least && px[i] < most) out[i] += pdy[i];
    });
}

template <typename real> static void enter(struct prims *p)
{
    p->clip = clip<real>;
    p->clip_grad = clip_grad<real>;
    p->binary = binary<real>;
    p->unary = unary<real>;
    p->unary_grad = unary_grad<real>;
    p->leaky_relu = leaky_relu<real>;
    p->leaky_relu_grad = leaky_relu_grad<real>;
}

void table_elementwise(struct prims p[DT_REALS])
{
    enter<float>(&p[DT_F32]);
    enter<double>(&p[DT_F64]);
}
