/* group.cuh - sums and maxima over groups of threads, always along the same tree, so that results never vary.
 *
 * A block of THREADS is cut into groups of `slots` threads, each of which goes through one vector of a tensor that is
 * seen as [outer, n, inner]. With inner 1 the threads of a group are neighbours; otherwise neighbours belong to
 * neighbouring vectors, so that reads are contiguous either way. */
#ifndef CUDA_GROUP_CUH
#define CUDA_GROUP_CUH
#include "cuda/gpu.cuh"

struct group {
    size_t vector;    /* which one */
    size_t offset;    /* of its first element */
    size_t n, step;   /* its length, 0 when there is no such vector, and the distance of its elements */
    unsigned slot, slots; /* this thread's place in the group; it takes the elements slot, slot + slots, ... */
    bool first;       /* the one thread that writes what belongs to the whole vector */
    double *shared;   /* [THREADS] */
    unsigned at, hop; /* the group's numbers lie at `at`, `hop` apart */

    __device__ double sum(double x) const
    {
        shared[at + slot * hop] = x;
        for (unsigned half = slots / 2; half; half /= 2) {
            __syncthreads();
            if (slot < half) shared[at + slot * hop] += shared[at + (slot + half) * hop];
        }
        __syncthreads();
        x = shared[at];
        __syncthreads();
        return x;
    }
    __device__ double max(double x) const
    {
        shared[at + slot * hop] = x;
        for (unsigned half = slots / 2; half; half /= 2) {
            __syncthreads();
            if (slot < half) shared[at + slot * hop] = fmax(shared[at + slot * hop], shared[at + (slot + half) * hop]);
        }
        __syncthreads();
        x = shared[at];
        __syncthreads();
        return x;
    }
};

/* f(group) for every vector; all threads of the block call it, those without a vector with n = 0. */
template <typename F> __global__ void along_kernel(struct axis a, unsigned slots, F f)
{
    __shared__ double shared[THREADS];
    const unsigned lanes = THREADS / slots, t = threadIdx.x;
    const unsigned lane = a.inner == 1 ? t / slots : t % lanes;
    struct group g;
    g.slots = slots;
    g.slot = a.inner == 1 ? t % slots : t / lanes;
    g.vector = (size_t)blockIdx.x * lanes + lane;
    const bool real_vector = g.vector < a.outer * a.inner;
    g.offset = real_vector ? g.vector / a.inner * a.n * a.inner + g.vector % a.inner : 0;
    g.n = real_vector ? a.n : 0;
    g.step = a.inner;
    g.first = real_vector && g.slot == 0;
    g.shared = shared;
    g.at = a.inner == 1 ? lane * slots : lane;
    g.hop = a.inner == 1 ? 1 : lanes;
    f(g);
}

template <typename F> static status along(struct gpu *g, struct axis a, F f)
{
    const size_t vectors = a.outer * a.inner;
    unsigned slots = 1;
    while (slots < THREADS && slots < a.n) slots *= 2;
    if (a.inner > 1 && slots > THREADS / 32) slots = THREADS / 32; /* 32 neighbouring vectors a block */
    if (vectors == 0) return OK;
    const size_t blocks = size_div_up(vectors, THREADS / slots);
    if (blocks > 0x7fffffff) return g->fail(ST_UNSUPPORTED, "%zu vectors are too many for the GPU", vectors);
    along_kernel<<<(unsigned)blocks, THREADS, 0, g->stream>>>(a, slots, f);
    return LAUNCHED(g, "a kernel along an axis");
}

/* Sums over rows. out[k * columns + j] = sum over i < rows of the k-th number that f(i, j, sums) adds, k < K. Rows are cut
 * into parts by shape alone, and the parts are added in order. */
enum { SUM_LANES = 32, SUM_ROWS = THREADS / SUM_LANES, PART_ROWS = 256 };

template <int K, typename F>
__global__ void rows_kernel(size_t rows, size_t columns, size_t part, size_t parts, double *out, F f)
{
    __shared__ double shared[K][SUM_ROWS][SUM_LANES];
    const unsigned lane = threadIdx.x % SUM_LANES, slot = threadIdx.x / SUM_LANES;
    const size_t j = (size_t)blockIdx.x * SUM_LANES + lane, from = blockIdx.y * part;
    const size_t to = from + part < rows ? from + part : rows;
    double sums[K] = {};
    if (j < columns)
        for (size_t i = from + slot; i < to; i += SUM_ROWS) f(i, j, sums);
    for (int k = 0; k < K; k++) shared[k][slot][lane] = sums[k];
    for (unsigned half = SUM_ROWS / 2; half; half /= 2) {
        __syncthreads();
        if (slot < half)
            for (int k = 0; k < K; k++) shared[k][slot][lane] += shared[k][slot + half][lane];
    }
    if (slot == 0 && j < columns)
        for (int k = 0; k < K; k++) out[(blockIdx.y * K + k) * columns + j] = shared[k][0][lane];
}

static inline size_t row_parts(size_t rows, size_t columns)
{
    const size_t across = size_div_up(columns, SUM_LANES);
    return size_max(1, size_min(size_div_up(rows, PART_ROWS), size_max(1, 1024 / size_max(1, across))));
}
/* Doubles of memory that rows_sum needs besides its result. */
static inline size_t rows_memory(int k, size_t rows, size_t columns)
{
    return row_parts(rows, columns) * (size_t)k * columns;
}

template <int K, typename F>
static status rows_sum(struct gpu *g, size_t rows, size_t columns, double *memory, double *out, F f)
{
    const size_t parts = row_parts(rows, columns), part = size_div_up(rows, parts), n = K * columns;
    if (columns == 0) return OK;
    const dim3 grid((unsigned)size_div_up(columns, SUM_LANES), (unsigned)parts);
    rows_kernel<K><<<grid, THREADS, 0, g->stream>>>(rows, columns, part, parts, parts == 1 ? out : memory, f);
    PASS(LAUNCHED(g, "a sum over rows"));
    if (parts == 1) return OK;
    return each(g, n, [=] __device__(size_t i) {
        double sum = 0;
        for (size_t p = 0; p < parts; p++) sum += memory[p * n + i];
        out[i] = sum;
    });
}
#endif
