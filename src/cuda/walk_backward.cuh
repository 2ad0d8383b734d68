/* walk_backward.cuh - the derivative of one query's walk in closed form (docs/mcl.md, "Backward").
 *
 * With cotangents gS on pi(S) and gq on pi(q):  v0 = gS + k1 B^T gq,  G^T lam = A v0,  t = B^T lam,  v = v0 + a^2 t, and
 *   d phi = gamma w A (v - lam - mu) + beta B (z (lam - t) + z' (gq - B^T gq)),
 * which overwrites phi. */
#ifndef CUDA_WALK_BACKWARD_CUH
#define CUDA_WALK_BACKWARD_CUH
#include "cuda/walk_forward.cuh"

/* A loss whose class has a mass below this is differentiated in logarithms (only f32 with gamma > 44 gets there). */
#define LEAST_MASS 1e-30

struct far_label { /* the label's class is too unlikely to divide by its mass */
    bool is;
    size_t label;
    double log_mass;
};

/* gS from cotangents of the classes and of pi(S), centred so that pi(S) . gS = 0: the derivative does not change and the
 * solve stays small. */
template <typename real>
static __device__ void cotangent_of_classes(const struct walk<real> &w, const struct walker<real> &q)
{
    for (size_t c = threadIdx.x / WARP; c < w.way; c += WARPS) {
        const double mass = class_mass(w, q, c, false);
        if (threadIdx.x % WARP == 0) q.t[c] = fmax(mass, LEAST_MASS);
    }
    __syncthreads();
    double mean = 0;
    for (size_t j = threadIdx.x; j < w.m; j += THREADS) {
        const size_t c = j / w.rs, at = q.n * w.way + c;
        double g = 0;
        if (w.d_prob) g += (double)w.d_prob[at];
        if (w.d_log_prob) g += (double)w.d_log_prob[at] / q.t[c];
        if (w.d_pi_support) g += (double)w.d_pi_support[q.n * w.m + j];
        q.v[j] = g;
        mean += q.pi[j] * g;
    }
    mean = block_sum(mean, q.shared);
    for (size_t j = threadIdx.x; j < w.m; j += THREADS) q.v[j] -= mean;
    __syncthreads();
}

/* For the mean negative log likelihood the centred cotangent is known: 1 - 1/mass on the label's class, 1 elsewhere. */
template <typename real>
static __device__ struct far_label cotangent_of_label(const struct walk<real> &w, const struct walker<real> &q)
{
    __shared__ double told[3];
    struct far_label far;
    far.label = (size_t)w.labels[q.n];
    if (threadIdx.x < WARP) {
        const double mass = class_mass(w, q, far.label, false), others = class_mass(w, q, far.label, true);
        const double logarithm = mass > LEAST_MASS ? 0 : log_mass_far(w, q, far.label);
        if (threadIdx.x == 0) told[0] = mass, told[1] = others, told[2] = logarithm;
    }
    __syncthreads();
    const double mass = told[0], others = told[1], scale = 1 / (double)w.nq;
    far.is = !(mass > LEAST_MASS) && mass == mass;
    far.log_mass = told[2];
    for (size_t j = threadIdx.x; j < w.m; j += THREADS) /* 1 - 1/mass is -others/mass, with all its digits */
        q.v[j] = j / w.rs == far.label && !far.is ? -scale * others / mass : scale;
    __syncthreads();
    return far;
}

/* A / (mass nq) of the label's class at query feature i, column j: in logarithms, so that it exists although both numbers
 * are too small to be represented. */
template <typename real>
static __device__ inline double far_entry(const struct walk<real> &w, const struct walker<real> &q,
                                          const struct far_label &far, size_t i, size_t j)
{
    const double log_a = log(q.row_inverse[i]) + w.gamma * ((double)q.phi[i * w.m + j] - q.row_max[i]);
    return exp(log_a - far.log_mass) / (double)w.nq;
}

/* lam from v0: u = A v0, then G^T lam = u. */
template <typename real>
static __device__ void adjoint(const struct walk<real> &w, const struct walker<real> &q, const struct far_label &far)
{
    rows_dot(w.rq, w.m, q.a, q.v, q.lam);
    if (far.is)
        for (size_t i = threadIdx.x; i < w.rq; i += THREADS) {
            double sum = 0;
            for (size_t j = 0; j < w.rs; j++) sum += far_entry(w, q, far, i, far.label * w.rs + j);
            q.lam[i] -= sum;
        }
    __syncthreads();
    if (w.alpha > 0) block_lu_solve(w.rq, q.g, q.pivot, true, q.lam, 1, 1);
}

/* d phi over phi, from lam, v, t = B^T lam and tq = B^T gq. */
template <typename real>
static __device__ void d_phi(const struct walk<real> &w, const struct walker<real> &q, const struct far_label &far,
                             const real *gq, double mu)
{
    const double a = w.alpha, a2 = a * a, rq = (double)w.rq, m = (double)w.m;
    const bool through_b = a > 0 || gq;
    for (size_t e = threadIdx.x; e < w.rq * w.m; e += THREADS) {
        const size_t i = e / w.m, j = e % w.m;
        double d = far.is && j / w.rs == far.label ? -w.gamma * q.w[i] * far_entry(w, q, far, i, j)
                                                   : w.gamma * q.w[i] * (double)q.a[e] * (q.v[j] - q.lam[i] - mu);
        if (through_b) {
            const double z = a2 * q.pi[j] + a * (1 - a2) / (rq + a * m);
            double sum = z * (q.lam[i] - q.t[j]);
            if (gq) {
                const double z_query = ((1 - a2) + a * (rq + a * m) * q.pi[j]) / (m + a * rq);
                sum += z_query * ((double)gq[i] - q.tq[j]);
            }
            d += w.beta * (double)q.b[e] * sum;
        }
        q.phi[e] = (real)d;
    }
}

template <typename real> static __device__ void backward(const struct walk<real> &w, const struct walker<real> &q)
{
    const real *gq = w.d_pi_query ? w.d_pi_query + q.n * w.rq : NULL;
    const double a = w.alpha, a2 = a * a, rq = (double)w.rq, m = (double)w.m;
    struct far_label far = {false, 0, 0};
    if (w.labels) far = cotangent_of_label(w, q);
    else cotangent_of_classes(w, q);
    if (gq) {
        columns_dot(w.rq, w.m, q.b, gq, q.tq);
        for (size_t j = threadIdx.x; j < w.m; j += THREADS) q.v[j] += a * (rq + a * m) / (m + a * rq) * q.tq[j];
        __syncthreads();
    }
    adjoint(w, q, far);
    double sum = 0;
    for (size_t i = threadIdx.x; i < w.rq; i += THREADS) sum += q.lam[i];
    const double mu = a2 / rq * block_sum(sum, q.shared);
    if (a > 0 || gq) {
        columns_dot(w.rq, w.m, q.b, q.lam, q.t);
        for (size_t j = threadIdx.x; j < w.m; j += THREADS) q.v[j] += a2 * q.t[j];
        __syncthreads();
    }
    d_phi(w, q, far, gq, mu);
}
#endif
