/* depthwise.cu - convolution of channels-last maps, each channel by a filter of its own, and its derivatives.
 *
 * One thread a number: neighbours have neighbouring channels of the same pixel, so that every read is contiguous. Places are
 * found by division, which takes several times as long in 64 bits: maps of less than 2^32 numbers are read with 32. The
 * derivative of a map asks each output whose filter lies over a pixel; that of a filter is a sum over all outputs. */
#include "cuda/group.cuh"

struct filters {
    size_t h, w, c, kh, kw, oh, ow;
    struct depthwise_shape s;
};

static struct filters filters_of(const tensor *x, const tensor *w, const tensor *y, struct depthwise_shape s)
{
    return {x->dim[1], x->dim[2], x->dim[3], w->dim[2], w->dim[3], y->dim[1], y->dim[2], s};
}

/* The same in numbers of type `index`. */
template <typename index> struct taps {
    index h, w, c, kh, kw, oh, ow, stride, top, left;
};

template <typename index> static struct taps<index> taps_of(const struct filters &f)
{
    return {(index)f.h,  (index)f.w,  (index)f.c,        (index)f.kh,    (index)f.kw,
            (index)f.oh, (index)f.ow, (index)f.s.stride, (index)f.s.top, (index)f.s.left};
}

/* Output i, of channel c. */
template <typename real, typename index>
static __device__ inline real sum_taps(const struct taps<index> &f, const real *x, const real *w, index i, index c)
{
    const index pixel = i / f.c, line = pixel / f.ow, column = (pixel - line * f.ow) * f.stride;
    const index picture = line / f.oh, row = (line - picture * f.oh) * f.stride;
    real sum = 0;
    for (index u = 0; u < f.kh; u++) {
        if (row + u < f.top || row + u - f.top >= f.h) continue;
        for (index v = 0; v < f.kw; v++) {
            if (column + v < f.left || column + v - f.left >= f.w) continue;
            sum += x[((picture * f.h + row + u - f.top) * f.w + column + v - f.left) * f.c + c] *
                   w[(c * f.kh + u) * f.kw + v];
        }
    }
    return sum;
}

template <typename real, typename index>
static status depthwise_by(struct device *d, const struct depthwise_args *a, tensor *y)
{
    const struct taps<index> f = taps_of<index>(filters_of(a->x, a->w, y, a->shape));
    const real *px = reals<real>(a->x), *pw = reals<real>(a->w), most = (real)a->ceiling;
    const real *scale = a->scale ? reals<real>(a->scale) : NULL, *shift = a->scale ? reals<real>(a->shift) : NULL;
    real *py = reals<real>(y);
    return each(gpu_enter(d), count_of(y), [=] __device__(size_t at) {
        const index i = (index)at, c = i % f.c;
        real z = sum_taps(f, px, pw, i, c);
        if (scale) z = z * scale[c] + shift[c];
        if (most > 0) z = z < 0 ? (real)0 : z > most ? most : z; /* NaN stays */
        py[at] = z;
    });
}

template <typename real> status depthwise(struct device *d, const struct depthwise_args *a, tensor *y)
{
    const bool few = count_of(a->x) <= UINT32_MAX && count_of(y) <= UINT32_MAX;
    return few ? depthwise_by<real, uint32_t>(d, a, y) : depthwise_by<real, size_t>(d, a, y);
}

/* Filters are few numbers, used as they lie. */
static status depthwise_prepare(struct device *, const tensor *, struct conv_ready *out)
{
    *out = {true, 0, NULL};
    return OK;
}

template <typename real>
status depthwise_grad_x(struct device *d, const tensor *w, const tensor *dy, struct depthwise_shape s, tensor *dx)
{
    const struct filters f = filters_of(dx, w, dy, s);
    const real *pw = reals<real>(w), *pdy = reals<real>(dy);
    real *out = reals<real>(dx);
    return each(gpu_enter(d), count_of(dx), [=] __device__(size_t i) {
        const size_t c = i % f.c, pixel = i / f.c, v = pixel % f.w + f.s.left, u = pixel / f.w % f.h + f.s.top;
        const size_t picture = pixel / f.w / f.h * f.oh;
        real sum = out[i];
        for (size_t ky = 0; ky < f.kh && ky <= u; ky++) {
            if ((u - ky) % f.s.stride || (u - ky) / f.s.stride >= f.oh) continue;
            for (size_t kx = 0; kx < f.kw && kx <= v; kx++) {
                if ((v - kx) % f.s.stride || (v - kx) / f.s.stride >= f.ow) continue;
                sum += pw[(c * f.kh + ky) * f.kw + kx] *
                       pdy[((picture + (u - ky) / f.s.stride) * f.ow + (v - kx) / f.s.stride) * f.c + c];
            }
        }
        out[i] = sum;
    });
}

/* Columns of the sum are taps and channels, [kh * kw][c]; its rows all pixels of dy. */
template <typename real>
status depthwise_grad_w(struct device *d, const tensor *x, const tensor *dy, struct depthwise_shape s, tensor *dw)
{
    const struct filters f = filters_of(x, dw, dy, s);
    const size_t rows = span_of(dy, 0, 3), taps = f.kh * f.kw, columns = taps * f.c;
    const real *px = reals<real>(x), *pdy = reals<real>(dy);
    real *out = reals<real>(dw);
    struct gpu *g = gpu_enter(d);
    void *memory;
    if (rows == 0) return OK;
    PASS(gpu_scratch(g, (columns + rows_memory(1, rows, columns)) * sizeof(double), &memory));
    double *sums = (double *)memory;
    PASS(rows_sum<1>(g, rows, columns, sums + columns, sums, [=] __device__(size_t i, size_t j, double *sum) {
        const size_t c = j % f.c, tap = j / f.c, ix = i % f.ow * f.s.stride + tap % f.kw;
        const size_t iy = i / f.ow % f.oh * f.s.stride + tap / f.kw, picture = i / f.ow / f.oh;
        if (iy < f.s.top || iy - f.s.top >= f.h || ix < f.s.left || ix - f.s.left >= f.w) return;
        sum[0] += (double)pdy[i * f.c + c] *
                  (double)px[((picture * f.h + iy - f.s.top) * f.w + ix - f.s.left) * f.c + c];
    }));
    return each(g, columns, [=] __device__(size_t j) { out[j % f.c * taps + j / f.c] += (real)sums[j]; });
}

template <typename real> static void enter(struct prims *p)
{
    p->depthwise = depthwise<real>;
    p->depthwise_prepare = depthwise_prepare;
    p->depthwise_grad_x = depthwise_grad_x<real>;
    p->depthwise_grad_w = depthwise_grad_w<real>;
}

void table_depthwise(struct prims p[DT_REALS])
{
    enter<float>(&p[DT_F32]);
    enter<double>(&p[DT_F64]);
}
