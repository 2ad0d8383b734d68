/* class_distance.cu - prototypical networks in one kernel: maps are averaged over their locations, classes over their
 * pictures, and queries compared with classes.
 *
 * One block a picture. Those of the support come first; a query's block averages its own map meanwhile, and then waits until
 * the support's are done. While blocks are no more than processors, all have a place and nobody waits for one that has none;
 * where they are more, the support's have a launch of their own, and the counter they leave is found complete. */
#include "cuda/gpu.cuh"

enum { BLOCK = 1024, WARPS = BLOCK / 32, ROW_LANES = 8, ROW_LOADS = 4, ROWS_A_WARP = 32 / ROW_LANES };
enum { SHARED_DOUBLES = 12000 }; /* for sums of classes */

struct mean_maps {
    const float *x; /* [pictures, channels, r] */
    int pictures, r;
};

struct class_distance {
    struct mean_maps of[2];  /* support, query */
    int channels, way, part; /* part: channels that are compared at a time */
    const int *labels;       /* [ns] */
    float scale;
    float *pooled;  /* [ns + nq, channels] */
    unsigned *meet; /* support pictures that are done, queries that are done; both 0 between calls */
    float *y;       /* [nq, way] */
    int first;      /* the picture of the launch's first block */
};

static __device__ inline float sum_of(float x) { return x; }
static __device__ inline float sum_of(float4 x) { return (x.x + x.y) + (x.z + x.w); }

/* The sum of a row of `n` values by ROW_LANES neighbouring lanes, of which this is number `lane`; right in the first. */
template <typename value> static __device__ inline double row_sum(const value *row, int n, int lane)
{
    double sum = 0;
    for (int i0 = lane; i0 < n; i0 += ROW_LOADS * ROW_LANES) {
        value v[ROW_LOADS];
#pragma unroll
        for (int i = 0; i < ROW_LOADS; i++) v[i] = i0 + i * ROW_LANES < n ? row[i0 + i * ROW_LANES] : value{};
        float part = 0;
#pragma unroll
        for (int i = 0; i < ROW_LOADS; i++) part += sum_of(v[i]);
        sum += (double)part;
    }
    for (int half = ROW_LANES / 2; half; half /= 2) sum += __shfl_down_sync(0xffffffffu, sum, half, ROW_LANES);
    return sum;
}

/* to[c] = the mean over the locations of channel c of a map. */
template <typename value> static __device__ inline void pool_map(const value *x, int channels, int n, int r, float *to)
{
    const int t = (int)threadIdx.x, lane = t % ROW_LANES, row = t / ROW_LANES;
#pragma unroll 2
    for (int c0 = 0; c0 < channels; c0 += WARPS * ROWS_A_WARP) { /* the same for all lanes of a warp */
        const int c = c0 + row;
        const double sum = row_sum(x + (size_t)min(c, channels - 1) * (size_t)n, n, lane);
        if (lane == 0 && c < channels) to[c] = (float)(sum / r);
    }
}

static __device__ inline void pool_picture(const struct class_distance &k, int picture)
{
    const bool query = picture >= k.of[0].pictures;
    const int r = query ? k.of[1].r : k.of[0].r;
    const size_t own = (size_t)(query ? picture - k.of[0].pictures : picture);
    const float *x = (query ? k.of[1].x : k.of[0].x) + own * (size_t)k.channels * (size_t)r;
    float *to = k.pooled + (size_t)picture * (size_t)k.channels;
    if (r % 4 == 0 && (size_t)x % sizeof(float4) == 0) pool_map((const float4 *)x, k.channels, r / 4, r, to);
    else pool_map(x, k.channels, r, r, to);
}

/* sums[class, channel - c0] of the support, for the channels of one part; in the order of the pictures. */
static __device__ inline void sum_classes(const struct class_distance &k, int c0, int width, double *sums)
{
    for (int e = (int)threadIdx.x; e < k.way * width; e += BLOCK) sums[e] = 0;
    __syncthreads();
    for (int c = (int)threadIdx.x; c < width; c += BLOCK)
        for (int i = 0; i < k.of[0].pictures; i++)
            sums[k.labels[i] * width + c] += (double)__ldcg(k.pooled + (size_t)i * (size_t)k.channels +
                                                            (size_t)(c0 + c));
    __syncthreads();
}

/* One warp a class: adds the squared distance over the channels of a part. */
static __device__ inline void add_distances(const struct class_distance &k, const float *query, int width,
                                            const double *sums, const int *counts, double *distance)
{
    const int lane = (int)threadIdx.x % 32;
    for (int own = (int)threadIdx.x / 32; own < k.way; own += WARPS) {
        double total = 0;
        for (int c = lane; c < width; c += 32) {
            const double apart = (double)query[c] - sums[own * width + c] / counts[own];
            total = fma(apart, apart, total);
        }
        for (int half = 16; half; half /= 2) total += __shfl_xor_sync(0xffffffffu, total, half);
        if (lane == 0) distance[own] += total;
    }
    __syncthreads();
}

static __device__ inline void wait_for_support(const struct class_distance &k)
{
    if (threadIdx.x == 0) {
        while (*(volatile unsigned *)k.meet < (unsigned)k.of[0].pictures) __nanosleep(20);
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
    extern __shared__ double sums[]; /* [way, part] */
    __shared__ double distance[CLASS_DISTANCE_WAY];
    __shared__ int counts[CLASS_DISTANCE_WAY];
    const int picture = k.first + (int)blockIdx.x, ns = k.of[0].pictures, t = (int)threadIdx.x;
    pool_picture(k, picture);
    if (picture < ns) {
        __threadfence();
        __syncthreads();
        if (t == 0) atomicAdd(k.meet, 1u);
        return;
    }
    if (t < k.way) {
        int count = 0;
        for (int i = 0; i < ns; i++) count += k.labels[i] == t;
        counts[t] = count;
        distance[t] = 0;
    }
    __syncthreads();
    wait_for_support(k);
    const float *query = k.pooled + (size_t)picture * (size_t)k.channels;
    for (int c0 = 0; c0 < k.channels; c0 += k.part) {
        const int width = min(k.part, k.channels - c0);
        sum_classes(k, c0, width, sums);
        add_distances(k, query + c0, width, sums, counts, distance);
    }
    if (t < k.way) k.y[(size_t)(picture - ns) * (size_t)k.way + (size_t)t] = (float)((double)k.scale * distance[t]);
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
    int processors = 0;
    for (size_t n : sizes)
        if (n > 0x7fffffff) return g->fail(ST_UNSUPPORTED, "maps of %zu numbers are too large for the GPU", n);
    PASS(gpu_scratch(g, (ns + nq) * channels * sizeof(float), &memory));
    struct class_distance k = {};
    k.of[0] = {reals<float>(a->support), (int)ns, (int)a->support->dim[2]};
    k.of[1] = {reals<float>(a->query), (int)nq, (int)a->query->dim[2]};
    k.channels = (int)channels;
    k.way = (int)way;
    k.part = (int)size_min(channels, SHARED_DOUBLES / way);
    k.labels = ints(a->labels);
    k.scale = (float)a->scale;
    k.pooled = (float *)memory;
    k.meet = g->meet;
    k.y = reals<float>(y);
    const size_t bytes = way * (size_t)k.part * sizeof(double);
    GPU_TRY(g, cudaFuncSetAttribute((const void *)class_distance_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    (int)(SHARED_DOUBLES * sizeof(double))));
    GPU_TRY(g, cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, g->number));
    if (ns + nq <= (size_t)processors) return launch(g, &k, 0, (int)(ns + nq), bytes);
    PASS(launch(g, &k, 0, (int)ns, bytes));
    return launch(g, &k, (int)ns, (int)(ns + nq), bytes);
}

void table_class_distance(struct prims p[DT_REALS]) { p[DT_F32].class_distance = class_distance; }
