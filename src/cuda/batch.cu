/* batch.cu - batch normalisation: statistics of each channel of [rows, c], running ones, the map itself, its derivative.
 *
 * The mean is found first and the squares are summed around it, both in double, so nothing cancels. With
 * z = (x - mean) / sqrt(variance + epsilon) and a = gain / sqrt(variance + epsilon), sums over the rows:
 *     dbias = sum dy,  dgain = sum dy z,  dx = a (dy - sum dy / rows - z sum dy z / rows),
 * where the last two terms are there only when mean and variance are x's own. */
#include "cuda/group.cuh"
#include "cuda/mixed.cuh"

static size_t channels_of(const tensor *x) { return x->dim[x->rank - 1]; }
static size_t rows_of(const tensor *x) { return span_of(x, 0, x->rank - 1); }

template <typename real> status batch_stats(struct device *d, const tensor *x, tensor *mean, tensor *variance)
{
    struct gpu *g = gpu_enter(d);
    const size_t c = channels_of(x), rows = rows_of(x);
    const real *px = reals<real>(x);
    real *pm = reals<real>(mean), *pv = reals<real>(variance);
    void *memory;
    PASS(gpu_scratch(g, (rows_memory(1, rows, c) + 2 * c) * sizeof(double), &memory));
    double *sum = (double *)memory, *square = sum + c, *rest = square + c;
    PASS(rows_sum<1>(g, rows, c, rest, sum,
                     [=] __device__(size_t i, size_t j, double *s) { s[0] += (double)px[i * c + j]; }));
    PASS(rows_sum<1>(g, rows, c, rest, square, [=] __device__(size_t i, size_t j, double *s) {
        const double apart = (double)px[i * c + j] - sum[j] / (double)rows;
        s[0] += apart * apart;
    }));
    return each(g, c, [=] __device__(size_t j) {
        pm[j] = (real)(sum[j] / (double)rows);
        pv[j] = (real)(square[j] / (double)rows);
    });
}

template <typename real>
status batch_running(struct device *d, const tensor *mean, const tensor *variance, double momentum, double unbias,
                     tensor *running_mean, tensor *running_variance)
{
    const real *pm = reals<real>(mean), *pv = reals<real>(variance);
    real *rm = reals<real>(running_mean), *rv = reals<real>(running_variance);
    return each(gpu_enter(d), count_of(mean), [=] __device__(size_t j) {
        rm[j] = (real)((1 - momentum) * (double)rm[j] + momentum * (double)pm[j]);
        rv[j] = (real)((1 - momentum) * (double)rv[j] + momentum * unbias * (double)pv[j]);
    });
}

template <typename real>
status batch_norm(struct device *d, const tensor *x, const tensor *mean, const tensor *variance, const tensor *gain,
                  const tensor *bias, double epsilon, tensor *y)
{
    struct gpu *g = gpu_enter(d);
    const size_t c = channels_of(x);
    const real *px = reals<real>(x), *pm = reals<real>(mean), *pv = reals<real>(variance), *pg = reals<real>(gain);
    const real *pb = reals<real>(bias);
    real *py = reals<real>(y);
    void *memory;
    PASS(gpu_scratch(g, c * sizeof(real), &memory));
    real *scale = (real *)memory;
    PASS(each(g, c, [=] __device__(size_t j) { scale[j] = (real)((double)pg[j] / sqrt((double)pv[j] + epsilon)); }));
    return each(g, count_of(x), [=] __device__(size_t i) {
        const size_t j = i % c;
        py[i] = (px[i] - pm[j]) * scale[j] + pb[j];
    });
}

template <typename real>
status batch_fold(struct device *d, const tensor *mean, const tensor *variance, const tensor *gain, const tensor *bias,
                  double epsilon, tensor *scale, tensor *shift)
{
    const real *pm = reals<real>(mean), *pv = reals<real>(variance), *pg = reals<real>(gain), *pb = reals<real>(bias);
    real *to_scale = reals<real>(scale), *to_shift = reals<real>(shift);
    return each(gpu_enter(d), count_of(mean), [=] __device__(size_t j) {
        const double a = (double)pg[j] / sqrt((double)pv[j] + epsilon);
        to_scale[j] = (real)a;
        to_shift[j] = (real)((double)pb[j] - a * (double)pm[j]);
    });
}

/* Each channel of dx is scale dy + slope (x - mean) + shift; c numbers each. */
template <typename real>
status batch_norm_grad(struct device *d, const tensor *x, const tensor *mean, const tensor *variance,
                       const tensor *gain, const tensor *dy, double epsilon, bool batch, tensor *dx, tensor *dgain,
                       tensor *dbias)
{
    struct gpu *g = gpu_enter(d);
    const size_t c = channels_of(x), rows = rows_of(x);
    const real *px = reals<real>(x), *pm = reals<real>(mean), *pv = reals<real>(variance), *pg = reals<real>(gain);
    const real *pdy = reals<real>(dy);
    real *out = reals<real>(dx), *to_gain = reals<real>(dgain), *to_bias = reals<real>(dbias);
    void *memory;
    PASS(gpu_scratch(g, (rows_memory(2, rows, c) + 2 * c) * sizeof(double) + 3 * c * sizeof(real), &memory));
    double *sums = (double *)memory, *rest = sums + 2 * c;
    real *scale = (real *)(rest + rows_memory(2, rows, c)), *slope = scale + c, *shift = slope + c;
    PASS(rows_sum<2>(g, rows, c, rest, sums, [=] __device__(size_t i, size_t j, double *s) {
        const double up = (double)pdy[i * c + j];
        s[0] += up;
        s[1] += up * ((double)px[i * c + j] - (double)pm[j]);
    }));
    PASS(each(g, c, [=] __device__(size_t j) {
        const double inverse = 1 / sqrt((double)pv[j] + epsilon), a = (double)pg[j] * inverse;
        const double sum = sums[j], product = sums[c + j] * inverse;
        if (to_bias) to_bias[j] += (real)sum;
        if (to_gain) to_gain[j] += (real)product;
        scale[j] = (real)a;
        slope[j] = (real)(batch ? -a * inverse * product / (double)rows : 0);
        shift[j] = (real)(batch ? -a * sum / (double)rows : 0);
    }));
    if (!out) return OK;
    return each(g, count_of(x), [=] __device__(size_t i) {
        const size_t j = i % c;
        out[i] += scale[j] * pdy[i] + (slope[j] * (px[i] - pm[j]) + shift[j]);
    });
}

static status batch_stats_f32(struct device *d, const tensor *x, tensor *mean, tensor *variance)
{
    return is_half(x) ? stats_half(gpu_enter(d), x, mean, variance) : batch_stats<float>(d, x, mean, variance);
}

template <typename real> static void enter(struct prims *p)
{
    p->batch_stats = batch_stats<real>;
    p->batch_running = batch_running<real>;
    p->batch_norm = batch_norm<real>;
    p->batch_fold = batch_fold<real>;
    p->batch_norm_grad = batch_norm_grad<real>;
}

void table_batch(struct prims p[DT_REALS])
{
    enter<float>(&p[DT_F32]);
    enter<double>(&p[DT_F64]);
    p[DT_F32].batch_stats = batch_stats_f32;
}
