/* half.cuh - maps in bf16, seen as rows (pixels) of vectors of V neighbouring channels, and sums over their rows.
 *
 * A thread keeps one vector of channels and walks down the rows, so what belongs to a channel is loaded once. Sums are cut
 * by shape alone and added in a fixed order: results never vary. */
#ifndef CUDA_HALF_CUH
#define CUDA_HALF_CUH
#include "cuda/gpu.cuh"
#include <cuda_bf16.h>

typedef __nv_bfloat16 bf16;

/* V neighbouring numbers as they lie; a multiple of V from the start. Read through the cache for constants: no thread
 * reads what another of its kernel writes, and so loads need not wait for stores. */
template <int V> struct packed;
template <> struct packed<8> {
    uint4 w;
    __device__ void load(const bf16 *from, size_t at) { w = __ldg((const uint4 *)(const void *)(from + at)); }
    __device__ void unpack(float x[8]) const
    {
        const uint32_t v[4] = {w.x, w.y, w.z, w.w};
#pragma unroll
        for (int k = 0; k < 4; k++) {
            x[2 * k] = __uint_as_float(v[k] << 16);
            x[2 * k + 1] = __uint_as_float(v[k] & 0xffff0000u);
        }
    }
};
template <> struct packed<1> {
    unsigned short w;
    __device__ void load(const bf16 *from, size_t at) { w = __ldg((const unsigned short *)(const void *)(from + at)); }
    __device__ void unpack(float x[1]) const { x[0] = __uint_as_float((uint32_t)w << 16); }
};

static __device__ inline uint32_t pair_of(float low, float high)
{
    const __nv_bfloat162 h = __floats2bfloat162_rn(low, high);
    return (uint32_t)__bfloat16_as_ushort(h.x) | (uint32_t)__bfloat16_as_ushort(h.y) << 16;
}
template <int V> static __device__ inline void store(bf16 *to, size_t at, const float *x);
template <> __device__ inline void store<8>(bf16 *to, size_t at, const float *x)
{
    *(uint4 *)(void *)(to + at) =
        make_uint4(pair_of(x[0], x[1]), pair_of(x[2], x[3]), pair_of(x[4], x[5]), pair_of(x[6], x[7]));
}
template <> __device__ inline void store<1>(bf16 *to, size_t at, const float *x) { to[at] = __float2bfloat16(x[0]); }

/* How the threads of a block lie over [rows, c]: `lanes` vectors across, `slots` rows down; columns beyond one block's
 * lanes are the grid's second axis. */
struct spread {
    unsigned lanes, slots, across, blocks;
};
enum { SPREAD_THREADS = 256, SPREAD_BLOCKS = 132 * 6 };

static inline struct spread spread_of(size_t rows, size_t c, int v, unsigned most_blocks)
{
    const size_t vectors = c / (size_t)v;
    struct spread s;
    s.lanes = (unsigned)size_min(vectors, SPREAD_THREADS);
    s.slots = SPREAD_THREADS / s.lanes;
    s.across = (unsigned)size_div_up(vectors, s.lanes);
    s.blocks = (unsigned)size_max(1, size_min(size_div_up(rows, s.slots), most_blocks / s.across));
    return s;
}

/* f(vector, from, step) is to do the rows from, from + step, ... of one vector of channels. Rows are counted in 32 bits:
 * larger ones divide slowly. */
template <typename F> __global__ void __launch_bounds__(SPREAD_THREADS, 2) spread_kernel(struct spread s, unsigned vectors, F f)
{
    const unsigned lane = threadIdx.x % s.lanes, slot = threadIdx.x / s.lanes, vector = blockIdx.y * s.lanes + lane;
    if (slot < s.slots && vector < vectors) f(vector, blockIdx.x * s.slots + slot, gridDim.x * s.slots);
}
static inline status rows_fit(struct gpu *g, size_t rows)
{
    return rows < (1u << 31) ? OK : g->fail(ST_UNSUPPORTED, "maps of %zu pixels are too many for one pass", rows);
}
template <typename F> static status spread_run(struct gpu *g, size_t rows, size_t c, int v, F f)
{
    if (rows == 0 || c == 0) return OK;
    PASS(rows_fit(g, rows));
    const struct spread s = spread_of(rows, c, v, SPREAD_BLOCKS);
    spread_kernel<<<dim3(s.blocks, s.across), SPREAD_THREADS, 0, g->stream>>>(s, (unsigned)(c / (size_t)v), f);
    return LAUNCHED(g, "a kernel over maps");
}

/* U rows at a time: all are asked for before the first is used. fetch(row, slot) loads, then use(row, slot) computes. */
template <int U, typename Fetch, typename Use>
static __device__ inline void by_rows(unsigned from, unsigned step, unsigned rows, Fetch fetch, Use use)
{
    for (unsigned i = from; i < rows; i += U * step) {
#pragma unroll
        for (int u = 0; u < U; u++)
            if (i + u * step < rows) fetch(i + u * step, u);
#pragma unroll
        for (int u = 0; u < U; u++)
            if (i + u * step < rows) use(i + u * step, u);
    }
}

/* Sums over rows: f(vector, from, step, sums) adds to sums[K][V]; then finish(j, totals[K]) for each channel. */
enum { SUM_BLOCKS = 132 * 4, SUM_FEWEST = 132, SUM_ROWS = 8, FINISH_COLUMNS = 8, FINISH_SLOTS = 64, FINISH_LOADS = 9 };

/* Each block leaves a part that is read again: a small map has no more of them than give each thread SUM_ROWS rows, or
 * each multiprocessor a block. */
static inline struct spread sums_spread(size_t rows, size_t c, int v)
{
    const struct spread most = spread_of(rows, c, v, SUM_BLOCKS);
    const size_t enough = size_max(size_div_up(rows, (size_t)most.slots * SUM_ROWS), SUM_FEWEST / most.across);
    struct spread s = most;
    s.blocks = (unsigned)size_min(most.blocks, size_max(1, enough));
    return s;
}

template <int K, int V, typename F>
__global__ void __launch_bounds__(SPREAD_THREADS, 2) sums_kernel(struct spread s, unsigned c, float *out, F f)
{
    __shared__ float shared[SPREAD_THREADS * V];
    const unsigned lane = threadIdx.x % s.lanes, slot = threadIdx.x / s.lanes, columns = s.lanes * V;
    const unsigned vectors = c / V, vector = blockIdx.y * s.lanes + lane;
    const bool works = slot < s.slots && vector < vectors;
    float sums[K][V] = {};
    if (works) f(vector, blockIdx.x * s.slots + slot, gridDim.x * s.slots, sums);
    for (int k = 0; k < K; k++) {
        __syncthreads();
        if (slot < s.slots)
            for (int i = 0; i < V; i++) shared[slot * columns + lane * V + i] = works ? sums[k][i] : 0;
        __syncthreads();
        for (unsigned j = threadIdx.x; j < columns; j += SPREAD_THREADS) {
            const unsigned channel = blockIdx.y * columns + j;
            float total = 0;
            for (unsigned r = 0; r < s.slots; r++) total += shared[r * columns + j];
            if (channel < c) out[((size_t)blockIdx.x * K + k) * c + channel] = total;
        }
    }
}

/* The sum of the four threads of a warp that have the same column, in all of them. */
static __device__ inline double column_sum(double x)
{
    x += __shfl_xor_sync(~0u, x, FINISH_COLUMNS);
    return x + __shfl_xor_sync(~0u, x, 2 * FINISH_COLUMNS);
}

/* Bound by waiting, not by memory: all parts are asked for at once, and the block meets only once. */
template <int K, typename F>
__global__ void __launch_bounds__(FINISH_COLUMNS *FINISH_SLOTS)
    finish_kernel(const float *parts, unsigned count, unsigned c, F finish)
{
    enum { WARPS = FINISH_COLUMNS * FINISH_SLOTS / 32, EACH = WARPS / 4 };
    __shared__ double shared[K][WARPS][FINISH_COLUMNS];
    const unsigned lane = threadIdx.x % FINISH_COLUMNS, slot = threadIdx.x / FINISH_COLUMNS, warp = threadIdx.x / 32;
    const unsigned j = blockIdx.x * FINISH_COLUMNS + lane;
    double sums[K] = {};
    for (unsigned first = slot; first < count && j < c; first += FINISH_LOADS * FINISH_SLOTS) {
        float part[FINISH_LOADS][K];
#pragma unroll
        for (unsigned u = 0; u < FINISH_LOADS; u++)
            for (unsigned k = 0; k < K; k++) {
                const unsigned p = first + u * FINISH_SLOTS;
                part[u][k] = p < count ? parts[((size_t)p * K + k) * c + j] : 0;
            }
#pragma unroll
        for (unsigned u = 0; u < FINISH_LOADS; u++)
            for (unsigned k = 0; k < K; k++) sums[k] += (double)part[u][k];
    }
    for (int k = 0; k < K; k++) {
        const double total = column_sum(sums[k]);
        if (slot % 4 == 0) shared[k][warp][lane] = total;
    }
    __syncthreads();
    if (warp) return;
    for (int k = 0; k < K; k++) {
        sums[k] = 0;
        for (unsigned e = 0; e < EACH; e++) sums[k] += shared[k][slot * EACH + e][lane];
        sums[k] = column_sum(sums[k]);
    }
    if (slot == 0 && j < c) finish(j, sums);
}

/* Floats of memory that sums_run needs. */
static inline size_t sums_memory(int k, size_t rows, size_t c, int v)
{
    return (size_t)sums_spread(rows, c, v).blocks * (size_t)k * c;
}
template <int K, typename Finish>
static status finish_run(struct gpu *g, const float *parts, size_t count, size_t c, Finish finish)
{
    finish_kernel<K><<<(unsigned)size_div_up(c, FINISH_COLUMNS), FINISH_COLUMNS * FINISH_SLOTS, 0, g->stream>>>(
        parts, (unsigned)count, (unsigned)c, finish);
    return LAUNCHED(g, "the end of a sum over rows");
}
template <int K, int V, typename F, typename Finish>
static status sums_run(struct gpu *g, size_t rows, size_t c, float *memory, F f, Finish finish)
{
    if (c == 0) return OK;
    PASS(rows_fit(g, rows));
    const struct spread s = sums_spread(rows, c, V);
    sums_kernel<K, V><<<dim3(s.blocks, s.across), SPREAD_THREADS, 0, g->stream>>>(s, (unsigned)c, memory, f);
    PASS(LAUNCHED(g, "a sum over rows of maps"));
    return finish_run<K>(g, memory, s.blocks, c, finish);
}
#endif
