/* softmax.cu - softmax, its logarithm and unit vectors along an axis, and their derivatives.
 *
 * A NaN anywhere in a vector makes the whole softmax NaN, as does a vector of nothing but -inf. All sums are double. */
#include "cuda/group.cuh"

/* The largest element, and the sum of exp(x - largest). */
template <typename real>
static __device__ inline double exponentials(const struct group &g, const real *x, double *top)
{
    double most = -INFINITY, sum = 0;
    for (size_t i = g.slot; i < g.n; i += g.slots) most = fmax(most, (double)x[i * g.step]);
    most = g.max(most);
    for (size_t i = g.slot; i < g.n; i += g.slots) sum += exp((double)x[i * g.step] - most);
    *top = most;
    return g.sum(sum);
}

template <typename real>
static __device__ inline double dot(const struct group &g, const real *x, const real *y)
{
    double sum = 0;
    for (size_t i = g.slot; i < g.n; i += g.slots) sum += (double)x[i * g.step] * (double)y[i * g.step];
    return g.sum(sum);
}

template <typename real> status softmax(struct device *d, const tensor *x, struct axis a, tensor *y)
{
    const real *px = reals<real>(x);
    real *py = reals<real>(y);
    return along(gpu_enter(d), a, [=] __device__(const struct group &g) {
        const real *from = px + g.offset;
        double top, sum = exponentials(g, from, &top);
        for (size_t i = g.slot; i < g.n; i += g.slots)
            py[g.offset + i * g.step] = (real)(exp((double)from[i * g.step] - top) / sum);
    });
}

/* dx += y (dy - dot(y, dy)) */
template <typename real>
status softmax_grad(struct device *d, const tensor *y, const tensor *dy, struct axis a, tensor *dx)
{
    const real *py = reals<real>(y), *pdy = reals<real>(dy);
    real *out = reals<real>(dx);
    return along(gpu_enter(d), a, [=] __device__(const struct group &g) {
        const double mean = dot(g, py + g.offset, pdy + g.offset);
        for (size_t i = g.slot; i < g.n; i += g.slots) {
            const size_t at = g.offset + i * g.step;
            out[at] += (real)((double)py[at] * ((double)pdy[at] - mean));
        }
    });
}

template <typename real> status log_softmax(struct device *d, const tensor *x, struct axis a, tensor *y)
{
    const real *px = reals<real>(x);
    real *py = reals<real>(y);
    return along(gpu_enter(d), a, [=] __device__(const struct group &g) {
        const real *from = px + g.offset;
        double top, lost = log(exponentials(g, from, &top));
        for (size_t i = g.slot; i < g.n; i += g.slots)
            py[g.offset + i * g.step] = (real)((double)from[i * g.step] - top - lost);
    });
}

/* dx += dy - exp(y) sum(dy) */
template <typename real>
status log_softmax_grad(struct device *d, const tensor *y, const tensor *dy, struct axis a, tensor *dx)
{
    const real *py = reals<real>(y), *pdy = reals<real>(dy);
    real *out = reals<real>(dx);
    return along(gpu_enter(d), a, [=] __device__(const struct group &g) {
        double sum = 0;
        for (size_t i = g.slot; i < g.n; i += g.slots) sum += (double)pdy[g.offset + i * g.step];
        sum = g.sum(sum);
        for (size_t i = g.slot; i < g.n; i += g.slots) {
            const size_t at = g.offset + i * g.step;
            out[at] += (real)((double)pdy[at] - exp((double)py[at]) * sum);
        }
    });
}

template <typename real>
status l2norm(struct device *d, const tensor *x, struct axis a, tensor *y, tensor *inverse)
{
    const real *px = reals<real>(x);
    real *py = reals<real>(y), *pi = reals<real>(inverse);
    return along(gpu_enter(d), a, [=] __device__(const struct group &g) {
        const double norm = sqrt(dot(g, px + g.offset, px + g.offset)), scale = norm < 1e-12 ? 0 : 1 / norm;
        for (size_t i = g.slot; i < g.n; i += g.slots) {
            const size_t at = g.offset + i * g.step;
            py[at] = (real)((double)px[at] * scale);
        }
        if (g.first) pi[g.vector] = (real)scale;
    });
}

/* dx += (dy - y dot(y, dy)) / norm */
template <typename real>
status l2norm_grad(struct device *d, const tensor *y, const tensor *inverse, const tensor *dy, struct axis a,
                   tensor *dx)
{
    const real *py = reals<real>(y), *pi = reals<real>(inverse), *pdy = reals<real>(dy);
    real *out = reals<real>(dx);
    return along(gpu_enter(d), a, [=] __device__(const struct group &g) {
        const double along_y = dot(g, py + g.offset, pdy + g.offset);
        for (size_t i = g.slot; i < g.n; i += g.slots) {
            const size_t at = g.offset + i * g.step;
            out[at] += (real)(((double)pdy[at] - (double)py[at] * along_y) * (double)pi[g.vector]);
        }
    });
}

template <typename real> static void enter(struct prims *p)
{
    p->softmax = softmax<real>;
    p->softmax_grad = softmax_grad<real>;
    p->log_softmax = log_softmax<real>;
    p->log_softmax_grad = log_softmax_grad<real>;
    p->l2norm = l2norm<real>;
    p->l2norm_grad = l2norm_grad<real>;
}

void table_softmax(struct prims p[DT_REALS])
{
    enter<float>(&p[DT_F32]);
    enter<double>(&p[DT_F64]);
}
