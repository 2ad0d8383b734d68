/* walk.cuh - the mutual walk on the GPU: what its files share.
 *
 * Notation (docs/mcl.md): one query has rq features, the support has m = way * rs. phi [rq, m] are their cosines;
 * A = softmax of gamma phi along rows (query -> support), B = softmax of beta phi along columns (support -> query). The
 * weights w [rq] solve G w = (1 - a^2) first + a^2/rq with G = I - a^2 B A^T + (a^2/rq) 1 1^T and
 * first = (1 + a B 1) / (rq + a m); pi(S) = A^T w. G is factored in double whatever the type: this is the one solver here,
 * whichever was asked for, since all give the same numbers.
 *
 * Files: walk.cu (the episode: products by cuBLAS, launches), walk_forward.cuh (one query's transitions, weights and
 * results), walk_backward.cuh (the derivative). The quicker way in single precision is walk_f32.cu. */
#ifndef CUDA_WALK_CUH
#define CUDA_WALK_CUH
#include "cuda/block.cuh"

enum { WARP = 32, WARPS = THREADS / WARP };

template <typename real> struct walk {
    size_t nq, way, channels, rs, rq, m;
    double gamma, beta, alpha;
    bool walks_back; /* alpha > 0 or pi(q) wanted: B is needed */
    bool differentiates;
    bool in_shared; /* G lies in shared memory */
    /* working memory */
    real *unit_query, *unit_support;       /* [nq * rq, channels], [m, channels] */
    real *query_inverse, *support_inverse; /* [nq * rq], [m] inverse norms of the raw ones */
    real *phi, *a, *b;                     /* [nq, rq, m] */
    real *k;                               /* [nq, rq, rq] B A^T */
    double *g;                             /* [nq, rq, rq], or NULL: in shared memory */
    int *pivot;                            /* [nq, rq] */
    double *row_max, *row_inverse, *first, *w, *lam; /* [nq, rq] */
    double *pi, *v, *t, *tq;                         /* [nq, m] */
    double *losses;                                  /* [nq] */
    real *d_unit_query, *d_unit_support;             /* as their namesakes */
    /* the caller's arrays, each may be NULL */
    real *prob, *log_prob, *pi_support, *pi_query;
    const int *labels;
    const real *d_prob, *d_log_prob, *d_pi_support, *d_pi_query;
    unsigned long long *fault;
};

/* One query's share of them. */
template <typename real> struct walker {
    size_t n;
    real *phi, *a, *b, *k;
    double *g;
    int *pivot;
    double *row_max, *row_inverse, *first, *w, *lam, *pi, *v, *t, *tq;
    double *shared; /* [THREADS] */
};

template <typename real>
static __device__ inline struct walker<real> walker_of(const struct walk<real> &w, double *own_g, double *shared)
{
    const size_t n = blockIdx.x, matrix = n * w.rq * w.m, row = n * w.rq, column = n * w.m;
    struct walker<real> q;
    q.n = n;
    q.phi = w.phi + matrix;
    q.a = w.a + matrix;
    q.b = w.b + matrix;
    q.k = w.k + row * w.rq;
    q.g = w.in_shared ? own_g : w.g + row * w.rq;
    q.pivot = w.pivot + row;
    q.row_max = w.row_max + row;
    q.row_inverse = w.row_inverse + row;
    q.first = w.first + row;
    q.w = w.w + row;
    q.lam = w.lam + row;
    q.pi = w.pi + column;
    q.v = w.v + column;
    q.t = w.t + column;
    q.tq = w.tq + column;
    q.shared = shared;
    return q;
}

static __device__ inline double warp_sum(double x)
{
    for (unsigned half = WARP / 2; half; half /= 2) x += __shfl_xor_sync(0xffffffffu, x, half);
    return x;
}
static __device__ inline double warp_max(double x)
{
    for (unsigned half = WARP / 2; half; half /= 2) x = fmax(x, __shfl_xor_sync(0xffffffffu, x, half));
    return x;
}

/* y[rows] = x [rows, m] v[m]; a warp takes a row. Ends with everything visible. */
template <typename real>
static __device__ inline void rows_dot(size_t rows, size_t m, const real *x, const double *v, double *y)
{
    const unsigned lane = threadIdx.x % WARP;
    for (size_t i = threadIdx.x / WARP; i < rows; i += WARPS) {
        double sum = 0;
        for (size_t j = lane; j < m; j += WARP) sum += (double)x[i * m + j] * v[j];
        sum = warp_sum(sum);
        if (lane == 0) y[i] = sum;
    }
    __syncthreads();
}

/* y[m] = x [rows, m]^T v[rows]; a thread takes a column. Ends with everything visible. */
template <typename real, typename number>
static __device__ inline void columns_dot(size_t rows, size_t m, const real *x, const number *v, double *y)
{
    for (size_t j = threadIdx.x; j < m; j += THREADS) {
        double sum = 0;
        for (size_t i = 0; i < rows; i++) sum += (double)x[i * m + j] * (double)v[i];
        y[j] = sum;
    }
    __syncthreads();
}
#endif
