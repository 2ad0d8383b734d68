/* walk_f32.cuh - the mutual walk in single precision: what one query's blocks share, and the forward pass around its weights.
 *
 * A query belongs to one block, or to the blocks of a cluster, its peers: each holds all rows and `width` columns of
 *   a[i, j] = exp(gamma phi[i, j]),  b[i, j] = exp(beta phi[i, j])
 * without any division: A = scale_a a and B = b scale_b. Cosines are at most 1, so with MOST_SHARPNESS nothing overflows or
 * vanishes and no maximum needs to be subtracted. Where gamma is 2 or 4 times beta only b is kept and a is its power.
 * Sums over rows' elements go through `part` and are added up peer by peer, in the same order by all of them: every peer
 * has the same numbers.
 *
 * Where the matrices lie is the type M of most functions here: in_shared (walk_f32_shared.cuh) or in_registers
 * (walk_f32_tile.cuh), with the same functions. The caller's threads all call them:
 *   fill(k, s, part)            the matrices from phi; part[i] = the sum of a's row i
 *   rows_a, rows_b(k, s, x)     part_of(k, s)[i] = sum over this block's columns of a[i, j] x[j], or b's; gather comes next
 *   columns_a, columns_b(k, s, x, put)  put(j, sum over rows of a[i, j] x[i]) for this block's columns j
 *   each_row(k, s, of_row)      element = of_row(i), and element(j, a[i, j], b[i, j]) for all of this block's elements
 * Notation: walk.cuh, docs/mcl.md. Files: walk_f32_solve.cuh (the weights), walk_f32_back.cuh (the derivative), units.cuh
 * (unit vectors), walk_f32.cu (the episode). */
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
    int row;              /* numbers between rows of phi and of a part of d phi: m rounded up */
    int peers, width;     /* blocks that share a query, columns of each */
    int step, n_step;     /* numbers between rows in shared memory; odd, so that columns lie in all banks */
    int across;           /* columns of a thread where the matrices lie in registers; 0: they do not */
    int rounds;           /* of the iteration at most; 0: none needed */
    int quick;            /* the round from which on they are plain again */
    float beyond, sigma2; /* of the quick ones: walk_f32_solve.cuh */
    bool direct;          /* instead of iterating */
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
    float *a, *b;                           /* [rq, step], or NULL: in registers; a NULL: a power of b */
    float *n;                               /* [rq + 1, n_step], direct only: walk_f32_solve.cuh */
    float *pivot;                           /* [rq] inverse pivots of n */
    float *part;                            /* [2, max(rq, way)] this block's sums, in turns */
    float *scale_a, *first, *w, *x, *u, *y; /* [rq] */
    float *plain, *before;                  /* [rq] of the iteration */
    float *scale_b, *pi, *v, *t, *tq, *c;   /* [width] */
    float *mass;                            /* [way] */
    float *group;                           /* [WALK_THREADS], or [WALK_WARPS, across, LANES] */
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
    s->a = powers || k.across ? NULL : take(matrix);
    s->b = !k.across && (powers || k.walks_back) ? take(matrix) : NULL;
    s->n = k.direct ? take((rq + 1) * (size_t)k.n_step) : NULL;
    s->pivot = k.direct ? take(rq) : NULL;
    s->tq = k.d_pi_query ? take(width) : NULL;
    float **const of_rows[] = {&s->scale_a, &s->first, &s->w, &s->x, &s->u, &s->y, &s->plain, &s->before};
    for (float **p : of_rows) *p = take(rq);
    float **const of_columns[] = {&s->scale_b, &s->pi, &s->v, &s->t, &s->c};
    for (float **p : of_columns) *p = take(width);
    s->part = take(2 * (size_t)walk_part(k));
    s->mass = take((size_t)k.way);
    s->group = take(k.across ? (size_t)k.across * WALK_THREADS : WALK_THREADS);
    return used;
}

static __device__ inline float lanes_sum(float x)
{
    for (int half = LANES / 2; half; half /= 2) x += __shfl_xor_sync(ALL_LANES, x, half);
    return x;
}

static __device__ inline float lanes_max(float x)
{
    for (int half = LANES / 2; half; half /= 2) x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, half));
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

/* Where this block's sums go that `gather` adds up next. */
static __device__ inline float *part_of(const struct walk_f32 &k, const struct desk &s)
{
    return s.part + (s.turn & 1) * walk_part(k);
}

/* The sum over peers of a number of their parts. All are asked for before the first one is waited for. */
static __device__ inline float peers_sum(const struct walk_f32 &k, float *part)
{
    float of[MOST_PEERS], sum = 0;
    if (k.peers == 1) return *part;
#pragma unroll
    for (int p = 0; p < MOST_PEERS; p++) of[p] = p < k.peers ? *peer_of(part, p, k.peers) : 0;
#pragma unroll
    for (int p = 0; p < MOST_PEERS; p++) sum += of[p];
    return sum;
}

/* put(i, sum over peers of part[i]) for i < count; whether all of them said true. Two parts in turns: who writes the next
 * one does not disturb those that still read this one, and the one after it comes after the next meeting. */
template <typename F> static __device__ bool gather_all(const struct walk_f32 &k, struct desk &s, int count, F put)
{
    float *part = part_of(k, s);
    bool all = true;
    peers_meet(k.peers);
    for (int i = (int)threadIdx.x; i < count; i += WALK_THREADS)
        if (!put(i, peers_sum(k, part + i))) all = false;
    s.turn++;
    return __syncthreads_and(all) != 0;
}
template <typename F> static __device__ void gather(const struct walk_f32 &k, struct desk &s, int count, F put)
{
    (void)gather_all(k, s, count, [&](int i, float sum) {
        put(i, sum);
        return true;
    });
}

/* The sum of x[n], found by every warp for itself. */
static __device__ inline float all_of(int n, const float *x)
{
    float sum = 0;
    for (int i = lane_of(); i < n; i += LANES) sum += x[i];
    return lanes_sum(sum);
}

/* The largest |x[i]|, found the same way. */
static __device__ inline float largest_of(int n, const float *x)
{
    float most = 0;
    for (int i = lane_of(); i < n; i += LANES) most = fmaxf(most, fabsf(x[i]));
    return lanes_max(most);
}

/* a, b and their scales. */
template <typename M> static __device__ __forceinline__ void transitions(const struct walk_f32 &k, struct desk &s, M &m)
{
    m.fill(k, s, part_of(k, s));
    for (int i = (int)threadIdx.x; i < k.rq; i += WALK_THREADS) s.x[i] = 1;
    gather(k, s, k.rq, [&](int i, float sum) { s.scale_a[i] = 1 / sum; });
    if (!k.walks_back) return;
    m.columns_b(k, s, s.x, [&](int j, float sum) { s.scale_b[j] = 1 / sum; });
    m.rows_b(k, s, s.scale_b);
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

template <typename M>
static __device__ __forceinline__ void write_results(const struct walk_f32 &k, struct desk &s, M &m)
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
    const float all = (float)k.m, rq = (float)k.rq, a = k.alpha;
    for (int j = (int)threadIdx.x; j < s.columns; j += WALK_THREADS)
        s.c[j] = s.scale_b[j] * (k.rest + a * (rq + a * all) * s.pi[j]) / (all + a * rq);
    __syncthreads();
    m.rows_b(k, s, s.c);
    gather(k, s, k.rq, [&](int i, float sum) {
        if (s.rank == 0) k.pi_query[n * (size_t)k.rq + (size_t)i] = sum;
    });
}
#endif
