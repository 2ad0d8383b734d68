/* walk_f32_solve.cuh - the weights of one query's features, and the adjoint system, in single precision.
 *
 *   M w = (1 - a^2) first  with  M = I - a^2 K,  K = B A^T.
 *
 * Iterating w = a^2 K w + (1 - a^2) first shrinks the error by a^2 a round at least, so the number of rounds has a bound.
 * Where that is large, M is factored. Its columns sum to 1 - a^2 and everything off its diagonal is negative, so
 * the factors can be found without a single subtraction (Grassmann, Taksar and Heyman): a pivot is the sum of what lies
 * below it and of its column's share of 1 - a^2. All results have nearly all digits, however near a is to 1.
 *
 * n [rq + 1, rq + 1] holds -M off the diagonal; its last row what each column sums to, its last column the right-hand side.
 * Step k: p = sum of column k below k; n[i, j] += n[i, k] n[k, j] / p for i, j > k. The diagonal is never read.
 *
 * The iteration begins with PLAIN_ROUNDS as above, which is all that quickly mixing walks need, and goes on with Chebyshev's
 * steps for eigenvalues between 0 and a^2 (Golub and Varga 1961): each goes beyond the plain one and leans on the one before.
 * At a = 0.5 they shrink the error by 14 a round instead of 4. It ends when a plain step would change no weight by more than
 * a part NEAR of it, and takes that step. K is not symmetric: its eigenvalues may lie elsewhere in the disc around 0, where
 * Chebyshev's steps shrink the error less; so from round `quick` on steps are plain again, and those are as many as
 * any walk may need. */
#ifndef CUDA_WALK_F32_SOLVE_CUH
#define CUDA_WALK_F32_SOLVE_CUH
#include "cuda/walk_f32_shared.cuh"

enum { PLAIN_ROUNDS = 2 };
#define NEAR 5e-7f /* above what rounding does to a weight in one round */

/* n = a^2 K from this block's columns: a warp takes 4 rows and all columns, a lane every 32nd. */
template <int POWER> static __device__ void two_steps(const struct walk_f32 &k, const struct desk &s)
{
    enum { ROWS = 4, PER_LANE = MOST_ROWS / LANES };
    const matrix_a<POWER> a(s);
    for (int i = warp_of() * ROWS; i < k.rq; i += WALK_WARPS * ROWS) {
        float sum[ROWS][PER_LANE] = {};
        int from[ROWS], to[PER_LANE];
        for (int r = 0; r < ROWS; r++) from[r] = (i + r < k.rq ? i + r : k.rq - 1) * k.step;
        for (int u = 0; u < PER_LANE; u++) {
            const int q = u * LANES + lane_of();
            to[u] = (q < k.rq ? q : k.rq - 1) * k.step;
        }
        for (int j = 0; j < s.columns; j++) {
            float b[ROWS];
#pragma unroll
            for (int r = 0; r < ROWS; r++) b[r] = s.b[from[r] + j] * s.scale_b[j];
#pragma unroll
            for (int u = 0; u < PER_LANE; u++)
                if (u * LANES < k.rq) {
                    const float x = a(to[u] + j);
#pragma unroll
                    for (int r = 0; r < ROWS; r++) sum[r][u] = fmaf(b[r], x, sum[r][u]);
                }
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++)
#pragma unroll
            for (int u = 0; u < PER_LANE; u++) {
                const int q = u * LANES + lane_of();
                if (i + r < k.rq && q < k.rq) s.n[(i + r) * k.n_step + q] = k.a2 * sum[r][u] * s.scale_a[q];
            }
    }
}

/* Adds the peers' matrices up in that of the first; an element is read and written by one thread alone. */
static __device__ inline void two_steps_gather(const struct walk_f32 &k, const struct desk &s)
{
    peers_meet(k.peers);
    if (k.peers > 1) {
        for (int e = s.rank * WALK_THREADS + (int)threadIdx.x; e < k.rq * k.rq; e += k.peers * WALK_THREADS) {
            const int at = e / k.rq * k.n_step + e % k.rq;
            float sum = 0;
            for (int p = 0; p < k.peers; p++) sum += peer_of(s.n, p, k.peers)[at];
            peer_of(s.n, 0, k.peers)[at] = sum;
        }
        peers_meet(k.peers);
    }
}

/* The last row and the last column of n; and the first pivot, as sums of the warps in below[WALK_WARPS]. */
static __device__ inline void eliminate_from(const struct walk_f32 &k, const struct desk &s, float *below)
{
    const int n = k.rq;
    for (int i = (int)threadIdx.x; i < n; i += WALK_THREADS) {
        s.n[n * k.n_step + i] = k.rest;
        s.n[i * k.n_step + n] = k.rest * s.first[i];
    }
    if (threadIdx.x == 0) s.n[n * k.n_step + n] = 0;
    __syncthreads();
    if (lane_of() == 0) {
        float sum = 0;
        for (int i = 1 + warp_of(); i <= n; i += WALK_WARPS) sum += s.n[i * k.n_step];
        below[warp_of()] = sum;
    }
    __syncthreads();
}

/* A step makes row and column `step` final and, on the way, adds up what lies below the next pivot: a warp its rows' share,
 * by its first lane, which has that column. Sums are kept for two steps in turns. */
static __device__ inline void eliminate(const struct walk_f32 &k, const struct desk &s)
{
    const int n = k.rq;
    eliminate_from(k, s, s.group);
    for (int step = 0; step < n; step++) {
        const float *below = s.group + (step & 1) * WALK_WARPS;
        float *next = s.group + (~step & 1) * WALK_WARPS, pivot = 0, sum = 0;
#pragma unroll
        for (int i = 0; i < WALK_WARPS; i++) pivot += below[i];
        const float inverse = 1 / pivot, *top = s.n + step * k.n_step;
        if (threadIdx.x == 0) s.pivot[step] = inverse;
        for (int i = step + 1 + warp_of(); i <= n; i += WALK_WARPS) {
            float *row = s.n + i * k.n_step;
            const float factor = row[step] * inverse;
            for (int j = step + 1 + lane_of(); j <= n; j += LANES) {
                row[j] = fmaf(factor, top[j], row[j]);
                if (j == step + 1 && i > step + 1) sum += row[j];
            }
        }
        if (lane_of() == 0) next[warp_of()] = sum;
        __syncthreads();
    }
}

/* By one warp: x[rq] from the eliminated right-hand side. */
static __device__ inline void substitute(const struct walk_f32 &k, const struct desk &s, float *x)
{
    for (int i = lane_of(); i < k.rq; i += LANES) x[i] = s.n[i * k.n_step + k.rq];
    __syncwarp();
    for (int step = k.rq - 1; step >= 0; step--) {
        const float known = x[step] * s.pivot[step];
        __syncwarp();
        for (int i = lane_of(); i < step; i += LANES) x[i] = fmaf(s.n[i * k.n_step + step], known, x[i]);
        if (lane_of() == 0) x[step] = known;
        __syncwarp();
    }
}

/* By one warp: solves M^T y = y in place. */
static __device__ inline void substitute_transposed(const struct walk_f32 &k, const struct desk &s, float *y)
{
    for (int step = 0; step < k.rq; step++) {
        const float known = y[step] * s.pivot[step];
        __syncwarp();
        for (int j = step + 1 + lane_of(); j < k.rq; j += LANES) y[j] = fmaf(s.n[step * k.n_step + j], known, y[j]);
        if (lane_of() == 0) y[step] = known;
        __syncwarp();
    }
    for (int step = k.rq - 1; step > 0; step--) {
        const float known = y[step];
        for (int i = lane_of(); i < step; i += LANES) y[i] = fmaf(s.n[step * k.n_step + i] * s.pivot[i], known, y[i]);
        __syncwarp();
    }
}

/* x of the first peer goes to all. */
static __device__ inline void share(const struct walk_f32 &k, struct desk &s, float *x)
{
    float *part = part_of(k, s);
    for (int i = (int)threadIdx.x; i < k.rq; i += WALK_THREADS) part[i] = s.rank == 0 ? x[i] : 0;
    gather(k, s, k.rq, [&](int i, float sum) { x[i] = sum; });
}

template <int POWER> static __device__ void weights_direct(const struct walk_f32 &k, struct desk &s)
{
    two_steps<POWER>(k, s);
    two_steps_gather(k, s);
    if (s.rank == 0) {
        eliminate(k, s);
        if (warp_of() == 0) substitute(k, s, s.w);
        __syncthreads();
    }
    share(k, s, s.w);
}

/* How far a round goes: next = before + lean (x - before + beyond (plain - x)), plain for {1, 1}. */
struct pace {
    float beyond, lean;
};
static __device__ inline struct pace pace_of(const struct walk_f32 &k, int round, struct pace last)
{
    const int quick = round - PLAIN_ROUNDS;
    if (quick < 0 || round >= k.quick) return {1, 1};
    if (quick == 0) return {k.beyond, 1};
    return {k.beyond, 1 / (1 - k.sigma2 * (quick == 1 ? 0.5f : 0.25f * last.lean))};
}

/* Moves x[i] on to where `plain` and the pace say, and remembers both. */
static __device__ inline float advance(const struct desk &s, float *x, int i, float plain, struct pace p)
{
    const float old = x[i], before = s.before[i];
    s.plain[i] = plain;
    s.before[i] = old;
    return x[i] = fmaf(p.lean, fmaf(p.beyond, plain - old, old - before), before);
}

/* The last plain step is the answer. */
static __device__ inline void arrive(const struct walk_f32 &k, const struct desk &s, float *x)
{
    for (int i = (int)threadIdx.x; i < k.rq; i += WALK_THREADS) x[i] = s.plain[i];
    __syncthreads();
}

template <typename M>
static __device__ __forceinline__ void weights_iterated(const struct walk_f32 &k, struct desk &s, M &m)
{
    struct pace p = {1, 1};
    bool there = false;
    for (int i = (int)threadIdx.x; i < k.rq; i += WALK_THREADS) {
        s.w[i] = s.before[i] = s.plain[i] = 1 / (float)k.rq;
        s.x[i] = s.w[i] * s.scale_a[i];
    }
    __syncthreads();
    for (int round = 0; round < k.rounds && !there; round++) {
        m.columns_a(k, s, s.x, [&](int j, float sum) { s.c[j] = sum * s.scale_b[j]; });
        m.rows_b(k, s, s.c);
        p = pace_of(k, round, p);
        there = gather_all(k, s, k.rq, [&](int i, float sum) {
            const float plain = fmaf(k.a2, sum, k.rest * s.first[i]), change = fabsf(plain - s.w[i]);
            s.x[i] = advance(s, s.w, i, plain, p) * s.scale_a[i];
            return change <= NEAR * plain;
        });
    }
    arrive(k, s, s.w);
}

/* w, which sums to 1, and pi(S) = A^T w. */
template <bool DIRECT, typename M>
static __device__ __forceinline__ void weights(const struct walk_f32 &k, struct desk &s, M &m)
{
    if constexpr (DIRECT) weights_direct<M::POWER>(k, s);
    else weights_iterated(k, s, m);
    const float total = all_of(k.rq, s.w);
    __syncthreads();
    for (int i = (int)threadIdx.x; i < k.rq; i += WALK_THREADS) {
        s.w[i] /= total;
        s.x[i] = s.w[i] * s.scale_a[i];
    }
    __syncthreads();
    m.columns_a(k, s, s.x, [&](int j, float sum) { s.pi[j] = sum; });
}

/* y with M^T y = u. Since w . u = 0, first . y = 0: rounding leaves a little, and M^-1 makes that large. */
static __device__ inline void adjoint_direct(const struct walk_f32 &k, struct desk &s)
{
    for (int i = (int)threadIdx.x; i < k.rq; i += WALK_THREADS) s.y[i] = s.u[i];
    __syncthreads();
    if (s.rank == 0 && warp_of() == 0) substitute_transposed(k, s, s.y);
    __syncthreads();
    share(k, s, s.y);
    float product = 0;
    for (int i = lane_of(); i < k.rq; i += LANES) product += s.first[i] * s.y[i];
    const float shift = lanes_sum(product) / all_of(k.rq, s.first);
    __syncthreads();
    for (int i = (int)threadIdx.x; i < k.rq; i += WALK_THREADS) s.y[i] -= shift;
    __syncthreads();
}

/* The same for y = a^2 A B^T y + u, where the largest of u is the measure of a change. */
template <typename M>
static __device__ __forceinline__ void adjoint_iterated(const struct walk_f32 &k, struct desk &s, M &m)
{
    struct pace p = {1, 1};
    bool there = false;
    const float near = NEAR * largest_of(k.rq, s.u);
    for (int i = (int)threadIdx.x; i < k.rq; i += WALK_THREADS) s.y[i] = s.before[i] = s.plain[i] = s.u[i];
    __syncthreads();
    for (int round = 0; round < k.rounds && !there; round++) {
        m.columns_b(k, s, s.y, [&](int j, float sum) { s.c[j] = sum * s.scale_b[j]; });
        m.rows_a(k, s, s.c);
        p = pace_of(k, round, p);
        there = gather_all(k, s, k.rq, [&](int i, float sum) {
            const float plain = fmaf(k.a2 * s.scale_a[i], sum, s.u[i]), change = fabsf(plain - s.y[i]);
            (void)advance(s, s.y, i, plain, p);
            return change <= near;
        });
    }
    arrive(k, s, s.y);
}
#endif
