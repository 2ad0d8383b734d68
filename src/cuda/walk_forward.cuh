/* walk_forward.cuh - one query, one block of threads: the two softmaxes; then the weights and what the caller wants. */
#ifndef CUDA_WALK_FORWARD_CUH
#define CUDA_WALK_FORWARD_CUH
#include "cuda/walk.cuh"

/* A by rows, a warp a row; its maxima and inverse sums are kept. */
template <typename real> static __device__ void there(const struct walk<real> &w, const struct walker<real> &q)
{
    const unsigned lane = threadIdx.x % WARP;
    for (size_t i = threadIdx.x / WARP; i < w.rq; i += WARPS) {
        const real *phi = q.phi + i * w.m;
        double top = -INFINITY, sum = 0;
        for (size_t j = lane; j < w.m; j += WARP) top = fmax(top, (double)phi[j]);
        top = warp_max(top);
        for (size_t j = lane; j < w.m; j += WARP) sum += exp(w.gamma * ((double)phi[j] - top));
        const double inverse = 1 / warp_sum(sum);
        for (size_t j = lane; j < w.m; j += WARP)
            q.a[i * w.m + j] = (real)(inverse * exp(w.gamma * ((double)phi[j] - top)));
        if (lane == 0) q.row_max[i] = top, q.row_inverse[i] = inverse;
    }
}

/* B by columns, a thread a column. */
template <typename real> static __device__ void back(const struct walk<real> &w, const struct walker<real> &q)
{
    for (size_t j = threadIdx.x; j < w.m; j += THREADS) {
        double top = -INFINITY, sum = 0;
        for (size_t i = 0; i < w.rq; i++) top = fmax(top, (double)q.phi[i * w.m + j]);
        for (size_t i = 0; i < w.rq; i++) sum += exp(w.beta * ((double)q.phi[i * w.m + j] - top));
        const double inverse = 1 / sum;
        for (size_t i = 0; i < w.rq; i++)
            q.b[i * w.m + j] = (real)(inverse * exp(w.beta * ((double)q.phi[i * w.m + j] - top)));
    }
}

template <typename real> __global__ void transitions_kernel(struct walk<real> w)
{
    const struct walker<real> q = walker_of<real>(w, NULL, NULL);
    there(w, q);
    if (w.walks_back) back(w, q);
    for (size_t j = threadIdx.x; j < w.m; j += THREADS) q.v[j] = 1;
    __syncthreads();
    if (w.alpha > 0) rows_dot(w.rq, w.m, q.b, q.v, q.first);
    for (size_t i = threadIdx.x; i < w.rq; i += THREADS)
        q.first[i] = (1 + (w.alpha > 0 ? w.alpha * q.first[i] : 0)) / ((double)w.rq + w.alpha * (double)w.m);
}

/* G from K = B A^T, whose columns sum to 1: rounding leaves them a little off, which a near 1 magnifies, so they are made
 * to sum to 1 exactly. */
template <typename real>
static __device__ void build(const struct walk<real> &w, const struct walker<real> &q, double a2)
{
    const size_t n = w.rq;
    for (size_t j = threadIdx.x; j < n; j += THREADS) {
        double sum = 0;
        for (size_t i = 0; i < n; i++) sum += (double)q.k[i * n + j];
        const double scale = -a2 / sum;
        for (size_t i = 0; i < n; i++)
            q.g[i * n + j] = a2 / (double)n + scale * (double)q.k[i * n + j] + (i == j ? 1 : 0);
    }
    __syncthreads();
}

/* Factors G. With a = 1 and a walk that falls apart into closed sets G is singular: then a = 1 - 1e-6 decides. Returns the
 * a^2 that the factors were made with. */
template <typename real>
static __device__ double factor(const struct walk<real> &w, const struct walker<real> &q)
{
    const double nearly_one = (1 - 1e-6) * (1 - 1e-6);
    double a2 = w.alpha * w.alpha;
    build(w, q, a2);
    size_t good = block_lu(w.rq, q.g, q.pivot, 1e-12, q.shared);
    if (good < w.rq && a2 > nearly_one) {
        a2 = nearly_one;
        __syncthreads();
        build(w, q, a2);
        good = block_lu(w.rq, q.g, q.pivot, 1e-14, q.shared);
    }
    if (good < w.rq && threadIdx.x == 0) fault_report(w.fault, FAULT_WALK, q.n, good);
    return a2;
}

/* Weights are positive and sum to 1; rounding may have left a small one below 0. */
template <typename real> static __device__ void weights(const struct walk<real> &w, const struct walker<real> &q)
{
    const double rq = (double)w.rq;
    const double a2 = w.alpha > 0 ? factor(w, q) : 0;
    for (size_t i = threadIdx.x; i < w.rq; i += THREADS)
        q.w[i] = w.alpha > 0 ? (1 - a2) * q.first[i] + a2 / rq : 1;
    __syncthreads();
    if (w.alpha > 0) block_lu_solve(w.rq, q.g, q.pivot, false, q.w, 1, 1);
    double sum = 0;
    for (size_t i = threadIdx.x; i < w.rq; i += THREADS) {
        if (q.w[i] < 0) q.w[i] = 0;
        sum += q.w[i];
    }
    sum = block_sum(sum, q.shared);
    for (size_t i = threadIdx.x; i < w.rq; i += THREADS) q.w[i] /= sum;
    __syncthreads();
    columns_dot(w.rq, w.m, q.a, q.w, q.pi);
}

/* By one warp: the sum of pi(S) over a class, or over all others. */
template <typename real>
static __device__ inline double class_mass(const struct walk<real> &w, const struct walker<real> &q, size_t c,
                                           bool others)
{
    double mass = 0;
    for (size_t j = threadIdx.x % WARP; j < w.m; j += WARP)
        if ((j / w.rs == c) != others) mass += q.pi[j];
    return warp_sum(mass);
}

/* By one warp: ln of a class's mass straight from the similarities, for masses too small to be represented. */
template <typename real>
static __device__ double log_mass_far(const struct walk<real> &w, const struct walker<real> &q, size_t c)
{
    const double least = sizeof(real) == sizeof(float) ? 1e-30 : 1e-100; /* a weight that is 0 counts as this */
    double top = -INFINITY, sum = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t e = threadIdx.x % WARP; e < w.rq * w.rs; e += WARP) {
            const size_t i = e / w.rs, j = c * w.rs + e % w.rs;
            const double x = log(fmax(q.w[i], least)) + log(q.row_inverse[i]) +
                             w.gamma * ((double)q.phi[i * w.m + j] - q.row_max[i]);
            if (pass == 0) top = fmax(top, x);
            else sum += exp(x - top);
        }
        if (pass == 0) top = warp_max(top);
    }
    return top + log(warp_sum(sum));
}

/* By one warp. A mass near 1 is told by what the others have: 1 - mass would lose its digits. */
template <typename real>
static __device__ double log_mass(const struct walk<real> &w, const struct walker<real> &q, size_t c)
{
    const double mass = class_mass(w, q, c, false), others = class_mass(w, q, c, true);
    if (mass > 0.5) return -log1p(others / mass);
    return mass > 1e-30 ? log(mass) : log_mass_far(w, q, c);
}

/* pi(q) = B ((1 - a^2) 1 + a (rq + a m) pi(S)) / (m + a rq) */
template <typename real> static __device__ void query_centrality(const struct walk<real> &w, const struct walker<real> &q)
{
    const double a = w.alpha, rq = (double)w.rq, m = (double)w.m;
    for (size_t j = threadIdx.x; j < w.m; j += THREADS)
        q.v[j] = ((1 - a * a) + a * (rq + a * m) * q.pi[j]) / (m + a * rq);
    __syncthreads();
    rows_dot(w.rq, w.m, q.b, q.v, q.lam);
    for (size_t i = threadIdx.x; i < w.rq; i += THREADS) w.pi_query[q.n * w.rq + i] = (real)q.lam[i];
    __syncthreads();
}

template <typename real> static __device__ void report(const struct walk<real> &w, const struct walker<real> &q)
{
    const unsigned lane = threadIdx.x % WARP;
    for (size_t c = threadIdx.x / WARP; c < w.way; c += WARPS) {
        const double mass = class_mass(w, q, c, false);
        const bool own = w.labels && (size_t)w.labels[q.n] == c;
        const double logarithm = w.log_prob || own ? log_mass(w, q, c) : 0;
        if (lane) continue;
        if (w.prob) w.prob[q.n * w.way + c] = (real)mass;
        if (w.log_prob) w.log_prob[q.n * w.way + c] = (real)logarithm;
        if (own) w.losses[q.n] = -logarithm;
    }
    if (w.pi_support)
        for (size_t j = threadIdx.x; j < w.m; j += THREADS) w.pi_support[q.n * w.m + j] = (real)q.pi[j];
    if (w.pi_query) query_centrality(w, q);
}
#endif
