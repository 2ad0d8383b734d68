/* pool.cu - average pooling to a given size, the largest of each 2 x 2 square, and their derivatives. */
#include "cuda/gpu.cuh"

struct pooling {
    size_t planes, h, w; /* of x */
    size_t s, t;         /* of y */
};

static struct pooling pooling_of(const tensor *x, const tensor *y)
{
    return {span_of(x, 0, x->rank - 2), x->dim[x->rank - 2], x->dim[x->rank - 1], y->dim[y->rank - 2],
            y->dim[y->rank - 1]};
}

/* Output i of `out` averages the inputs [first, end) of `in`; windows overlap when out does not divide in. */
static __device__ inline size_t window_first(size_t i, size_t in, size_t out) { return i * in / out; }
static __device__ inline size_t window_end(size_t i, size_t in, size_t out) { return ((i + 1) * in + out - 1) / out; }

template <typename real> status adaptive_pool(struct device *d, const tensor *x, tensor *y)
{
    const struct pooling p = pooling_of(x, y);
    const real *px = reals<real>(x);
    real *py = reals<real>(y);
    return each(gpu_enter(d), p.planes * p.s * p.t, [=] __device__(size_t i) {
        const size_t row = i / p.t % p.s, column = i % p.t;
        const size_t top = window_first(row, p.h, p.s), bottom = window_end(row, p.h, p.s);
        const size_t left = window_first(column, p.w, p.t), right = window_end(column, p.w, p.t);
        const real *plane = px + i / (p.s * p.t) * p.h * p.w;
        double sum = 0;
        for (size_t u = top; u < bottom; u++)
            for (size_t v = left; v < right; v++) sum += (double)plane[u * p.w + v];
        py[i] = (real)(sum / (double)((bottom - top) * (right - left)));
    });
}

/* One thread an input: it asks every window that holds it. The first such window of input u is u out / in. */
template <typename real> status adaptive_pool_grad(struct device *d, const tensor *dy, tensor *dx)
{
    const struct pooling p = pooling_of(dx, dy);
    const real *pdy = reals<real>(dy);
    real *out = reals<real>(dx);
    return each(gpu_enter(d), p.planes * p.h * p.w, [=] __device__(size_t i) {
        const size_t u = i / p.w % p.h, v = i % p.w;
        const real *plane = pdy + i / (p.h * p.w) * p.s * p.t;
        real sum = out[i];
        for (size_t a = u * p.s / p.h; a < p.s && window_first(a, p.h, p.s) <= u; a++) {
            const size_t rows = window_end(a, p.h, p.s) - window_first(a, p.h, p.s);
            for (size_t b = v * p.t / p.w; b < p.t && window_first(b, p.w, p.t) <= v; b++) {
                const size_t columns = window_end(b, p.w, p.t) - window_first(b, p.w, p.t);
                sum += plane[a * p.t + b] / (real)(rows * columns);
            }
        }
        out[i] = sum;
    });
}

struct squares { /* a channels-last map in squares of 2 x 2 */
    size_t h, w, c, count;
};

static struct squares squares_of(const tensor *x)
{
    return {x->dim[1], x->dim[2], x->dim[3], x->dim[0] * (x->dim[1] / 2) * (x->dim[2] / 2) * x->dim[3]};
}

/* The offset of the largest number under output i. A NaN counts as the largest; among equals the first. */
template <typename real> static __device__ inline size_t largest(const struct squares &s, const real *x, size_t i)
{
    const size_t ow = s.w / 2, oh = s.h / 2, c = i % s.c, pixel = i / s.c, column = pixel % ow, row = pixel / ow;
    const size_t corner = ((row / oh * s.h + 2 * (row % oh)) * s.w + 2 * column) * s.c + c;
    size_t best = corner;
    for (int k = 1; k < 4; k++) {
        const size_t at = corner + (k & 1 ? s.c : 0) + (k & 2 ? s.w * s.c : 0);
        if (x[at] > x[best] || (x[at] != x[at] && x[best] == x[best])) best = at;
    }
    return best;
}

template <typename real> status max_pool2(struct device *d, const tensor *x, tensor *y)
{
    const struct squares s = squares_of(x);
    const real *px = reals<real>(x);
    real *py = reals<real>(y);
    return each(gpu_enter(d), s.count, [=] __device__(size_t i) { py[i] = px[largest(s, px, i)]; });
}

template <typename real> status max_pool2_grad(struct device *d, const tensor *x, const tensor *dy, tensor *dx)
{
    const struct squares s = squares_of(x);
    const real *px = reals<real>(x), *pdy = reals<real>(dy);
    real *out = reals<real>(dx);
    return each(gpu_enter(d), s.count, [=] __device__(size_t i) { out[largest(s, px, i)] += pdy[i]; });
}

template <typename real> static void enter(struct prims *p)
{
    p->adaptive_pool = adaptive_pool<real>;
    p->adaptive_pool_grad = adaptive_pool_grad<real>;
    p->max_pool2 = max_pool2<real>;
    p->max_pool2_grad = max_pool2_grad<real>;
}

void table_pool(struct prims p[DT_REALS])
{
    enter<float>(&p[DT_F32]);
    enter<double>(&p[DT_F64]);
}
