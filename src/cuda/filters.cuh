/* filters.cuh - filters between the order of parameters, f32 [out, in, taps], and that of tensor cores, T [out, taps, wide]
 * with wide >= in, a multiple of 8.
 *
 * A block takes some channels of one filter through shared memory, so that both sides are touched in rows. */
#ifndef CUDA_FILTERS_CUH
#define CUDA_FILTERS_CUH
#include "cuda/half.cuh"

template <typename T> static __device__ inline T narrowed(float x);
template <> __device__ inline float narrowed<float>(float x) { return x; }
template <> __device__ inline bf16 narrowed<bf16>(float x) { return __float2bfloat16(x); }
static __device__ inline float widened(float x) { return x; }
static __device__ inline float widened(bf16 x) { return __bfloat162float(x); }

/* Two neighbours; at is even. */
static __device__ inline float2 pair_at(const float *at) { return *(const float2 *)(const void *)at; }
static __device__ inline float2 pair_at(const bf16 *at)
{
    return __bfloat1622float2(*(const __nv_bfloat162 *)(const void *)at);
}
static __device__ inline void put_pair(float *at, float a, float b) { *(float2 *)(void *)at = make_float2(a, b); }
static __device__ inline void put_pair(bf16 *at, float a, float b) { *(uint32_t *)(void *)at = pair_of(a, b); }

struct filters {
    unsigned out, in, wide, taps;
    unsigned piece; /* channels of a block, a multiple of 8 */
};
/* FILTER_NUMBERS: what a block takes where a filter has more; FILTER_MOST: what shared memory holds. */
enum { FILTER_THREADS = 256, FILTER_NUMBERS = 1152, FILTER_MOST = 12288, FILTER_COLUMNS = 64 };

static inline status filters_of(struct gpu *g, size_t out, size_t in, size_t wide, size_t taps, struct filters *f)
{
    const size_t most = FILTER_NUMBERS / size_max(taps, 1), whole = most / 8 * 8;
    *f = {(unsigned)out, (unsigned)in, (unsigned)wide, (unsigned)taps, (unsigned)size_min(wide, size_max(whole, 8))};
    return f->piece * taps <= FILTER_MOST ? OK : g->fail(ST_UNSUPPORTED, "filters of %zu pixels are too large", taps);
}
static inline dim3 filters_grid(const struct filters *f) { return dim3(f->out, (f->wide + f->piece - 1) / f->piece); }
static inline size_t filters_shared(const struct filters *f) { return (size_t)f->piece * f->taps * sizeof(float); }

/* f(tap, channel of the piece) for every second channel: a warp takes up to 64 neighbours of a tap at a time. */
template <typename F> static __device__ inline void by_taps(unsigned taps, unsigned channels, F f)
{
    const unsigned lane = threadIdx.x % 32, groups = (channels + FILTER_COLUMNS - 1) / FILTER_COLUMNS;
    for (unsigned unit = threadIdx.x / 32; unit < taps * groups; unit += FILTER_THREADS / 32) {
        const unsigned tap = unit / groups, channel = (unit - tap * groups) * FILTER_COLUMNS + lane * 2;
        if (channel < channels) f(tap, channel);
    }
}

/* Each filter times its scale, where there are any. */
template <typename T>
__global__ void __launch_bounds__(FILTER_THREADS)
    order_kernel(const struct filters s, const float *from, const float *scale, T *to)
{
    extern __shared__ float shared[]; /* [channel of the piece, tap] */
    const unsigned filter = blockIdx.x, first = blockIdx.y * s.piece, channels = min(s.piece, s.wide - first);
    const unsigned there = first < s.in ? min(channels, s.in - first) : 0; /* the others are 0 */
    const float *own = from + ((size_t)filter * s.in + first) * s.taps, by = scale ? scale[filter] : 1;
#pragma unroll 4
    for (unsigned i = threadIdx.x; i < there * s.taps; i += FILTER_THREADS) shared[i] = own[i];
    __syncthreads();
    by_taps(s.taps, channels, [&](unsigned tap, unsigned c) {
        const float a = c < there ? shared[c * s.taps + tap] : 0,
                    b = c + 1 < there ? shared[(c + 1) * s.taps + tap] : 0;
        put_pair(to + ((size_t)filter * s.taps + tap) * s.wide + first + c, by * a, by * b);
    });
}

/* to += from */
template <typename T>
__global__ void __launch_bounds__(FILTER_THREADS) add_kernel(const struct filters s, const T *from, float *to)
{
    extern __shared__ float shared[]; /* [channel of the piece, tap] */
    const unsigned filter = blockIdx.x, first = blockIdx.y * s.piece, channels = min(s.piece, s.wide - first);
    const unsigned there = first < s.in ? min(channels, s.in - first) : 0;
    float *own = to + ((size_t)filter * s.in + first) * s.taps;
    by_taps(s.taps, channels, [&](unsigned tap, unsigned c) {
        const float2 v = pair_at(from + ((size_t)filter * s.taps + tap) * s.wide + first + c);
        shared[c * s.taps + tap] = v.x;
        shared[(c + 1) * s.taps + tap] = v.y;
    });
    __syncthreads();
#pragma unroll 4
    for (unsigned i = threadIdx.x; i < there * s.taps; i += FILTER_THREADS) own[i] += shared[i];
}

template <typename T>
static status filters_order(struct gpu *g, const struct filters *f, const float *from, const float *scale, T *to)
{
    if (f->out == 0 || f->wide == 0) return OK;
    order_kernel<<<filters_grid(f), FILTER_THREADS, filters_shared(f), g->stream>>>(*f, from, scale, to);
    return LAUNCHED(g, "filters for tensor cores");
}
template <typename T> static status filters_add(struct gpu *g, const struct filters *f, const T *from, float *to)
{
    if (f->out == 0 || f->wide == 0) return OK;
    add_kernel<<<filters_grid(f), FILTER_THREADS, filters_shared(f), g->stream>>>(*f, from, to);
    return LAUNCHED(g, "sums of tensor cores for filters");
}
#endif
