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

static __device__ inline void write_parts(__nv_bfloat16 *to, int row, float d)
{
    const __nv_bfloat16 high = __float2bfloat16_rn(d);
    to[0] = high;
    to[row] = __float2bfloat16_rn(d - __bfloat162float(high));
    to[2 * row] = high;
}

/* d phi, in three parts; columns beyond the last are 0. */
template <int POWER> static __device__ void write_d_phi(const struct walk_f32 &k, const struct desk &s, const float *gq)
{
    const matrix_a<POWER> a(s);
    const int end = s.start + k.width < k.row ? k.width : k.row - s.start;
    const float m = (float)k.m, rq = (float)k.rq;
    const float z_rest = k.alpha * k.rest / (rq + k.alpha * m),
                z_query = k.alpha * (rq + k.alpha * m) / (m + k.alpha * rq);
    for (int i = warp_of(); i < k.rq; i += WALK_WARPS) {
        const size_t line = (size_t)s.query * (size_t)k.rq + (size_t)i;
        __nv_bfloat16 *to = k.d_phi + line * 3 * (size_t)k.row + s.start;
        const float there = k.gamma * s.w[i] * s.scale_a[i], y = s.y[i];
        for (int j = lane_of(); j < end; j += LANES) {
            float d = 0;
            if (j < s.columns) {
                d = there * a(i * k.step + j) * (s.v[j] - y);
                if (k.walks_back) {
                    float sum = fmaf(k.a2, s.pi[j], z_rest) * (y - s.t[j]);
                    if (gq) sum += (k.rest / (m + k.alpha * rq) + z_query * s.pi[j]) * (gq[i] - s.tq[j]);
                    d = fmaf(k.beta * s.b[i * k.step + j] * s.scale_b[j], sum, d);
                }
            }
            write_parts(to + j, k.row, d);
        }
    }
}

template <int POWER, bool DIRECT> static __device__ void backward(const struct walk_f32 &k, struct desk &s)
{
    const float *gq = k.d_pi_query ? k.d_pi_query + (size_t)s.query * (size_t)k.rq : NULL;
    if (gq) columns_times(k, s, matrix_b(s), gq, [&](int j, float sum) { s.tq[j] = sum * s.scale_b[j]; });
    if (k.labels) cotangent_of_label(k, s);
    else cotangent_of_outputs(k, s, gq);
    rows_times(k, s, matrix_a<POWER>(s), s.v);
    gather(k, s, k.rq, [&](int i, float sum) { s.u[i] = sum * s.scale_a[i]; });
    if (DIRECT) adjoint_direct(k, s);
    else adjoint_iterated<POWER>(k, s);
    if (k.walks_back)
        columns_times(k, s, matrix_b(s), s.y, [&](int j, float sum) {
            s.t[j] = sum * s.scale_b[j];
            s.v[j] = fmaf(k.a2, s.t[j], s.v[j]);
        });
    write_d_phi<POWER>(k, s, gq);
}
#endif
