/* classes.cu - the mean of each class, the two losses over labels, and their derivatives. */
#include "cuda/group.cuh"

/* One thread a column of a class; rows are added in their order. */
template <typename real> status class_mean(struct device *d, const tensor *x, const tensor *labels, tensor *y)
{
    const size_t n = count_of(labels), m = span_of(y, 1, y->rank);
    const int *label = ints(labels);
    const real *px = reals<real>(x);
    real *py = reals<real>(y);
    return each(gpu_enter(d), count_of(y), [=] __device__(size_t i) {
        const size_t own = i / m, column = i % m;
        size_t count = 0;
        double sum = 0;
        for (size_t row = 0; row < n; row++) {
            if ((size_t)label[row] != own) continue;
            sum += (double)px[row * m + column];
            count++;
        }
        py[i] = (real)(count > 1 ? sum / (double)count : sum);
    });
}

template <typename real> status class_mean_grad(struct device *d, const tensor *labels, const tensor *dy, tensor *dx)
{
    struct gpu *g = gpu_enter(d);
    const size_t n = count_of(labels), way = dy->dim[0], m = span_of(dy, 1, dy->rank);
    const int *label = ints(labels);
    const real *pdy = reals<real>(dy);
    real *out = reals<real>(dx);
    void *memory;
    PASS(gpu_scratch(g, way * sizeof(int), &memory));
    int *count = (int *)memory;
    PASS(each(g, way, [=] __device__(size_t own) {
        int rows = 0;
        for (size_t row = 0; row < n; row++) rows += (size_t)label[row] == own;
        count[own] = rows;
    }));
    return each(g, n * m, [=] __device__(size_t i) {
        const size_t own = (size_t)label[i / m];
        out[i] += pdy[own * m + i % m] / (real)count[own];
    });
}

/* loss = (sum of terms [n]) / n, by one block, in a fixed order. */
template <typename real> static status mean_of(struct gpu *g, const double *terms, size_t n, real *loss)
{
    return along(g, {1, n, 1}, [=] __device__(const struct group &all) {
        double sum = 0;
        for (size_t i = all.slot; i < all.n; i += all.slots) sum += terms[i];
        sum = all.sum(sum);
        if (all.first) *loss = (real)(sum / (double)n);
    });
}

/* A row's loss is log(sum exp(x - max)) - (x[label] - max), right also where the probability underflows. */
template <typename real>
status cross_entropy(struct device *d, const tensor *logits, const tensor *labels, tensor *probabilities, tensor *loss)
{
    struct gpu *g = gpu_enter(d);
    const size_t n = count_of(labels), way = logits->dim[logits->rank - 1];
    const int *label = ints(labels);
    const real *px = reals<real>(logits);
    real *pp = reals<real>(probabilities);
    void *memory;
    PASS(gpu_scratch(g, n * sizeof(double), &memory));
    double *losses = (double *)memory;
    PASS(along(g, {n, way, 1}, [=] __device__(const struct group &row) {
        const real *x = px + row.offset;
        double top = -INFINITY, sum = 0;
        for (size_t i = row.slot; i < row.n; i += row.slots) top = fmax(top, (double)x[i]);
        top = row.max(top);
        const size_t own = (size_t)label[row.vector];
        double others = 0; /* a label that is nearly certain: 1 is never written down */
        for (size_t i = row.slot; i < row.n; i += row.slots) {
            const double e = exp((double)x[i] - top);
            sum += e;
            if (i != own) others += e;
        }
        sum = row.sum(sum);
        others = row.sum(others);
        for (size_t i = row.slot; i < row.n; i += row.slots)
            pp[row.offset + i] = (real)(exp((double)x[i] - top) / sum);
        if (row.first) losses[row.vector] = (double)x[own] == top ? log1p(others) : log(sum) - ((double)x[own] - top);
    }));
    return mean_of(g, losses, n, reals<real>(loss));
}

template <typename real>
status cross_entropy_grad(struct device *d, const tensor *probabilities, const tensor *labels, const tensor *dloss,
                          tensor *dlogits)
{
    const size_t n = count_of(labels), way = dlogits->dim[dlogits->rank - 1];
    const int *label = ints(labels);
    const real *pp = reals<real>(probabilities), *upstream = reals<real>(dloss);
    real *out = reals<real>(dlogits);
    return each(gpu_enter(d), n * way, [=] __device__(size_t i) {
        const size_t row = i / way * way, own = row + (size_t)label[i / way];
        double others = 0;
        for (size_t j = row; i == own && j < row + way; j++)
            if (j != own) others += (double)pp[j];
        out[i] += *upstream / (real)n * (i == own ? -(real)others : pp[i]);
    });
}

template <typename real>
status nll(struct device *d, const tensor *log_probabilities, const tensor *labels, tensor *loss)
{
    const size_t n = count_of(labels), way = log_probabilities->dim[log_probabilities->rank - 1];
    const int *label = ints(labels);
    const real *px = reals<real>(log_probabilities);
    real *out = reals<real>(loss);
    return along(gpu_enter(d), {1, n, 1}, [=] __device__(const struct group &all) {
        double sum = 0;
        for (size_t i = all.slot; i < all.n; i += all.slots) sum -= (double)px[i * way + (size_t)label[i]];
        sum = all.sum(sum);
        if (all.first) *out = (real)(sum / (double)n);
    });
}

template <typename real> status nll_grad(struct device *d, const tensor *labels, const tensor *dloss, tensor *dx)
{
    const size_t n = count_of(labels), way = dx->dim[dx->rank - 1];
    const int *label = ints(labels);
    const real *upstream = reals<real>(dloss);
    real *out = reals<real>(dx);
    return each(gpu_enter(d), n,
                [=] __device__(size_t i) { out[i * way + (size_t)label[i]] -= *upstream / (real)n; });
}

template <typename real> static void enter(struct prims *p)
{
    p->class_mean = class_mean<real>;
    p->class_mean_grad = class_mean_grad<real>;
    p->cross_entropy = cross_entropy<real>;
    p->cross_entropy_grad = cross_entropy_grad<real>;
    p->nll = nll<real>;
    p->nll_grad = nll_grad<real>;
}

void table_classes(struct prims p[DT_REALS])
{
    enter<float>(&p[DT_F32]);
    enter<double>(&p[DT_F64]);
}
