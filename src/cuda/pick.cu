/* pick.cu - the largest elements along an axis, rows picked by index, and the derivatives, which add them back. */
#include "cuda/gpu.cuh"

/* NaN counts as larger than every number, so that it is seen in the result. */
template <typename real> static __device__ inline bool larger(real a, real b) { return a > b || (a != a && b == b); }

/* One thread a vector; the list is kept by insertion into the output: k is small. */
template <typename real>
status top_k(struct device *d, const tensor *x, struct axis a, size_t k, tensor *y, tensor *index)
{
    const real *px = reals<real>(x);
    real *py = reals<real>(y);
    int *pi = ints(index);
    if (k == 0) return OK;
    return each(gpu_enter(d), a.outer * a.inner, [=] __device__(size_t v) {
        const size_t outer = v / a.inner, inner = v % a.inner, step = a.inner;
        const real *from = px + outer * a.n * step + inner;
        real *to = py + outer * k * step + inner;
        int *place = pi + outer * k * step + inner;
        size_t filled = 0;
        for (size_t i = 0; i < a.n; i++) {
            const real value = from[i * step];
            if (filled == k && !larger(value, to[(k - 1) * step])) continue;
            size_t at = filled < k ? filled++ : k - 1;
            for (; at > 0 && larger(value, to[(at - 1) * step]); at--) {
                to[at * step] = to[(at - 1) * step];
                place[at * step] = place[(at - 1) * step];
            }
            to[at * step] = value;
            place[at * step] = (int)i;
        }
    });
}

/* The k places of one vector differ, so nothing is added to twice. */
template <typename real>
status top_k_grad(struct device *d, const tensor *index, const tensor *dy, struct axis a, size_t k, tensor *dx)
{
    const int *pi = ints(index);
    const real *pdy = reals<real>(dy);
    real *out = reals<real>(dx);
    return each(gpu_enter(d), a.outer * k * a.inner, [=] __device__(size_t i) {
        const size_t outer = i / (k * a.inner);
        out[(outer * a.n + (size_t)pi[i]) * a.inner + i % a.inner] += pdy[i];
    });
}

template <typename real>
status gather(struct device *d, const tensor *x, const tensor *index, struct axis a, tensor *y)
{
    const int *pi = ints(index);
    const size_t picks = count_of(index);
    const real *px = reals<real>(x);
    real *py = reals<real>(y);
    return each(gpu_enter(d), a.outer * picks * a.inner, [=] __device__(size_t i) {
        const size_t row = i / a.inner;
        py[i] = px[(row / picks * a.n + (size_t)pi[row % picks]) * a.inner + i % a.inner];
    });
}

/* An index may repeat: one thread adds all picks of its place, in order. */
template <typename real>
status gather_grad(struct device *d, const tensor *index, const tensor *dy, struct axis a, tensor *dx)
{
    const int *pi = ints(index);
    const size_t picks = count_of(index);
    const real *pdy = reals<real>(dy);
    real *out = reals<real>(dx);
    return each(gpu_enter(d), a.outer * a.inner, [=] __device__(size_t i) {
        const size_t outer = i / a.inner, inner = i % a.inner;
        for (size_t j = 0; j < picks; j++)
            out[(outer * a.n + (size_t)pi[j]) * a.inner + inner] += pdy[(outer * picks + j) * a.inner + inner];
    });
}

template <typename real> static void enter(struct prims *p)
{
    p->top_k = top_k<real>;
    p->top_k_grad = top_k_grad<real>;
    p->gather = gather<real>;
    p->gather_grad = gather_grad<real>;
}

void table_pick(struct prims p[DT_REALS])
{
    enter<float>(&p[DT_F32]);
    enter<double>(&p[DT_F64]);
}
