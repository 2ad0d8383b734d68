/* conv_64.cu - 3x3 convolutions from 64 to 64 channels over bf16 maps, stride 1, on Hopper's tensor cores.
 *
 * All pictures are one stream of places: rows are parted by one place of zeros, pictures by one row of them, so that a tap is
 * one distance in the stream for every place, and any height and width serve. A block walks over tiles of the stream. One
 * warpgroup copies a tile with its border into shared memory; two take the tiles in turn, each multiplying while the other
 * writes its results. The product is [64 filters, 64 x 9] times [64 x 9, TILE places], the filters as its rows: so a number
 * of the map serves 64 products when it is read from shared memory, and a filter's 256. */
#include "cuda/mixed.cuh"
#include "cuda/wgmma.cuh"

enum { CHANNELS = 64, TAPS = 9, PIECES = CHANNELS / 8, TILE = 256, GROUP = 128, CONV_THREADS = 3 * GROUP };
/* A tap's planes of filters; the next tap begins on other banks, since neighbours in the weights are taps. */
enum { FILTER_PLANE = CHANNELS * 16, FILTER_TAP = PIECES * FILTER_PLANE + 16, FILTER_BYTES = TAPS * FILTER_TAP };
/* Tables of a tile's pixels: while one is written, results of the four tiles before may still need theirs. */
enum { TABLES = 5, BARRIER_BYTES = 64, MOST_SHARED = 227 * 1024 };
/* Fewer tiles than so many a block do not make up for loading the filters: cuDNN is faster. */
enum { STREAM_BLOCKS = 132, FEWEST_TILES = 2 * STREAM_BLOCKS };

struct stream { /* of places */
    unsigned n, h, w, pitch, places;
    unsigned border, span; /* before a tile and behind it; places of a tile with both, in eights */
    unsigned tiles;
};

static struct stream stream_of(const tensor *x)
{
    struct stream s = {(unsigned)x->dim[0], (unsigned)x->dim[1], (unsigned)x->dim[2], (unsigned)x->dim[2] + 1, 0, 0, 0, 0};
    s.places = s.n * (s.h + 1) * s.pitch;
    s.border = s.pitch + 1;
    s.span = (unsigned)size_round_up(TILE + 2 * s.border, 8);
    s.tiles = (unsigned)size_div_up(s.places, TILE);
    return s;
}
static size_t shared_bytes(const struct stream *s)
{
    return 2 * (size_t)s->span * ROW_BYTES + TABLES * s->span * sizeof(int) + FILTER_BYTES + CHANNELS * sizeof(float) +
           BARRIER_BYTES;
}

/* The pixel at a place, or -1; the place may lie before the stream or behind it. */
static __device__ inline int pixel_at(const struct stream &s, int place)
{
    const unsigned line = (unsigned)place / s.pitch, picture = line / (s.h + 1), row = line - picture * (s.h + 1);
    const unsigned column = (unsigned)place - line * s.pitch;
    const bool there = (unsigned)place < s.places && row < s.h && column < s.w;
    return there ? (int)((picture * s.h + row) * s.w + column) : -1;
}

/* Weights f32 [out, in, 3, 3] into planes of shared memory [tap, piece of 8 inputs][row][8]. For the gradient of the map,
 * filters change sides and are turned about. Rows are in such an order that a thread ends up with four neighbours. */
template <bool TURNED> static __device__ inline void load_filters(const float *weights, const float *scale, char *to)
{
    enum { EACH = CHANNELS * CHANNELS * TAPS / CONV_THREADS, AT_ONCE = 16 };
    static_assert(EACH % AT_ONCE == 0, "whole rounds");
    for (unsigned first = threadIdx.x; first < EACH * CONV_THREADS; first += AT_ONCE * CONV_THREADS) {
        float v[AT_ONCE];
#pragma unroll
        for (unsigned u = 0; u < AT_ONCE; u++) v[u] = __ldg(weights + first + u * CONV_THREADS);
#pragma unroll
        for (unsigned u = 0; u < AT_ONCE; u++) {
            const unsigned i = first + u * CONV_THREADS, pair = i / TAPS, tap = i - pair * TAPS;
            const unsigned outer = pair / CHANNELS, inner = pair % CHANNELS;
            const unsigned out = TURNED ? inner : outer, in = TURNED ? outer : inner, at = TURNED ? TAPS - 1 - tap : tap;
            const unsigned row = out / 16 * 16 + out / 2 % 2 * 8 + out / 4 % 4 * 2 + out % 2;
            const float by = scale ? __ldg(scale + out) : 1;
            *(bf16 *)(void *)(to + at * FILTER_TAP + in / 8 * FILTER_PLANE + row * 16 + in % 8 * 2) = __float2bfloat16(by * v[u]);
        }
    }
}

/* The pixels of a tile with its border. */
static __device__ inline void fill_table(const struct stream &s, unsigned tile, int *table)
{
    const int first = (int)(tile * TILE) - (int)s.border;
    for (unsigned i = threadIdx.x % GROUP; i < s.span; i += GROUP) table[i] = pixel_at(s, first + (int)i);
}

/* Those pixels into rows of shared memory; there are `span` of them, some of no use. */
static __device__ inline void copy_tile(const struct stream &s, const bf16 *x, const int *table, uint32_t to)
{
    enum { STEP = GROUP / PIECES, AT_ONCE = 4 };
    const unsigned thread = threadIdx.x % GROUP, piece = thread % PIECES, own = thread / PIECES;
    const bf16 *from = x + piece * 8;
    uint32_t at = swapped(to + own * ROW_BYTES, piece); /* STEP rows on, the same piece is at the same place of its row */
    for (unsigned i = own; i < s.span; i += AT_ONCE * STEP) {
        int pixel[AT_ONCE];
#pragma unroll
        for (unsigned u = 0; u < AT_ONCE; u++) pixel[u] = i + u * STEP < s.span ? table[i + u * STEP] : -1;
#pragma unroll
        for (unsigned u = 0; u < AT_ONCE; u++, at += STEP * ROW_BYTES)
            if (i + u * STEP < s.span) copy_16(at, from + (size_t)max(pixel[u], 0) * CHANNELS, pixel[u] >= 0);
    }
}

static __device__ inline void multiply_tile(const struct stream &s, uint32_t filters, uint32_t map, float c[128])
{
    wgmma_begin();
#pragma unroll
    for (unsigned tap = 0; tap < TAPS; tap++)
#pragma unroll
        for (unsigned k = 0; k < PIECES; k += 2) {
            const uint64_t a = matrix_planes(filters + tap * FILTER_TAP + k * FILTER_PLANE, FILTER_PLANE);
            const uint64_t b = matrix_rows(map + (tap / 3 * s.pitch + tap % 3) * ROW_BYTES + k * 16);
            wgmma_256(c, a, b, tap + k > 0);
        }
    wgmma_commit();
    wgmma_wait<0>();
}

static __device__ inline uint32_t transposed(uint32_t v)
{
    uint32_t t;
    asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(t) : "r"(v));
    return t;
}

/* Rows group and group + 8 of a warp's 16 filters, by places; turned about, a thread has four channels of one place. */
template <bool BENT>
static __device__ inline void put_tile(const int *table, const float c[128], const float *shift, float low, bf16 *y)
{
    const unsigned lane = threadIdx.x % 32, group = lane / 4, quarter = lane % 4, warp = threadIdx.x % GROUP / 32;
    const unsigned filter = warp * 16 + group / 2 * 4 + group % 2; /* and 2 on: where load_filters put rows group, group + 8 */
    const float up = BENT ? shift[filter] : 0, down = BENT ? shift[filter + 2] : 0;
    bf16 *to = y + warp * 16 + quarter * 4;
#pragma unroll
    for (int j = 0; j < TILE / 8; j++) {
        const int pixel = table[j * 8 + (int)group];
        float z[4];
#pragma unroll
        for (int e = 0; e < 4; e++) {
            z[e] = BENT ? c[4 * j + e] + (e < 2 ? up : down) : c[4 * j + e];
            if (BENT) z[e] = z[e] > 0 ? z[e] : low * z[e];
        }
        const uint32_t a = transposed(pair_of(z[0], z[1])), b = transposed(pair_of(z[2], z[3]));
        if (pixel >= 0) *(uint2 *)(void *)(to + (size_t)pixel * CHANNELS) = make_uint2(a, b);
    }
}

struct conv_64 {
    const bf16 *x;
    const float *weights, *scale, *shift;
    float low;
    bf16 *y;
};

/* What a block's shared memory holds. */
struct parts {
    uint32_t stages, stage_bytes;
    int *tables;
    char *filters;
    float *shift;
    uint64_t *full, *empty; /* [2] each */
};
static __device__ inline struct parts parts_of(const struct stream &s, char *shared)
{
    struct parts p;
    p.stages = shared_at(shared);
    p.stage_bytes = s.span * ROW_BYTES;
    p.tables = (int *)(void *)(shared + 2 * p.stage_bytes);
    p.filters = (char *)(p.tables + TABLES * s.span);
    p.shift = (float *)(void *)(p.filters + FILTER_BYTES);
    p.full = (uint64_t *)(void *)(p.shift + CHANNELS);
    p.empty = p.full + 2;
    return p;
}

static __device__ inline void copy_tiles(const struct stream &s, const bf16 *x, const struct parts &p)
{
    fill_table(s, blockIdx.x, p.tables);
    for (unsigned tile = blockIdx.x, i = 0; tile < s.tiles; tile += gridDim.x, i++) {
        group_sync(); /* the table is whole */
        if (i >= 2) barrier_wait(&p.empty[i % 2], (i / 2 - 1) % 2);
        copy_tile(s, x, p.tables + i % TABLES * s.span, p.stages + i % 2 * p.stage_bytes);
        fill_table(s, tile + gridDim.x, p.tables + (i + 1) % TABLES * s.span);
        copies_wait();
        fence_for_products();
        barrier_arrive(&p.full[i % 2]);
    }
}

template <bool TURNED, bool BENT>
__global__ void __launch_bounds__(CONV_THREADS, 1) conv_64_kernel(const struct stream s, const struct conv_64 of)
{
    extern __shared__ __align__(1024) char shared[];
    const struct parts p = parts_of(s, shared);
    const unsigned group = threadIdx.x / GROUP;
    if (threadIdx.x == 0)
        for (int i = 0; i < 2; i++) {
            barrier_make(&p.full[i], GROUP);
            barrier_make(&p.empty[i], GROUP);
        }
    if (BENT && threadIdx.x < CHANNELS) p.shift[threadIdx.x] = of.shift[threadIdx.x];
    load_filters<TURNED>(of.weights, of.scale, p.filters);
    fence_for_products();
    __syncthreads();
    if (group == 2) {
        registers_set<false, 40>();
        copy_tiles(s, of.x, p);
    } else {
        registers_set<true, 232>();
        float c[128];
        for (unsigned tile = blockIdx.x + group * gridDim.x, i = group; tile < s.tiles; tile += 2 * gridDim.x, i += 2) {
            barrier_wait(&p.full[group], i / 2 % 2);
            multiply_tile(s, shared_at(p.filters), p.stages + group * p.stage_bytes, c);
            barrier_arrive(&p.empty[group]);
            put_tile<BENT>(p.tables + i % TABLES * s.span + s.border, c, p.shift, of.low, of.y);
        }
    }
}

bool conv_64_serves(struct gpu *g, const tensor *x, const tensor *w, struct conv_shape s)
{
    if (!is_half(x) || w->dim[0] != CHANNELS || w->dim[1] != CHANNELS || w->dim[2] != 3 || w->dim[3] != 3) return false;
    if (s.stride != 1 || s.pad != 1 || x->dim[0] * (x->dim[1] + 1) * (x->dim[2] + 1) >= 1u << 30) return false;
    const struct stream places = stream_of(x);
    return places.tiles >= FEWEST_TILES && shared_bytes(&places) <= MOST_SHARED && gpu_is_hopper(g);
}

template <bool TURNED, bool BENT> static status run(struct gpu *g, const struct stream s, const struct conv_64 of)
{
    const size_t bytes = shared_bytes(&s);
    GPU_TRY(g, cudaFuncSetAttribute(conv_64_kernel<TURNED, BENT>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    conv_64_kernel<TURNED, BENT><<<STREAM_BLOCKS, CONV_THREADS, bytes, g->stream>>>(s, of);
    return LAUNCHED(g, "a convolution of 64 channels");
}

status conv_64(struct gpu *g, const tensor *x, const tensor *w, const struct conv_after *after, tensor *y)
{
    struct conv_64 of = {(const bf16 *)x->data, reals<float>(w), NULL, NULL, 1, (bf16 *)y->data};
    if (!after) return run<false, false>(g, stream_of(x), of);
    of.scale = after->scale;
    of.shift = after->shift;
    of.low = after->low;
    return run<false, true>(g, stream_of(x), of);
}

status conv_64_grad_x(struct gpu *g, const tensor *w, const tensor *dy, tensor *dx)
{
    const struct conv_64 of = {(const bf16 *)dy->data, reals<float>(w), NULL, NULL, 1, (bf16 *)dx->data};
    return run<true, false>(g, stream_of(dy), of);
}
