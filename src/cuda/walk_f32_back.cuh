/* walk_f32_back.cuh - the derivative of one query's walk in single precision (docs/mcl.md, "Backward").
 *
 * With y = M^-T A v0 in place of lam the terms in mu cancel, since every row of A and every column of B sums to 1:
 *   d phi = gamma w A (v0 + a^2 t - y) + beta B (z (y - t) + z' (gq - tq)),  t = B^T y,  tq = B^T gq.
 * A constant added to v0 changes nothing; v0 is kept centred (pi(S) . v0 = 0), which keeps y small. */
#ifndef CUDA_WALK_F32_BACK_CUH
#define CUDA_WALK_F32_BACK_CUH
#include "cuda/walk_f32_solve.cuh"

/* v -= pi . v */
static __device__ inline void centre(const struct walk_f32 &k, struct desk &s)
{
    if (warp_of() == 0) {
        float sum = 0;
        for (int j = lane_of(); j < s.columns; j += LANES) sum = fmaf(s.pi[j], s.v[j], sum);
        sum = lanes_sum(sum);
        if (lane_of() == 0) part_of(k, s)[0] = sum;
    }
    gather(k, s, 1, [&](int, float sum) { s.group[0] = sum; });
    const float mean = s.group[0];
    for (int j = (int)threadIdx.x; j < s.columns; j += WALK_THREADS) s.v[j] -= mean;
    __syncthreads();
}

/* v0 from the cotangents of classes, pi(S) and pi(q). */
static __device__ inline void cotangent_of_outputs(const struct walk_f32 &k, struct desk &s, const float *gq)
{
    const size_t n = (size_t)s.query;
    const float m = (float)k.m, rq = (float)k.rq, a = k.alpha;
    for (int j = (int)threadIdx.x; j < s.columns; j += WALK_THREADS) {
        const int c = (s.start + j) / k.rs;
        const size_t at = n * (size_t)k.way + (size_t)c;
        float g = 0;
        if (k.d_prob) g += k.d_prob[at];
        if (k.d_log_prob) g += k.d_log_prob[at] / fmaxf(s.mass[c], LEAST_DIVISOR);
        if (k.d_pi_support) g += k.d_pi_support[n * (size_t)k.m + (size_t)(s.start + j)];
        if (gq) g += a * (rq + a * m) / (m + a * rq) * s.tq[j];
        s.v[j] = g;
    }
    __syncthreads();
    centre(k, s);
}

/* For the mean negative log likelihood the centred cotangent is known: 1 - 1/mass on the label's class, which is
 * -others/mass with all its digits, and 1 elsewhere. */
static __device__ inline void cotangent_of_label(const struct walk_f32 &k, struct desk &s)
{
    const int label = k.labels[s.query];
    const float scale = 1 / (float)k.nq;
    const float own = -scale * other_masses(k, s, label) / fmaxf(s.mass[label], LEAST_DIVISOR);
    for (int j = (int)threadIdx.x; j < s.columns; j += WALK_THREADS)
        s.v[j] = (s.start + j) / k.rs == label ? own : scale;
    __syncthreads();
}

/* largest[block] from what each thread has seen. */
static __device__ inline void write_largest(const struct walk_f32 &k, const struct desk &s, float most)
{
    most = lanes_max(most);
    if (lane_of() == 0) s.group[warp_of()] = most;
    __syncthreads();
    for (int i = 0; i < WALK_WARPS; i++) most = fmaxf(most, s.group[i]);
    if (threadIdx.x == 0) k.largest[s.query * k.peers + s.rank] = most;
}

/* The part of d phi that comes through B, at row i and column j, where b is `here`. */
static __device__ inline float through_b(const struct walk_f32 &k, const struct desk &s, const float *gq, int i, int j,
                                         float here)
{
    const float m = (float)k.m, rq = (float)k.rq, a = k.alpha;
    float sum = fmaf(k.a2, s.pi[j], a * k.rest / (rq + a * m)) * (s.y[i] - s.t[j]);
    if (gq) sum += (k.rest + a * (rq + a * m) * s.pi[j]) / (m + a * rq) * (gq[i] - s.tq[j]);
    return k.beta * here * s.scale_b[j] * sum;
}

template <typename M>
static __device__ __forceinline__ void write_d_phi(const struct walk_f32 &k, const struct desk &s, M &m,
                                                   const float *gq)
{
    float most = 0;
    m.each_row(k, s, [&](int i) {
        float *to = k.d_phi + ((size_t)s.query * (size_t)k.rq + (size_t)i) * (size_t)k.row + s.start;
        const float there = k.gamma * s.w[i] * s.scale_a[i], y = s.y[i];
        return [=, &k, &s, &most](int j, float a, float b) {
            float d = there * a * (s.v[j] - y);
            if (k.walks_back) d += through_b(k, s, gq, i, j, b);
            to[j] = d;
            most = fmaxf(most, fabsf(d));
        };
    });
    write_largest(k, s, most);
}

template <bool DIRECT, typename M>
static __device__ __forceinline__ void backward(const struct walk_f32 &k, struct desk &s, M &m)
{
    const float *gq = k.d_pi_query ? k.d_pi_query + (size_t)s.query * (size_t)k.rq : NULL;
    if (gq) m.columns_b(k, s, gq, [&](int j, float sum) { s.tq[j] = sum * s.scale_b[j]; });
    if (k.labels) cotangent_of_label(k, s);
    else cotangent_of_outputs(k, s, gq);
    m.rows_a(k, s, s.v);
    gather(k, s, k.rq, [&](int i, float sum) { s.u[i] = sum * s.scale_a[i]; });
    if constexpr (DIRECT) adjoint_direct(k, s);
    else adjoint_iterated(k, s, m);
    if (k.walks_back)
        m.columns_b(k, s, s.y, [&](int j, float sum) {
            s.t[j] = sum * s.scale_b[j];
            s.v[j] = fmaf(k.a2, s.t[j], s.v[j]);
        });
    write_d_phi(k, s, m, gq);
}
#endif
