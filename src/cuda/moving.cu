/* moving.cu - numbers to other places: axes in another order, and equally spaced slices. */
#include "cuda/gpu.cuh"

struct order {
    int rank;
    size_t dim[MAX_RANK], step[MAX_RANK]; /* of y's axes, innermost first: sizes, and steps in x */
};

static struct order order_of(const tensor *x, const int *axes)
{
    struct order o = {};
    for (int i = x->rank - 1; i >= 0; i--) {
        const size_t n = x->dim[axes[i]], step = span_of(x, axes[i] + 1, x->rank);
        if (n == 1) continue;
        if (o.rank && step == o.dim[o.rank - 1] * o.step[o.rank - 1]) {
            o.dim[o.rank - 1] *= n;
        } else {
            o.dim[o.rank] = n;
            o.step[o.rank++] = step;
        }
    }
    return o;
}

template <typename real> status permute(struct device *d, const tensor *x, const int *axes, tensor *y)
{
    const struct order o = order_of(x, axes);
    const real *px = reals<real>(x);
    real *py = reals<real>(y);
    return each(gpu_enter(d), count_of(x), [=] __device__(size_t i) {
        size_t at = 0, rest = i;
        for (int k = 0; k < o.rank; k++) {
            at += (k + 1 < o.rank ? rest % o.dim[k] : rest) * o.step[k];
            rest /= o.dim[k];
        }
        py[i] = px[at];
    });
}

template <typename real>
status copy_slices(struct device *d, const tensor *x, size_t x_offset, size_t x_step, size_t slices, size_t length,
                   size_t y_step, size_t y_offset, bool add, tensor *y)
{
    const real *px = reals<real>(x) + x_offset;
    real *py = reals<real>(y) + y_offset;
    return each(gpu_enter(d), slices * length, [=] __device__(size_t i) {
        const size_t slice = i / length, at = i % length;
        const real value = px[slice * x_step + at];
        real *to = py + slice * y_step + at;
        *to = add ? *to + value : value;
    });
}

template <typename real> static void enter(struct prims *p)
{
    p->permute = permute<real>;
    p->copy_slices = copy_slices<real>;
}

void table_moving(struct prims p[DT_REALS])
{
    enter<float>(&p[DT_F32]);
    enter<double>(&p[DT_F64]);
}
