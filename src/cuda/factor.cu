/* factor.cu - LU and Cholesky factors of a batch of matrices, one block of threads a matrix. */
#include "cuda/block.cuh"

template <typename real>
__global__ void lu_kernel(struct matrices<real> a, struct matrices<real> lu, int *pivot, unsigned long long *fault)
{
    __shared__ double shared[THREADS];
    const size_t n = lu.rows, matrix = blockIdx.x;
    const real *from = a.at(matrix);
    real *to = lu.data + matrix * n * n;
    for (size_t i = threadIdx.x; i < n * n; i += THREADS) to[i] = from[i];
    __syncthreads();
    size_t good = block_lu(n, to, pivot + matrix * n, 0, shared);
    if (threadIdx.x) return;
    for (size_t i = good; i-- > 0;) /* NaN and infinity reach the diagonal from wherever they stand */
        if (!isfinite((double)to[i * n + i])) good = i;
    if (good < n) fault_report(fault, FAULT_SINGULAR, matrix, good);
}

template <typename real> status lu(struct device *d, const tensor *a, tensor *factors, tensor *pivot)
{
    struct gpu *g = gpu_enter(d);
    const struct matrices<real> from = matrices_of<real>(a), to = matrices_of<real>(factors);
    if (to.batch == 0 || to.rows == 0) return OK;
    lu_kernel<<<(unsigned)to.batch, THREADS, 0, g->stream>>>(from, to, ints(pivot), g->fault);
    return LAUNCHED(g, "lu");
}

/* Column by column; what is right of a finished column is updated at once. */
template <typename real>
__global__ void cholesky_kernel(struct matrices<real> a, struct matrices<real> l, unsigned long long *fault)
{
    const size_t n = l.rows, matrix = blockIdx.x;
    const real *from = a.at(matrix);
    real *to = l.data + matrix * n * n;
    for (size_t i = threadIdx.x; i < n * n; i += THREADS) to[i] = i % n <= i / n ? from[i] : (real)0;
    for (size_t k = 0; k < n; k++) {
        __syncthreads();
        const real square = to[k * n + k];
        if (!(square > 0 && isfinite((double)square))) {
            if (threadIdx.x == 0) fault_report(fault, FAULT_NOT_DEFINITE, matrix, k);
            return;
        }
        const real top = sqrt(square);
        __syncthreads();
        for (size_t i = k + threadIdx.x; i < n; i += THREADS) to[i * n + k] = i == k ? top : to[i * n + k] / top;
        __syncthreads();
        const size_t side = n - k - 1;
        for (size_t e = threadIdx.x; e < side * side; e += THREADS) {
            const size_t i = k + 1 + e / side, j = k + 1 + e % side;
            if (j <= i) to[i * n + j] -= to[i * n + k] * to[j * n + k];
        }
    }
}

template <typename real> status cholesky(struct device *d, const tensor *a, tensor *l)
{
    struct gpu *g = gpu_enter(d);
    const struct matrices<real> from = matrices_of<real>(a), to = matrices_of<real>(l);
    if (to.batch == 0 || to.rows == 0) return OK;
    cholesky_kernel<<<(unsigned)to.batch, THREADS, 0, g->stream>>>(from, to, g->fault);
    return LAUNCHED(g, "cholesky");
}

template <typename real> static void enter(struct prims *p)
{
    p->lu = lu<real>;
    p->cholesky = cholesky<real>;
}

void table_factor(struct prims p[DT_REALS])
{
    enter<float>(&p[DT_F32]);
    enter<double>(&p[DT_F64]);
}
