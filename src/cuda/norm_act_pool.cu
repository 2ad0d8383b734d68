/* norm_act_pool.cu - batch norm, a normalised residual added, activation and 2x2 pooling in one pass, and the derivative.
 *
 * With u the sum of the normalised inputs, a result is leaky_relu(u) of the pixel with the largest u among four, or of the
 * one there is. With g the gradient of u (dy where the pixel was chosen, times the slope where u is not above 0),
 * e = x - mean, i = 1 / deviation and sums over the m pixels of a channel:
 *     dbias = sum g,  dgain = i sum g e,  dx = gain i (g - sum g / m - e i i sum g e / m),
 * where the last two terms are there only when mean and variance are x's own. Which pixel was chosen is found out again:
 * that is cheaper than to remember it. */
#include "cuda/group.cuh"
#include "cuda/mixed.cuh"

template <typename real> struct norms {
    const real *x[2]; /* the second is NULL without a residual */
    const real *mean[2], *bias[2];
    real *scale[2], *slope[2], *shift[2]; /* [c]; dx = scale g + slope (x - mean) + shift */
    real low;                             /* the activation's slope */
    bool pool;
    size_t c, h, w, oh, ow, results; /* pixels of a result: 4 when pooled; h and w count only then */

    __device__ real centred(int of, size_t at, size_t j) const { return x[of][at] - mean[of][j]; }
    __device__ real unit(size_t at, size_t j) const
    {
        real u = centred(0, at, j) * scale[0][j] + bias[0][j];
        if (x[1]) u += centred(1, at, j) * scale[1][j] + bias[1][j];
        return u;
    }
    /* The offset of the pixel that result `pixel` takes in channel j: the first of the largest, a NaN before all. */
    __device__ size_t chosen(size_t pixel, size_t j) const
    {
        if (!pool) return pixel * c + j;
        const size_t row = pixel / ow, corner = ((row / oh * h + 2 * (row % oh)) * w + 2 * (pixel % ow)) * c + j;
        size_t best = corner;
        real top = unit(corner, j);
        for (int k = 1; k < 4; k++) {
            const size_t at = corner + (k & 1 ? c : 0) + (k & 2 ? w * c : 0);
            const real u = unit(at, j);
            if (u > top || (u != u && top == top)) best = at, top = u;
        }
        return best;
    }
    __device__ real bent(size_t at, size_t j, real dy) const { return unit(at, j) <= 0 ? low * dy : dy; }
};

/* Everything but the memory of scale, slope and shift. */
template <typename real> static struct norms<real> norms_of(const struct norm_act_args *a)
{
    const tensor *x = a->of[0].x;
    struct norms<real> n = {};
    for (int i = 0; i < 2 && a->of[i].x; i++) {
        n.x[i] = reals<real>(a->of[i].x);
        n.mean[i] = reals<real>(a->of[i].mean);
        n.bias[i] = reals<real>(a->of[i].bias);
    }
    n.low = (real)a->slope;
    n.pool = a->pool;
    n.c = x->dim[x->rank - 1];
    n.results = span_of(x, 0, x->rank - 1);
    if (!n.pool) return n;
    n.h = x->dim[1];
    n.w = x->dim[2];
    n.oh = n.h / 2;
    n.ow = n.w / 2;
    n.results = x->dim[0] * n.oh * n.ow;
    return n;
}

/* Memory for the vectors of both inputs, and for `doubles` numbers besides. */
template <typename real> static status reserve(struct gpu *g, struct norms<real> *n, size_t doubles, double **out)
{
    struct cursor at = {};
    void *memory;
    for (int pass = 0; pass < 2; pass++) {
        at.bytes = 0;
        *out = cursor_take<double>(&at, doubles);
        for (int i = 0; i < 2; i++) {
            n->scale[i] = cursor_take<real>(&at, n->c);
            n->slope[i] = cursor_take<real>(&at, n->c);
            n->shift[i] = cursor_take<real>(&at, n->c);
        }
        if (pass == 0) PASS(gpu_scratch(g, at.bytes, &memory));
        at.at = (char *)memory;
    }
    return OK;
}

template <typename real>
static status fill_scales(struct gpu *g, const struct norm_act_args *a, const struct norms<real> *n)
{
    for (int i = 0; i < 2 && a->of[i].x; i++) {
        const real *gain = reals<real>(a->of[i].gain), *variance = reals<real>(a->of[i].variance);
        const double epsilon = a->of[i].epsilon;
        real *scale = n->scale[i];
        PASS(each(g, n->c, [=] __device__(size_t j) {
            scale[j] = (real)((double)gain[j] / sqrt((double)variance[j] + epsilon));
        }));
    }
    return OK;
}

template <typename real> status norm_act_pool(struct device *d, const struct norm_act_args *a, tensor *y)
{
    struct gpu *g = gpu_enter(d);
    struct norms<real> s = norms_of<real>(a);
    double *none;
    PASS(reserve(g, &s, 0, &none));
    PASS(fill_scales(g, a, &s));
    const struct norms<real> n = s;
    real *py = reals<real>(y);
    return each(g, n.results * n.c, [=] __device__(size_t i) {
        const size_t j = i % n.c;
        const real u = n.unit(n.chosen(i / n.c, j), j);
        py[i] = u <= 0 ? n.low * u : u;
    });
}

/* dgain and dbias of one input from the sums [3, c], and what its dx is made of. */
template <typename real>
static status finish(struct gpu *g, const struct norm_act_args *a, int of, bool batch, const struct norms<real> *n,
                     const double *sums, const struct norm_act_grads *to)
{
    const real *gain = reals<real>(a->of[of].gain), *variance = reals<real>(a->of[of].variance);
    const double epsilon = a->of[of].epsilon, m = (double)(count_of(a->of[of].x) / size_max(1, n->c));
    real *dgain = reals<real>(to->of[of].gain), *dbias = reals<real>(to->of[of].bias);
    real *slope = n->slope[of], *shift = n->shift[of];
    const size_t c = n->c;
    return each(g, c, [=] __device__(size_t j) {
        const double inverse = 1 / sqrt((double)variance[j] + epsilon), scale = (double)gain[j] * inverse;
        const double sum = sums[j], product = sums[(size_t)(1 + of) * c + j];
        if (dbias) dbias[j] += (real)sum;
        if (dgain) dgain[j] += (real)(product * inverse);
        slope[j] = (real)(batch ? -scale * inverse * inverse * product / m : 0);
        shift[j] = (real)(batch ? -scale * sum / m : 0);
    });
}

/* One thread a number of the input. A pixel that no square covers is reached by the statistics only. */
template <typename real>
static status give(struct gpu *g, const struct norms<real> n, size_t count, const real *dy, int of, bool add, real *dx)
{
    return each(g, count, [=] __device__(size_t at) {
        const size_t j = at % n.c, pixel = at / n.c;
        size_t result = pixel;
        bool covered = true;
        if (n.pool) {
            const size_t column = pixel % n.w / 2, row = pixel / n.w % n.h / 2;
            covered = column < n.ow && row < n.oh;
            result = (pixel / (n.w * n.h) * n.oh + row) * n.ow + column;
        }
        const real own = covered && n.chosen(result, j) == at ? n.bent(at, j, dy[result * n.c + j]) : (real)0;
        const real e = n.scale[of][j] * own + (n.slope[of][j] * n.centred(of, at, j) + n.shift[of][j]);
        dx[at] = add ? dx[at] + e : e;
    });
}

template <typename real>
status norm_act_pool_grad(struct device *d, const struct norm_act_args *a, bool batch, const tensor *dy,
                          const struct norm_act_grads *to)
{
    struct gpu *g = gpu_enter(d);
    struct norms<real> s = norms_of<real>(a);
    const size_t c = s.c;
    const real *pdy = reals<real>(dy);
    double *sums;
    PASS(reserve(g, &s, 3 * c + rows_memory(3, s.results, c), &sums));
    PASS(fill_scales(g, a, &s));
    const struct norms<real> n = s;
    PASS(rows_sum<3>(g, n.results, c, sums + 3 * c, sums, [=] __device__(size_t i, size_t j, double *sum) {
        const size_t at = n.chosen(i, j);
        const double own = (double)n.bent(at, j, pdy[i * c + j]);
        sum[0] += own;
        sum[1] += own * (double)n.centred(0, at, j);
        if (n.x[1]) sum[2] += own * (double)n.centred(1, at, j);
    }));
    for (int i = 0; i < 2 && a->of[i].x; i++) {
        PASS(finish(g, a, i, batch, &n, sums, to));
        if (to->of[i].x)
            PASS(give(g, n, count_of(a->of[i].x), pdy, i, to->of[i].add, reals<real>(to->of[i].x)));
    }
    return OK;
}

static status norm_act_pool_f32(struct device *d, const struct norm_act_args *a, tensor *y)
{
    return is_half(y) ? norm_half(gpu_enter(d), a, y) : norm_act_pool<float>(d, a, y);
}

static status norm_act_pool_grad_f32(struct device *d, const struct norm_act_args *a, bool batch, const tensor *dy,
                                     const struct norm_act_grads *to)
{
    return is_half(dy) ? norm_half_grad(gpu_enter_beside(d), a, batch, dy, to)
                       : norm_act_pool_grad<float>(d, a, batch, dy, to);
}

template <typename real> static void enter(struct prims *p)
{
    p->norm_act_pool = norm_act_pool<real>;
    p->norm_act_pool_grad = norm_act_pool_grad<real>;
}

void table_norm_act_pool(struct prims p[DT_REALS])
{
    enter<float>(&p[DT_F32]);
    enter<double>(&p[DT_F64]);
    p[DT_F32].norm_act_pool = norm_act_pool_f32;
    p[DT_F32].norm_act_pool_grad = norm_act_pool_grad_f32;
}
