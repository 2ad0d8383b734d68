/* class_distance.cu - prototypical networks in one kernel: maps are averaged over their locations, classes over their
 * pictures, and queries compared with classes.
 *
 * One block a query, and as many for each picture of the support as there are processors left, so that the support is done
 * first. A query's block averages its own map meanwhile, and then waits until the support's are done. While blocks are no
 * more than processors, all have a place and nobody waits for one that has none; where they are more, the support's have a
 * launch of their own, and the counter they leave is found complete. */
#include "cuda/gpu.cuh"

enum { BLOCK = 1024, WARPS = BLOCK / 32, ROW_LANES = 8, ROW_LOADS = 4, BLOCK_ROWS = BLOCK / ROW_LANES };
enum { SHARED_DOUBLES = 5400 }; /* for sums of classes: within what every kernel may have without asking */
enum { MOST_PIECES = 8, AT_ONCE = 8 };

struct mean_maps {
    const float *x; /* [pictures, channels, r] */
    int pictures, r;
};

struct class_distance {
    struct mean_maps of[2];  /* support, query */
    int channels, way, part; /* part: channels that are compared at a time */
    int pieces;              /* blocks of a support picture */
    const int *labels;       /* [ns] */
    float scale;
    float *pooled;  /* [ns + nq, channels] */
    unsigned *meet; /* support blocks that are done, queries that are done; both 0 between calls */
    float *y;       /* [nq, way] */
    int first;      /* the number of the launch's first block */
};

static __device__ inline float sum_of(float x) { return x; }
static __device__ inline float sum_of(float4 x) { return (x.x + x.y) + (x.z + x.w); }

/* The sums of ROWS rows of `n` values, `apart` from each other, by ROW_LANES neighbouring lanes, of which this is number
 * `lane`; right in the first. Of `live` rows: the others are not read. All loads of a turn are under way together. */
template <int ROWS, typename value>
static __device__ inline void row_sums(const value *row, size_t apart, int live, int n, int lane, double (&sums)[ROWS])
{
#pragma unroll
    for (int k = 0; k < ROWS; k++) sums[k] = 0;
    for (int i0 = lane; i0 < n; i0 += ROW_LOADS * ROW_LANES) {
        value v[ROWS][ROW_LOADS];
#pragma unroll
        for (int k = 0; k < ROWS; k++)
#pragma unroll
            for (int i = 0; i < ROW_LOADS; i++) {
                const int at = i0 + i * ROW_LANES;
                v[k][i] = k < live && at < n ? row[(size_t)k * apart + (size_t)at] : value{};
            }
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            float part = 0;
#pragma unroll
            for (int i = 0; i < ROW_LOADS; i++) part += sum_of(v[k][i]);
            sums[k] += (double)part;
        }
    }
#pragma unroll
    for (int k = 0; k < ROWS; k++)
        for (int half = ROW_LANES / 2; half; half /= 2)
            sums[k] += __shfl_down_sync(0xffffffffu, sums[k], half, ROW_LANES);
}

/* to[c] = the mean over the locations of channel c of a map, for channels [begin, end). */
template <int ROWS, typename value>
static __device__ inline void pool_map(const value *x, int begin, int end, int n, double share, float *to)
{
    const int t = (int)threadIdx.x, lane = t % ROW_LANES, row = t / ROW_LANES;
    for (int c0 = begin; c0 < end; c0 += ROWS * BLOCK_ROWS) { /* the same for all lanes of a warp */
        const int c = c0 + row, live = c < end ? (end - c + BLOCK_ROWS - 1) / BLOCK_ROWS : 0;
        double sums[ROWS];
        row_sums<ROWS>(x + (size_t)c * (size_t)n, (size_t)BLOCK_ROWS * (size_t)n, live, n, lane, sums);
#pragma unroll
        for (int k = 0; k < ROWS; k++)
            if (lane == 0 && k < live) to[c + k * BLOCK_ROWS] = (float)(sums[k] * share);
    }
}

/* Picture number `own` of the maps, to the line of `pooled` that begins at `to`. */
static __device__ inline void pool_picture(const struct class_distance &k, const struct mean_maps &maps, int own,
                                           int begin, int end, float *to)
{
    const float *x = maps.x + (size_t)own * (size_t)k.channels * (size_t)maps.r;
    const double share = 1 / (double)maps.r;
    if (maps.r % 4 == 0 && (size_t)x % sizeof(float4) == 0)
        pool_map<2>((const float4 *)x, begin, end, maps.r / 4, share, to);
    else pool_map<5>(x, begin, end, maps.r, share, to);
}

/* A piece of the channels of one support picture. */
static __device__ inline void pool_support(const struct class_distance &k, int block)
{
    const int picture = block / k.pieces, size = (k.channels + k.pieces - 1) / k.pieces,
              begin = block % k.pieces * size;
    pool_picture(k, k.of[0], picture, begin, min(k.channels, begin + size),
                 k.pooled + (size_t)picture * (size_t)k.channels);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(k.meet, 1u);
}

/* sums[class, channel - c0] of the support, for the channels of one part, in the order of the pictures; the query's own
 * channels are the last line. */
static __device__ inline void sum_classes(const struct class_distance &k, const float *query, int c0, int width,
                                          double *sums)
{
    const int ns = k.of[0].pictures;
    for (int c = (int)threadIdx.x; c < width; c += BLOCK) {
        const float *from = k.pooled + c0 + c;
        const float own = query[c0 + c];
        for (int i = 0; i < k.way; i++) sums[i * width + c] = 0;
        for (int i0 = 0; i0 < ns; i0 += AT_ONCE) {
            float v[AT_ONCE];
            int label[AT_ONCE];
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) {
                v[i] = i0 + i < ns ? __ldcg(from + (size_t)(i0 + i) * (size_t)k.channels) : 0;
                label[i] = i0 + i < ns ? __ldg(k.labels + i0 + i) : 0;
            }
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++)
                if (i0 + i < ns) sums[label[i] * width + c] += (double)v[i];
        }
        sums[k.way * width + c] = (double)own;
    }
    __syncthreads();
}

/* Adds to thread number `class` its squared distance over the channels of a part. All warps share the classes' lines. */
static __device__ inline void add_distances(const struct class_distance &k, int width, const double *sums,
                                            const double *shares, double *partial, double *distance)
{
    const int t = (int)threadIdx.x, lane = t % 32, each = k.way < WARPS ? WARPS / k.way : 1; /* warps of a class */
    const double *query = sums + k.way * width;
    for (int unit = t / 32; unit < k.way * each; unit += WARPS) {
        const int own = unit / each;
        double total = 0;
        for (int c = unit % each * 32 + lane; c < width; c += each * 32) {
            const double apart = query[c] - sums[own * width + c] * shares[own];
            total = fma(apart, apart, total);
        }
        for (int half = 16; half; half /= 2) total += __shfl_xor_sync(0xffffffffu, total, half);
        if (lane == 0) partial[unit] = total;
    }
    __syncthreads();
    if (t < k.way)
        for (int i = 0; i < each; i++) *distance += partial[t * each + i];
}

static __device__ inline void wait_for_support(const struct class_distance &k)
{
    if (threadIdx.x == 0) {
        while (*(volatile unsigned *)k.meet < (unsigned)(k.of[0].pictures * k.pieces)) __nanosleep(20);
        __threadfence();
    }
    __syncthreads();
}

/* The last query makes the counters ready for the next call. */
static __device__ inline void leave(const struct class_distance &k)
{
    if (threadIdx.x || atomicAdd(k.meet + 1, 1u) + 1 < (unsigned)k.of[1].pictures) return;
    k.meet[0] = 0;
    k.meet[1] = 0;
}

__global__ void __launch_bounds__(BLOCK) class_distance_kernel(const struct class_distance k)
{
    extern __shared__ double sums[]; /* [way + 1, part] */
    __shared__ double shares[CLASS_DISTANCE_WAY], partial[CLASS_DISTANCE_WAY];
    const int block = k.first + (int)blockIdx.x, ns = k.of[0].pictures, own = block - ns * k.pieces;
    const int t = (int)threadIdx.x;
    if (own < 0) {
        pool_support(k, block);
        return;
    }
    if (t < k.way) {
        int count = 0;
        for (int i = 0; i < ns; i++) count += __ldg(k.labels + i) == t;
        shares[t] = 1 / (double)count;
    }
    float *query = k.pooled + (size_t)(ns + own) * (size_t)k.channels;
    pool_picture(k, k.of[1], own, 0, k.channels, query);
    __syncthreads();
    wait_for_support(k);
    double distance = 0; /* to class t */
    for (int c0 = 0; c0 < k.channels; c0 += k.part) {
        const int width = min(k.part, k.channels - c0);
        sum_classes(k, query, c0, width, sums);
        add_distances(k, width, sums, shares, partial, &distance);
    }
    if (t < k.way) k.y[(size_t)own * (size_t)k.way + (size_t)t] = (float)((double)k.scale * distance);
    leave(k);
}

static status launch(struct gpu *g, struct class_distance *k, int first, int end, size_t shared_bytes)
{
    k->first = first;
    class_distance_kernel<<<(unsigned)(end - first), BLOCK, shared_bytes, g->stream>>>(*k);
    return LAUNCHED(g, "class_distance");
}

static status class_distance(struct device *d, const struct class_distance_args *a, tensor *y)
{
    struct gpu *g = gpu_enter(d);
    const size_t sizes[] = {count_of(a->support), count_of(a->query)}, ns = a->support->dim[0], nq = a->query->dim[0];
    const size_t channels = a->query->dim[1], way = y->dim[1];
    void *memory;
    const size_t processors = (size_t)g->processors;
    for (size_t n : sizes)
        if (n > 0x7fffffff) return g->fail(ST_UNSUPPORTED, "maps of %zu numbers are too large for the GPU", n);
    PASS(gpu_scratch(g, (ns + nq) * channels * sizeof(float), &memory));
    struct class_distance k = {};
    k.of[0] = {reals<float>(a->support), (int)ns, (int)a->support->dim[2]};
    k.of[1] = {reals<float>(a->query), (int)nq, (int)a->query->dim[2]};
    k.channels = (int)channels;
    k.way = (int)way;
    k.part = (int)size_min(channels, SHARED_DOUBLES / (way + 1));
    k.labels = ints(a->labels);
    k.scale = (float)a->scale;
    k.pooled = (float *)memory;
    k.meet = g->meet;
    k.y = reals<float>(y);
    const size_t bytes = (way + 1) * (size_t)k.part * sizeof(double);
    const bool together = ns + nq <= processors;
    k.pieces = together ? (int)size_min(MOST_PIECES, (processors - nq) / ns) : 1;
    const int supports = (int)ns * k.pieces;
    if (together) return launch(g, &k, 0, supports + (int)nq, bytes);
    PASS(launch(g, &k, 0, supports, bytes));
    return launch(g, &k, supports, supports + (int)nq, bytes);
}

void table_class_distance(struct prims p[DT_REALS]) { p[DT_F32].class_distance = class_distance; }
