/* walk_f32.cuh - the mutual walk in single precision: one query's matrices in shared memory, and products with them.
 *
 * A query belongs to one block, or to the blocks of a cluster, its peers: each holds all rows and `width` columns of
 *   a[i, j] = exp(gamma phi[i, j]),  b[i, j] = exp(beta phi[i, j])
 * without any division: A = scale_a a and B = b scale_b. Cosines are at most 1, so with MOST_SHARPNESS nothing overflows or
 * vanishes and no maximum needs to be subtracted. Where gamma is 2 or 4 times beta only b is kept and a is its power.
 * Sums over rows' elements go through `part` and are added up peer by peer, in the same order by all of them: every peer
 * has the same numbers. Notation: walk.cuh, docs/mcl.md. Files: walk_f32_solve.cuh (the weights), walk_f32_back.cuh (the
 * derivative), units.cuh (unit vectors), walk_f32.cu (the episode). */
#ifndef CUDA_WALK_F32_CUH
#define CUDA_WALK_F32_CUH
#include "cuda/peers.cuh"
#include <math.h>

enum { WALK_THREADS = 512, LANES = 32, WALK_WARPS = WALK_THREADS / LANES, MOST_PEERS = 8, MOST_ROWS = 160 };
#define ALL_LANES 0xffffffffu
#define MOST_SHARPNESS 40.0
#define LEAST_DIVISOR 1e-37f

struct sharpness { /* gamma / ln 2, in two pieces */
    float high, low;
};

struct walk_f32 {
    int nq, way, rs, rq, m;
    int row;          /* numbers between rows of phi and of a part of d phi: m rounded up */
    int peers, width; /* blocks that share a query, columns of each */
    int step, n_step; /* numbers between rows in shared memory; odd, so that columns lie in all banks */
    int rounds;       /* of the iteration; 0: none needed */
    bool direct;      /* instead of iterating */
    bool walks_back, differentiates;
    float gamma, beta, alpha, a2, rest; /* a2 = alpha^2, rest = 1 - alpha^2 */
    struct sharpness to_support, to_query;
    const float *phi;                               /* [nq, rq, row] */
    float *d_phi;                                   /* as phi, and may be the same memory */
    float *largest;                                 /* [nq, peers] the largest of each block's d phi */
    double *losses;                                 /* [nq] */
    float *prob, *log_prob, *pi_support, *pi_query; /* the caller's arrays, each may be NULL */
    const int *labels;
    const float *d_prob, *d_log_prob, *d_pi_support, *d_pi_query;
};

/* One block's share of a query, in shared memory. */
struct desk {
    float *a, *b;                           /* [rq, step]; a NULL: a power of b */
    float *n;                               /* [rq + 1, n_step], direct only: walk_f32_solve.cuh */
    float *pivot;                           /* [rq] inverse pivots of n */
    float *part;                            /* [2, max(rq, way)] this block's sums, in turns */
    float *scale_a, *first, *w, *x, *u, *y; /* [rq] */
    float *scale_b, *pi, *v, *t, *tq, *c;   /* [width] */
    float *mass;                            /* [way] */
    float *group;                           /* [WALK_THREADS] */
    int query, rank, start, columns; /* the first column and how many there are: fewer at the end, perhaps none */
    int turn;
};

static __host__ __device__ inline int walk_part(const struct walk_f32 &k) { return k.rq > k.way ? k.rq : k.way; }

/* Cuts `memory` into the arrays of a desk and says how many numbers that takes. */
static __host__ __device__ inline size_t desk_lay(const struct walk_f32 &k, bool powers, float *memory, struct desk *s)
{
    size_t used = 0;
    const auto take = [&](size_t count) {
        float *p = memory ? memory + used : NULL;
        used += count;
        return p;
    };
    const size_t rq = (size_t)k.rq, width = (size_t)k.width, matrix = rq * (size_t)k.step;
    s->a = powers ? NULL : take(matrix);
    s->b = powers || k.walks_back ? take(matrix) : NULL;
    s->n = k.direct ? take((rq + 1) * (size_t)k.n_step) : NULL;
    s->pivot = k.direct ? take(rq) : NULL;
    s->tq = k.d_pi_query ? take(width) : NULL;
    float **const of_rows[] = {&s->scale_a, &s->first, &s->w, &s->x, &s->u, &s->y};
    for (float **p : of_rows) *p = take(rq);
    float **const of_columns[] = {&s->scale_b, &s->pi, &s->v, &s->t, &s->c};
    for (float **p : of_columns) *p = take(width);
    s->part = take(2 * (size_t)walk_part(k));
    s->mass = take((size_t)k.way);
    s->group = take(WALK_THREADS);
    return used;
}

static __device__ inline float lanes_sum(float x)
{
    for (int half = LANES / 2; half; half /= 2) x += __shfl_xor_sync(ALL_LANES, x, half);
    return x;
}

static __device__ inline int lane_of(void) { return (int)threadIdx.x % LANES; }
static __device__ inline int warp_of(void) { return (int)threadIdx.x / LANES; }

/* exp(sharpness * phi), with what rounding took from the product put back. */
static __device__ inline float exponential(float phi, struct sharpness g)
{
    const float e = phi * g.high, lost = fmaf(phi, g.low, fmaf(phi, g.high, -e)), y = exp2f(e);
    return fmaf(y, lost * 0.69314718f, y);
}

template <int POWER> static __device__ inline float power(float x) { return POWER == 4 ? (x * x) * (x * x) : x * x; }

/* The matrices as functions of the place in shared memory. */
template <int POWER> struct matrix_a {
    const float *a, *b;
    __device__ explicit matrix_a(const struct desk &s) : a(s.a), b(s.b) {}
    __device__ float operator()(int at) const { return POWER ? power<POWER>(b[at]) : a[at]; }
};
struct matrix_b {
    const float *b;
    __device__ explicit matrix_b(const struct desk &s) : b(s.b) {}
    __device__ float operator()(int at) const { return b[at]; }
};

/* Where this block's sums go that `gather` adds up next. */
static __device__ inline float *part_of(const struct walk_f32 &k, const struct desk &s)
{
    return s.part + (s.turn & 1) * walk_part(k);
}

/* put(i, sum over peers of part[i]) for i < count. Two parts in turns: who writes the next one does not disturb those that
 * still read this one, and the one after it comes after the next meeting. */
template <typename F> static __device__ void gather(const struct walk_f32 &k, struct desk &s, int count, F put)
{
    float *part = part_of(k, s);
    peers_meet(k.peers);
    for (int i = (int)threadIdx.x; i < count; i += WALK_THREADS) {
        float sum = 0;
        for (int p = 0; p < k.peers; p++) sum += peer_of(part, p, k.peers)[i];
        put(i, sum);
    }
    s.turn++;
    __syncthreads();
}

/* part[i] = sum over this block's columns of m[i, j] x[j]; a warp takes ROWS rows at a time. */
template <int ROWS, typename M>
static __device__ void rows_times_by(const struct walk_f32 &k, const struct desk &s, M m, const float *x)
{
    float *part = part_of(k, s);
    for (int i = warp_of() * ROWS; i < k.rq; i += WALK_WARPS * ROWS) {
        float sum[ROWS] = {};
        int from[ROWS];
        for (int r = 0; r < ROWS; r++) from[r] = (i + r < k.rq ? i + r : k.rq - 1) * k.step;
        for (int j = lane_of(); j < s.columns; j += LANES) {
            const float factor = x[j];
#pragma unroll
            for (int r = 0; r < ROWS; r++) sum[r] = fmaf(m(from[r] + j), factor, sum[r]);
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++) sum[r] = lanes_sum(sum[r]);
        for (int r = 0; r < ROWS; r++)
            if (lane_of() == 0 && i + r < k.rq) part[i + r] = sum[r];
    }
}

/* The same with all warps at work where rows are few. Gather comes next. */
template <typename M>
static __device__ void rows_times(const struct walk_f32 &k, const struct desk &s, M m, const float *x)
{
    if (k.rq <= 2 * WALK_WARPS) rows_times_by<2>(k, s, m, x);
    else rows_times_by<4>(k, s, m, x);
}

/* The sum over rows [from, to) of m[i, j] x[i], in two chains. */
template <typename M>
static __device__ inline float column_sum(const struct walk_f32 &k, M m, const float *x, int from, int to, int j)
{
    float even = 0, odd = 0;
    int i = from;
#pragma unroll 4
    for (; i + 1 < to; i += 2) {
        even = fmaf(m(i * k.step + j), x[i], even);
        odd = fmaf(m((i + 1) * k.step + j), x[i + 1], odd);
    }
    if (i < to) even = fmaf(m(i * k.step + j), x[i], even);
    return even + odd;
}

/* put(j, sum over rows of m[i, j] x[i]) for this block's columns. Neighbouring threads take neighbouring columns; where
 * there are warps to spare, groups of them share the rows. */
template <typename M, typename F>
static __device__ void columns_times(const struct walk_f32 &k, const struct desk &s, M m, const float *x, F put)
{
    const int chunks = (s.columns + LANES - 1) / LANES;
    const int groups = chunks > 0 && chunks * 2 <= WALK_WARPS ? WALK_WARPS / chunks : 1;
    if (groups == 1) {
        for (int j = (int)threadIdx.x; j < s.columns; j += WALK_THREADS) put(j, column_sum(k, m, x, 0, k.rq, j));
        __syncthreads();
        return;
    }
    const int rows = (k.rq + groups - 1) / groups, own = warp_of() / chunks, from = own * rows;
    const int j = warp_of() % chunks * LANES + lane_of();
    if (own < groups && j < s.columns)
        s.group[own * chunks * LANES + j] = column_sum(k, m, x, from, from + rows < k.rq ? from + rows : k.rq, j);
    __syncthreads();
    for (int c = (int)threadIdx.x; c < s.columns; c += WALK_THREADS) {
        float sum = 0;
        for (int g = 0; g < groups; g++) sum += s.group[g * chunks * LANES + c];
        put(c, sum);
    }
    __syncthreads();
}

/* The sum of x[n], found by every warp for itself. */
static __device__ inline float all_of(int n, const float *x)
{
    float sum = 0;
    for (int i = lane_of(); i < n; i += LANES) sum += x[i];
    return lanes_sum(sum);
}

/* a, b and their scales. */
template <int POWER> static __device__ void transitions(const struct walk_f32 &k, struct desk &s)
{
    float *part = part_of(k, s);
    for (int i = warp_of(); i < k.rq; i += WALK_WARPS) {
        const float *phi = k.phi + ((size_t)s.query * (size_t)k.rq + (size_t)i) * (size_t)k.row + s.start;
        float sum = 0;
#pragma unroll 4
        for (int j = lane_of(); j < s.columns; j += LANES) {
            const int at = i * k.step + j;
            float a;
            if (POWER) {
                const float b = exponential(phi[j], k.to_query);
                s.b[at] = b;
                a = power<POWER>(b);
            } else {
                a = exponential(phi[j], k.to_support);
                s.a[at] = a;
                if (k.walks_back) s.b[at] = exponential(phi[j], k.to_query);
            }
            sum += a;
        }
        sum = lanes_sum(sum);
        if (lane_of() == 0) part[i] = sum;
    }
    for (int i = (int)threadIdx.x; i < k.rq; i += WALK_THREADS) s.x[i] = 1;
    gather(k, s, k.rq, [&](int i, float sum) { s.scale_a[i] = 1 / sum; });
    if (!k.walks_back) return;
    columns_times(k, s, matrix_b(s), s.x, [&](int j, float sum) { s.scale_b[j] = 1 / sum; });
    rows_times(k, s, matrix_b(s), s.scale_b);
    gather(k, s, k.rq,
           [&](int i, float sum) { s.first[i] = (1 + k.alpha * sum) / ((float)k.rq + k.alpha * (float)k.m); });
}

/* The masses of all classes; each may lie in several blocks. */
static __device__ inline void class_masses(const struct walk_f32 &k, struct desk &s)
{
    float *part = part_of(k, s);
    for (int c = warp_of(); c < k.way; c += WALK_WARPS) {
        const int from = c * k.rs - s.start, to = from + k.rs < s.columns ? from + k.rs : s.columns;
        float sum = 0;
        for (int j = (from > 0 ? from : 0) + lane_of(); j < to; j += LANES) sum += s.pi[j];
        sum = lanes_sum(sum);
        if (lane_of() == 0) part[c] = sum;
    }
    gather(k, s, k.way, [&](int c, float sum) { s.mass[c] = sum; });
}

static __device__ inline float other_masses(const struct walk_f32 &k, const struct desk &s, int own)
{
    float sum = 0;
    for (int c = 0; c < k.way; c++) sum += c == own ? 0 : s.mass[c];
    return sum;
}

/* A mass near 1 is told by what the others have: 1 - mass would lose its digits. */
static __device__ inline float log_mass_of(const struct walk_f32 &k, const struct desk &s, int c)
{
    const float mass = s.mass[c];
    return mass > 0.5f ? -log1pf(other_masses(k, s, c) / mass) : logf(mass);
}

static __device__ inline void write_results(const struct walk_f32 &k, struct desk &s)
{
    const size_t n = (size_t)s.query;
    for (int c = (int)threadIdx.x; s.rank == 0 && c < k.way; c += WALK_THREADS) {
        const size_t at = n * (size_t)k.way + (size_t)c;
        const bool own = k.labels && k.labels[n] == c;
        const float logarithm = k.log_prob || own ? log_mass_of(k, s, c) : 0;
        if (k.prob) k.prob[at] = s.mass[c];
        if (k.log_prob) k.log_prob[at] = logarithm;
        if (own) k.losses[n] = -(double)logarithm;
    }
    if (k.pi_support)
        for (int j = (int)threadIdx.x; j < s.columns; j += WALK_THREADS)
            k.pi_support[n * (size_t)k.m + (size_t)(s.start + j)] = s.pi[j];
    if (!k.pi_query) return;
    const float m = (float)k.m, rq = (float)k.rq, a = k.alpha;
    for (int j = (int)threadIdx.x; j < s.columns; j += WALK_THREADS)
        s.c[j] = s.scale_b[j] * (k.rest + a * (rq + a * m) * s.pi[j]) / (m + a * rq);
    __syncthreads();
    rows_times(k, s, matrix_b(s), s.c);
    gather(k, s, k.rq, [&](int i, float sum) {
        if (s.rank == 0) k.pi_query[n * (size_t)k.rq + (size_t)i] = sum;
    });
}
#endif
