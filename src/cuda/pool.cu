/* pool.cu - average pooling to a given size, the largest of each 2 x 2 square and of any window, and their derivatives. */
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

struct windows { /* over a channels-last map */
    size_t h, w, c, oh, ow;
    struct pool_shape s;
};

static struct windows windows_of(const tensor *x, const tensor *y, struct pool_shape s)
{
    return {x->dim[1], x->dim[2], x->dim[3], y->dim[1], y->dim[2], s};
}

/* The offset of the largest number under output i, as above; places beyond the edges never win. */
template <typename real> static __device__ inline size_t largest(const struct windows &p, const real *x, size_t i)
{
    const size_t c = i % p.c, pixel = i / p.c, column = pixel % p.ow * p.s.stride, row = pixel / p.ow % p.oh * p.s.stride;
    const size_t top = row > p.s.pad ? row - p.s.pad : 0, left = column > p.s.pad ? column - p.s.pad : 0;
    const size_t below = row + p.s.size - p.s.pad, beside = column + p.s.size - p.s.pad;
    const size_t bottom = below < p.h ? below : p.h, right = beside < p.w ? beside : p.w;
    const size_t picture = pixel / p.ow / p.oh * p.h;
    size_t best = ((picture + top) * p.w + left) * p.c + c;
    for (size_t u = top; u < bottom; u++)
        for (size_t v = left; v < right; v++) {
            const size_t at = ((picture + u) * p.w + v) * p.c + c;
            if (x[at] > x[best] || (x[at] != x[at] && x[best] == x[best])) best = at;
        }
    return best;
}

template <typename real> status max_pool(struct device *d, const tensor *x, struct pool_shape s, tensor *y)
{
    const struct windows p = windows_of(x, y, s);
    const real *px = reals<real>(x);
    real *py = reals<real>(y);
    return each(gpu_enter(d), count_of(y), [=] __device__(size_t i) { py[i] = px[largest(p, px, i)]; });
}

/* One thread an input: it asks every window that holds it, in their order. */
template <typename real>
status max_pool_grad(struct device *d, const tensor *x, const tensor *dy, struct pool_shape s, tensor *dx)
{
    const struct windows p = windows_of(x, dy, s);
    const real *px = reals<real>(x), *pdy = reals<real>(dy);
    real *out = reals<real>(dx);
    return each(gpu_enter(d), count_of(dx), [=] __device__(size_t i) {
        const size_t c = i % p.c, pixel = i / p.c, v = pixel % p.w + p.s.pad, u = pixel / p.w % p.h + p.s.pad;
        const size_t picture = pixel / p.w / p.h;
        real sum = out[i];
        for (size_t a = u < p.s.size ? 0 : (u - p.s.size) / p.s.stride + 1; a < p.oh && a * p.s.stride <= u; a++)
            for (size_t b = v < p.s.size ? 0 : (v - p.s.size) / p.s.stride + 1; b < p.ow && b * p.s.stride <= v; b++) {
                const size_t at = ((picture * p.oh + a) * p.ow + b) * p.c + c;
                if (largest(p, px, at) == i) sum += pdy[at];
            }
        out[i] = sum;
    });
}

template <typename real> static void enter(struct prims *p)
{
    p->max_pool = max_pool<real>;
    p->max_pool_grad = max_pool_grad<real>;
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
