/* qr.cu - thin QR by Householder reflections, one block of threads a matrix, with r's diagonal made non-negative.
 *
 * The work is done on the transposed matrix, so that columns are contiguous. Reflector j is I - beta v v^T with v in
 * column j below (and on) the diagonal. A column that vanishes gets no reflector and 0 on r's diagonal; q is
 * orthonormal all the same. */
#include "cuda/block.cuh"
#include <cfloat>

enum { WARP = 32, WARPS = THREADS / WARP };

/* columns [from, to) of x, each `m` long, reflected below row i; a warp takes a column. */
template <typename real>
static __device__ void reflect(const real *v, double beta, size_t i, size_t m, real *x, size_t from, size_t to)
{
    const unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    for (size_t j = from + warp; j < to; j += WARPS) {
        real *column = x + j * m;
        double dot = 0;
        for (size_t p = i + lane; p < m; p += WARP) dot += (double)v[p] * (double)column[p];
        for (unsigned half = WARP / 2; half; half /= 2) dot += __shfl_xor_sync(0xffffffffu, dot, half);
        for (size_t p = i + lane; p < m; p += WARP) column[p] = (real)((double)column[p] - beta * dot * (double)v[p]);
    }
    __syncthreads();
}

/* Makes v[i..m) the vector that reflects it onto its first axis; *diag is what it becomes there. It is scaled to largest
 * element 1 first, so that squares neither overflow nor vanish. */
template <typename real>
static __device__ double reflector(real *v, size_t i, size_t m, double *diag, double *shared)
{
    double most = 0, square = 0;
    for (size_t p = i + threadIdx.x; p < m; p += THREADS) {
        const double size = fabs((double)v[p]);
        if (size > most || size != size) most = size;
    }
    const double scale = block_max(most, shared), least = sizeof(real) == sizeof(float) ? FLT_MIN : DBL_MIN;
    *diag = 0;
    if (scale < least) return 0;
    for (size_t p = i + threadIdx.x; p < m; p += THREADS) {
        v[p] = (real)((double)v[p] / scale);
        square += (double)v[p] * (double)v[p];
    }
    const double norm = sqrt(block_sum(square, shared)), head = (double)v[i];
    __syncthreads();
    if (threadIdx.x == 0) v[i] = (real)(head < 0 ? head - norm : head + norm); /* away from cancellation */
    __syncthreads();
    *diag = (head < 0 ? norm : -norm) * scale;
    return 1 / (norm * (head < 0 ? norm - head : norm + head)); /* 2 / |v|^2 */
}

/* work: for each matrix v [n, m], q [n, m] and, in double, beta [n] and diag [n] */
template <typename real>
__global__ void qr_kernel(struct matrices<real> a, struct matrices<real> q, struct matrices<real> r, real *work,
                          double *numbers)
{
    __shared__ double shared[THREADS];
    const size_t matrix = blockIdx.x, m = q.rows, n = q.columns;
    const real *from = a.at(matrix);
    real *v = work + 2 * matrix * n * m, *columns = v + n * m;
    double *beta = numbers + 2 * matrix * n, *diag = beta + n;
    for (size_t e = threadIdx.x; e < n * m; e += THREADS) {
        v[e % n * m + e / n] = from[e];
        columns[e] = e % m == e / m ? (real)1 : (real)0;
    }
    __syncthreads();
    for (size_t j = 0; j < n; j++) {
        double own;
        const double b = reflector(v + j * m, j, m, &own, shared);
        if (threadIdx.x == 0) beta[j] = b, diag[j] = own;
        reflect(v + j * m, b, j, m, v, j + 1, n);
    }
    for (size_t j = n; j-- > 0;) reflect(v + j * m, beta[j], j, m, columns, j, n);
    real *to_q = q.data + matrix * m * n, *to_r = r.data + matrix * n * n;
    for (size_t e = threadIdx.x; e < n * m; e += THREADS) {
        const size_t j = e % n;
        to_q[e] = diag[j] < 0 ? -columns[j * m + e / n] : columns[j * m + e / n];
    }
    for (size_t e = threadIdx.x; e < n * n; e += THREADS) {
        const size_t i = e / n, j = e % n;
        const double x = j < i ? 0 : j == i ? diag[i] : (double)v[j * m + i];
        to_r[e] = (real)(diag[i] < 0 ? -x : x);
    }
}

template <typename real> status qr(struct device *d, const tensor *a, tensor *q, tensor *r)
{
    struct gpu *g = gpu_enter(d);
    const struct matrices<real> mq = matrices_of<real>(q);
    struct cursor at = {};
    real *work = NULL;
    double *numbers = NULL;
    void *memory;
    if (mq.batch == 0 || mq.rows == 0 || mq.columns == 0) return OK;
    for (int pass = 0; pass < 2; pass++) {
        at.bytes = 0;
        work = cursor_take<real>(&at, 2 * mq.batch * mq.rows * mq.columns);
        numbers = cursor_take<double>(&at, 2 * mq.batch * mq.columns);
        if (pass == 0) PASS(gpu_scratch(g, at.bytes, &memory));
        at.at = (char *)memory;
    }
    qr_kernel<<<(unsigned)mq.batch, THREADS, 0, g->stream>>>(matrices_of<real>(a), mq, matrices_of<real>(r), work,
                                                           numbers);
    return LAUNCHED(g, "qr");
}

template <typename real> static void enter(struct prims *p) { p->qr = qr<real>; }

void table_qr(struct prims p[DT_REALS])
{
    enter<float>(&p[DT_F32]);
    enter<double>(&p[DT_F64]);
}
