/* distance.cu - squared distances of all pairs of rows, and the derivative.
 *
 * Distances are sums of squared differences: the expansion |a|^2 - 2ab + |b|^2 would lose all digits for points that are
 * near each other and far from zero. */
#include "cuda/group.cuh"

template <typename real> status sqdist(struct device *d, const tensor *a, const tensor *b, tensor *y)
{
    const struct matrices<real> ma = matrices_of<real>(a), mb = matrices_of<real>(b), my = matrices_of<real>(y);
    const size_t m = ma.rows, n = mb.rows, depth = ma.columns;
    return along(gpu_enter(d), {my.batch * m * n, depth, 1}, [=] __device__(const struct group &g) {
        const size_t pair = g.n ? g.vector : 0, batch = pair / (m * n);
        const real *pa = ma.at(batch) + pair / n % m * depth, *pb = mb.at(batch) + pair % n * depth;
        double sum = 0;
        for (size_t i = g.slot; i < g.n; i += g.slots) {
            const double apart = (double)pa[i] - (double)pb[i];
            sum += apart * apart;
        }
        sum = g.sum(sum);
        if (g.first) my.data[g.vector] = (real)sum;
    });
}

/* One thread a number of dx: dx += sum over the other side's rows j of 2 dy[j] (own - other[j]). A side whose one matrix
 * served all gets the sum over the batch. */
template <typename real>
status sqdist_grad(struct device *d, const tensor *a, const tensor *b, const tensor *dy, bool to_b, tensor *dx)
{
    const struct matrices<real> own = matrices_of<real>(to_b ? b : a), other = matrices_of<real>(to_b ? a : b);
    const struct matrices<real> my = matrices_of<real>(dy);
    const size_t depth = own.columns;
    real *out = reals<real>(dx);
    return each(gpu_enter(d), own.batch * own.rows * depth, [=] __device__(size_t i) {
        const size_t column = i % depth, row = i / depth % own.rows, matrix = i / (depth * own.rows);
        const size_t first = own.batch == 1 ? 0 : matrix, end = own.batch == 1 ? my.batch : matrix + 1;
        const double mine = (double)own.data[i];
        double sum = 0;
        for (size_t t = first; t < end; t++) {
            const real *theirs = other.at(t) + column, *g = my.at(t);
            for (size_t j = 0; j < other.rows; j++) {
                const double dyj = (double)(to_b ? g[j * my.columns + row] : g[row * my.columns + j]);
                sum += 2 * dyj * (mine - (double)theirs[j * depth]);
            }
        }
        out[i] += (real)sum;
    });
}

template <typename real> static void enter(struct prims *p)
{
    p->sqdist = sqdist<real>;
    p->sqdist_grad = sqdist_grad<real>;
}

void table_distance(struct prims p[DT_REALS])
{
    enter<float>(&p[DT_F32]);
    enter<double>(&p[DT_F64]);
}
