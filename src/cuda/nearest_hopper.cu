/* nearest_hopper.cu - deep nearest neighbours on Hopper's matrix units: cosines stay in registers, and of each location and
 * group only the largest are written.
 *
 * Three launches: unit vectors in rows of 32 high and 32 low parts, as the product wants them in shared memory (units.cu); the
 * product, whose blocks keep the K largest of each group that their columns touch; and a merge of groups that are cut by the
 * border of a tile, with the sum over a query's locations.
 *
 * high high' is summed in singles, high low' + low high' in halves: that sum is 2^-11 of the other and needs its first 11 bits
 * only. Added to the same sums it would cost them two roundings more for each of their own (the units round towards zero, so
 * these do not cancel), and sums of its own in singles would leave no registers for 256 columns.
 *
 * Tiles of 128 rows and 256 columns: two warpgroups with 64 rows each. For 16 of the depth and one of the three products a
 * warpgroup reads 2 + 8 KB of shared memory in the 128 cycles that the matrix units take, 80 of 128 bytes a cycle, and copies
 * write 31 more. A tile reads 2.5 KB of the second-level cache for each row and column at C = 640, 116 MB for all of 10x10;
 * two blocks with the same columns copy half of these each for both, which leaves 77 MB. */
#include "cuda/cluster.cuh"
#include "cuda/nearest.cuh"
#include "cuda/wgmma_halves.cuh"

enum { GROUP = 128, GROUP_ROWS = 64, WARPS = 4, PAIR = 2 };
enum { MERGE_THREADS = 128, FEWEST_FEATURES = 8, MOST_K = 3 };
/* The halves' sums lose more than singles would with many channels: 2.3e-6 of the result at 1,800. */
enum { MOST_CHANNELS = 1024 };

/* A tile: a warpgroup that copies, GROUPS that multiply. */
enum {
    GROUPS = 2,
    ROWS = GROUPS * GROUP_ROWS,
    COLUMNS = 256,
    ROWS_BYTES = ROWS * ROW_BYTES,
    COLUMNS_BYTES = COLUMNS * ROW_BYTES,
    SLOT_BYTES = ROWS_BYTES + COLUMNS_BYTES,
    SLOTS = 4,
    SHARED_BYTES = SLOTS * SLOT_BYTES + 2 * SLOTS * sizeof(uint64_t),
    TILE_THREADS = (GROUPS + 1) * GROUP
};

struct search {
    const __half *query, *support;   /* [depth, query_rows, 64], [depth, support_rows, 64]: unit_maps.rows */
    size_t query_rows, support_rows; /* with what fills up the last tile, of no meaning */
    unsigned depth;                  /* in rows' 32 numbers */
    unsigned rows, columns, m;       /* locations of all queries, features of the support and of one group */
    unsigned pieces;                 /* of a group at most, when tiles cut it */
    float *best;                     /* [groups, pieces, K, rows]: largest first, times UNIT_SCALE^2 */
};

/* NaN wins in both: where one is among the numbers, all that is kept becomes NaN, as their sum would. */
static __device__ inline float larger_of(float a, float b)
{
    float c;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
    return c;
}
static __device__ inline float smaller_of(float a, float b)
{
    float c;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
    return c;
}

/* Keeps best [K], largest first. */
template <int K> static __device__ inline void keep(float x, float (&best)[K])
{
#pragma unroll
    for (int i = 0; i < K; i++) {
        const float top = larger_of(x, best[i]);
        x = smaller_of(x, best[i]);
        best[i] = top;
    }
}
template <int K> static __device__ inline void keep_none(float (&best)[K])
{
#pragma unroll
    for (int i = 0; i < K; i++) best[i] = -INFINITY;
}

/* The stages and their barriers: `full` when both operands have come, `empty` when both blocks of the pair are done, since each
 * copies into both. */
struct ring {
    uint32_t stages;
    uint64_t *full, *empty;
    __device__ ring(char *shared)
        : stages(shared_at(shared)), full((uint64_t *)(void *)(shared + SLOTS * SLOT_BYTES))
    {
        empty = full + SLOTS;
    }
};

/* By one thread. */
[[maybe_unused]] static __device__ inline void copy_all(const struct search &s, const struct ring &r)
{
    enum { HALF = COLUMNS_BYTES / PAIR };
    const unsigned rank = cluster_rank();
    const char *rows = (const char *)s.query + (size_t)blockIdx.x * ROWS_BYTES;
    const char *columns = (const char *)s.support + (size_t)blockIdx.y * COLUMNS_BYTES + rank * HALF;
    for (unsigned i = 0; i < s.depth; i++) {
        const unsigned stage = i % SLOTS, turn = i / SLOTS;
        const uint32_t to = r.stages + stage * SLOT_BYTES;
        if (turn > 0) barrier_wait(&r.empty[stage], (turn - 1) % 2);
        barrier_expect(&r.full[stage], SLOT_BYTES);
        copy_bulk(to, rows, ROWS_BYTES, &r.full[stage]);
        copy_bulk_to(to + ROWS_BYTES + rank * HALF, columns, HALF, &r.full[stage], (1 << PAIR) - 1);
        rows += s.query_rows * ROW_BYTES;
        columns += s.support_rows * ROW_BYTES;
    }
}

/* 32 of the depth: the high parts are the first half of a row, the low ones the second. */
static __device__ inline void multiply_stage(uint32_t rows, uint32_t columns, bool add, float (&c)[COLUMNS / 2],
                                             uint32_t (&small)[COLUMNS / 4])
{
    wgmma_begin();
#pragma unroll
    for (unsigned at = 0; at < ROW_BYTES / 2; at += 32) {
        const uint64_t high = matrix_rows(rows + at), low = matrix_rows(rows + ROW_BYTES / 2 + at);
        const uint64_t other_high = matrix_rows(columns + at), other_low = matrix_rows(columns + ROW_BYTES / 2 + at);
        wgmma_halves(c, high, other_high, add || at > 0);
        wgmma_halves(small, high, other_low, add || at > 0);
        wgmma_halves(small, low, other_high, true);
    }
    wgmma_commit();
}

static __device__ inline void hand_back(const struct ring &r, unsigned stage)
{
    if (threadIdx.x % 32 < PAIR) barrier_arrive_at(&r.empty[stage], threadIdx.x % 32);
}

/* By a warpgroup. A stage is handed back when the products of the next are under way. */
[[maybe_unused]] static __device__ inline void multiply_all(const struct search &s, const struct ring &r, float (&c)[COLUMNS / 2],
                                           uint32_t (&small)[COLUMNS / 4])
{
    const uint32_t own = r.stages + threadIdx.x / GROUP * GROUP_ROWS * ROW_BYTES, columns = r.stages + ROWS_BYTES;
    for (unsigned i = 0; i < s.depth; i++) {
        const unsigned stage = i % SLOTS;
        barrier_wait(&r.full[stage], i / SLOTS % 2);
        multiply_stage(own + stage * SLOT_BYTES, columns + stage * SLOT_BYTES, i > 0, c, small);
        wgmma_wait<1>();
        if (i > 0) hand_back(r, (i - 1) % SLOTS);
    }
    wgmma_wait<0>();
#pragma unroll
    for (int i = 0; i < COLUMNS / 4; i++) {
        const float2 two = __half22float2(*(const __half2 *)(const void *)&small[i]);
        c[2 * i] += two.x;
        c[2 * i + 1] += two.y;
    }
}

/* The K largest of each group that the tile's columns touch, of two rows a thread; the four threads of a row meet at last. */
template <int K>
static __device__ inline void search_tile(const struct search &s, const float (&c)[COLUMNS / 2], unsigned row)
{
    const unsigned first = blockIdx.y * COLUMNS, end = min(first + COLUMNS, s.columns);
    const int quarter = (int)threadIdx.x % 4;
    for (unsigned group = first / s.m; group * s.m < end; group++) {
        const int from = (int)max(group * s.m, first) - (int)first, to = (int)min(group * s.m + s.m, end) - (int)first;
        float best[2][K];
        keep_none(best[0]);
        keep_none(best[1]);
#pragma unroll
        for (int j = 0; j < COLUMNS / 8; j++) {
            if (8 * j + 8 <= from || 8 * j >= to) continue;
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const int column = 8 * j + 2 * quarter + e;
                const bool in = column >= from && column < to;
                keep(in ? c[4 * j + e] : -INFINITY, best[0]);
                keep(in ? c[4 * j + 2 + e] : -INFINITY, best[1]);
            }
        }
        float *to_best = s.best + ((size_t)group * s.pieces + (blockIdx.y - group * s.m / COLUMNS)) * K * s.rows;
#pragma unroll
        for (int half = 0; half < 2; half++) {
#pragma unroll
            for (int apart = 1; apart < 4; apart *= 2) {
                float other[K];
#pragma unroll
                for (int i = 0; i < K; i++) other[i] = __shfl_xor_sync(0xffffffffu, best[half][i], apart);
#pragma unroll
                for (int i = 0; i < K; i++) keep(other[i], best[half]);
            }
            if (quarter == half && row + 8 * half < s.rows)
#pragma unroll
                for (int i = 0; i < K; i++) to_best[(size_t)i * s.rows + row + 8 * half] = best[half][i];
        }
    }
}

template <int K>
__global__ void __launch_bounds__(TILE_THREADS, 1) search_kernel(const __grid_constant__ struct search s)
{
#if HOPPER
    extern __shared__ __align__(1024) char shared[];
    const struct ring r(shared);
    const unsigned group = threadIdx.x / GROUP;
    if (threadIdx.x == 0) {
        for (int i = 0; i < SLOTS; i++) {
            barrier_make(&r.full[i], 1);
            barrier_make(&r.empty[i], PAIR * GROUPS * WARPS);
        }
        barriers_made();
    }
    cluster_arrive();
    cluster_wait();
    if (group == GROUPS) {
        registers_set<false, 40>();
        if (threadIdx.x == GROUPS * GROUP) copy_all(s, r);
        cluster_arrive();
    } else {
        registers_set<true, 232>();
        float c[COLUMNS / 2];
        uint32_t small[COLUMNS / 4];
        multiply_all(s, r, c, small);
        cluster_arrive();
        const unsigned row = blockIdx.x * ROWS + group * GROUP_ROWS + threadIdx.x % GROUP / 32 * 16 +
                             threadIdx.x % 32 / 4;
        search_tile<K>(s, c, row);
    }
    cluster_wait(); /* a block stays while the other may still arrive at its barriers */
#endif
}

/* One block a query and group: the k largest of each location from the group's pieces, and their sum. */
template <int K>
__global__ void __launch_bounds__(MERGE_THREADS)
    merge_kernel(const struct search s, unsigned rq, int k, double scale, float *y)
{
    __shared__ double sums[MERGE_THREADS / 32];
    const unsigned group = blockIdx.y, pieces = (group * s.m + s.m - 1) / COLUMNS - group * s.m / COLUMNS + 1;
    const float *from = s.best + (size_t)group * s.pieces * K * s.rows + (size_t)blockIdx.x * rq;
    double sum = 0;
    for (unsigned i = threadIdx.x; i < rq; i += MERGE_THREADS) {
        float best[K];
        keep_none(best);
#pragma unroll 2
        for (unsigned piece = 0; piece < pieces; piece++)
#pragma unroll
            for (int at = 0; at < K; at++) keep(from[((size_t)piece * K + (size_t)at) * s.rows + i], best);
#pragma unroll
        for (int at = 0; at < K; at++) sum += at < k ? (double)best[at] : 0;
    }
    for (int half = 16; half; half /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, half);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x) return;
    sum = 0;
    for (int i = 0; i < MERGE_THREADS / 32; i++) sum += sums[i];
    y[(size_t)blockIdx.x * gridDim.y + group] = (float)(scale * sum);
}

struct work {
    struct search s;
    struct units u;
    size_t groups;
    int k_kept;
};

/* Whether tiles keep at least half of the processors' time busy. */
static bool worth_tiles(const struct gpu *g, size_t rows, size_t columns)
{
    const size_t processors = (size_t)g->processors;
    const size_t tiles = size_round_up(size_div_up(rows, ROWS), PAIR) * size_div_up(columns, COLUMNS);
    const size_t turns = size_div_up(tiles, processors);
    return 2 * rows * columns >= turns * processors * ROWS * COLUMNS;
}

static struct unit_maps maps_of(const float *x, size_t pictures, size_t r, size_t row_count)
{
    struct unit_maps o = {};
    o.x = x;
    o.pictures = (int)pictures;
    o.r = (int)r;
    o.row_count = row_count;
    return o;
}

static void plan(const struct nearest_args *a, const struct cosines *c, struct work *w)
{
    struct search *s = &w->s;
    *w = {};
    s->rows = (unsigned)(c->nq * c->rq);
    s->columns = (unsigned)(c->ns * c->rs);
    s->m = (unsigned)(s->columns / a->groups);
    s->depth = (unsigned)size_div_up(c->channels, UNIT_ROW);
    s->query_rows = size_round_up(s->rows, PAIR * ROWS);
    s->support_rows = size_round_up(s->columns, COLUMNS);
    s->pieces = (s->m + 2 * COLUMNS - 2) / COLUMNS;
    w->groups = a->groups;
    w->k_kept = a->k == 1 ? 1 : MOST_K;
    w->u.channels = (int)c->channels;
    w->u.padded = (int)(s->depth * UNIT_ROW);
    w->u.of[0] = maps_of(c->support, c->ns, c->rs, s->support_rows);
    w->u.of[1] = maps_of(c->query, c->nq, c->rq, s->query_rows);
}

static void lay(struct work *w, struct cursor *memory)
{
    struct search *s = &w->s;
    w->u.of[0].rows = cursor_take<__half>(memory, s->depth * s->support_rows * 2 * UNIT_ROW);
    w->u.of[1].rows = cursor_take<__half>(memory, s->depth * s->query_rows * 2 * UNIT_ROW);
    w->u.of[0].inverse = cursor_take<float>(memory, s->columns);
    w->u.of[1].inverse = cursor_take<float>(memory, s->rows);
    s->support = w->u.of[0].rows;
    s->query = w->u.of[1].rows;
    s->best = cursor_take<float>(memory, w->groups * s->pieces * (size_t)w->k_kept * s->rows);
}

template <int K> static status search_run(struct gpu *g, const struct search *s)
{
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute cluster = {};
    GPU_TRY(g, cudaFuncSetAttribute((const void *)search_kernel<K>,
                                    cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES));
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {PAIR, 1, 1};
    config.gridDim = dim3((unsigned)(s->query_rows / ROWS), (unsigned)(s->support_rows / COLUMNS));
    config.blockDim = dim3(TILE_THREADS);
    config.dynamicSmemBytes = SHARED_BYTES;
    config.stream = g->stream;
    config.attrs = &cluster;
    config.numAttrs = 1;
    GPU_TRY(g, cudaLaunchKernelEx(&config, search_kernel<K>, *s));
    return LAUNCHED(g, "nearest features");
}

template <int K>
static status run(struct gpu *g, const struct nearest_args *a, const struct cosines *c, const struct work *w, float *y)
{
    PASS(units_run(g, &w->u));
    PASS(search_run<K>(g, &w->s));
    const double scale = (double)(float)a->scale / (double)(UNIT_SCALE * UNIT_SCALE);
    merge_kernel<K><<<dim3((unsigned)c->nq, (unsigned)a->groups), MERGE_THREADS, 0, g->stream>>>(
        w->s, (unsigned)c->rq, (int)a->k, scale, y);
    return LAUNCHED(g, "sums of nearest features");
}

/* Groups of very few features would have more borders than columns to search; small problems take less time by cuBLAS. */
bool nearest_hopper_serves(struct gpu *g, const struct nearest_args *a, const struct cosines *c)
{
    const size_t m = c->ns * c->rs / a->groups;
    return a->k <= MOST_K && m >= FEWEST_FEATURES && c->channels <= MOST_CHANNELS && gpu_is_hopper(g) &&
           size_div_up(c->ns * c->rs, COLUMNS) <= 0xffff && worth_tiles(g, c->nq * c->rq, c->ns * c->rs);
}

status nearest_hopper(struct gpu *g, const struct nearest_args *a, const struct cosines *c, float *y)
{
    struct work w;
    struct cursor cursor = {};
    void *memory;
    plan(a, c, &w);
    lay(&w, &cursor);
    PASS(gpu_scratch(g, cursor.bytes, &memory));
    cursor = {(char *)memory, 0};
    lay(&w, &cursor);
    return w.k_kept == 1 ? run<1>(g, a, c, &w, y) : run<MOST_K>(g, a, c, &w, y);
}
