/* conv_first.cu - a network's first layers: 3 channels in, filters of 3x3 or 1x1 pixels, on tensor cores.
 *
 * A patch has 27 numbers (or 3), so the layer is bound by the map it writes, and by the one it reads on the way back. A
 * warp multiplies 16 patches, gathered from the picture as they are needed, with 64 filters that stay in its registers.
 * For the weights it takes 16 pixels of dy at a time through shared memory and keeps the sums [64, 32] in registers.
 * Fragments as in PTX, mma.m16n8k16: lane = 4 group + quarter. */
#include "cuda/half.cuh"
#include "cuda/mixed.cuh"

enum { FILTERS = 64, PATCH = 32, WARP = 32, FIRST_WARPS = 8, FIRST_THREADS = WARP * FIRST_WARPS, FIRST_BLOCKS = 132 * 2 };

struct layer {
    const bf16 *x; /* [pixels, 3] */
    unsigned h, w, k, out, pixels;
};

static struct layer layer_of(const tensor *x, size_t k, size_t out)
{
    return {(const bf16 *)x->data, (unsigned)x->dim[1], (unsigned)x->dim[2], (unsigned)k, (unsigned)out,
            (unsigned)(x->dim[0] * x->dim[1] * x->dim[2])};
}

bool first_serves(const tensor *x, const tensor *w, struct conv_shape s)
{
    const size_t k = w->dim[2];
    return x->dim[3] == 3 && w->dim[3] == k && (k == 1 || k == 3) && s.stride == 1 && s.pad == k / 2 &&
           w->dim[0] % FILTERS == 0 && span_of(x, 0, 3) < (1u << 29); /* offsets in 32 bits */
}

static __device__ inline void mma(float c[4], const uint32_t a[4], const uint32_t b[2])
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* A number of a patch: where it lies from the pixel in the middle. */
struct tap {
    int dy, dx, offset; /* dy beyond every map: there is no such number */
};
static __device__ inline struct tap tap_of(const struct layer &l, unsigned index)
{
    const int half = (int)l.k / 2, row = (int)(index / (3 * l.k)) - half, column = (int)(index / 3 % l.k) - half;
    struct tap t = {1 << 20, 0, 0};
    if (index < 3 * l.k * l.k) t = {row, column, (row * (int)l.w + column) * 3 + (int)(index % 3)};
    return t;
}

struct place { /* of a pixel */
    int row, column, at; /* at: its first number; row far away: no such pixel */
};
static __device__ inline struct place place_of(const struct layer &l, unsigned pixel)
{
    const unsigned line = pixel / l.w;
    struct place p = {(int)(line % l.h), (int)(pixel - line * l.w), (int)pixel * 3};
    if (pixel >= l.pixels) p.row = -(1 << 21);
    return p;
}

static __device__ inline uint32_t number(const struct layer &l, const struct place &p, const struct tap &t)
{
    const bool inside = (unsigned)(p.row + t.dy) < l.h && (unsigned)(p.column + t.dx) < l.w;
    return inside ? (uint32_t)__ldg((const unsigned short *)(const void *)l.x + (p.at + t.offset)) : 0;
}

/* weights [out, 3, k, k] f32, each filter times its scale where there are any; B fragments of 64 filters, whose order lets
 * a lane hold 16 neighbouring channels. */
template <int STEPS>
static __device__ inline void load_filters(const struct layer &l, const float *weights, const float *scale, unsigned first,
                                           uint32_t b[STEPS][8][2])
{
    const unsigned lane = threadIdx.x % WARP, group = lane / 4, quarter = lane % 4, taps = l.k * l.k;
#pragma unroll
    for (int s = 0; s < STEPS; s++)
#pragma unroll
        for (int j = 0; j < 8; j++)
#pragma unroll
            for (int r = 0; r < 2; r++) {
                const unsigned filter = first + (group / 2) * 16 + (unsigned)j * 2 + group % 2;
                const float by = scale ? scale[filter] : 1;
                uint32_t pair = 0;
                for (unsigned e = 0; e < 2; e++) {
                    const unsigned index = (unsigned)s * 16 + (unsigned)r * 8 + quarter * 2 + e;
                    const float v = index < 3 * taps ? weights[(filter * 3 + index % 3) * taps + index / 3] : 0;
                    pair |= (uint32_t)__bfloat16_as_ushort(__float2bfloat16(by * v)) << (16 * e);
                }
                b[s][j][r] = pair;
            }
}

/* What the results go through; the scale is in the filters. */
enum first_way { FIRST_PLAIN, FIRST_BENT, FIRST_POOLED };

/* Rows of a warp's product: 16 pixels in a row, or with pooling the upper (turn 0) or lower pixels of 8 squares, each with
 * its left pixel in row `group` and its right one 8 rows on. */
template <bool POOL>
static __device__ inline struct place row_place(const struct layer &l, unsigned tile, int turn, int side, unsigned *result)
{
    const unsigned group = threadIdx.x % WARP / 4;
    if (!POOL) {
        *result = tile * 16 + group + (unsigned)side * 8;
        return place_of(l, *result);
    }
    const unsigned high = l.h / 2, wide = l.w / 2, square = tile * 8 + group, line = square / wide, picture = line / high;
    const unsigned row = (line - picture * high) * 2 + (unsigned)turn, column = (square - line * wide) * 2 + (unsigned)side;
    const unsigned pixel = (picture * l.h + row) * l.w + column;
    *result = square;
    return place_of(l, pixel < l.pixels ? pixel : l.pixels);
}

/* c += patches of 16 rows times 64 filters. */
template <int STEPS>
static __device__ inline void multiply(const struct layer &l, const struct place place[2], const struct tap taps[STEPS][4],
                                       const uint32_t b[STEPS][8][2], float c[8][4])
{
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
        uint32_t a[4];
#pragma unroll
        for (int r = 0; r < 4; r++) /* rows group, group + 8; then the same 8 columns on */
            a[r] = number(l, place[r % 2], taps[s][r / 2 * 2]) | number(l, place[r % 2], taps[s][r / 2 * 2 + 1]) << 16;
#pragma unroll
        for (int j = 0; j < 8; j++) mma(c[j], a, b[s][j]);
    }
}

static __device__ inline float larger(float a, float b) { return b > a || b != b ? b : a; } /* a NaN before all */

/* One row's 16 channels of this lane. */
template <bool BENT> static __device__ inline void put_row(const float *shift, float low, const float c[16], bf16 *y)
{
    float out[16];
#pragma unroll
    for (int j = 0; j < 16; j++) {
        const float z = BENT ? c[j] + shift[j] : c[j];
        out[j] = BENT && !(z > 0) ? low * z : z;
    }
    store<8>(y, 0, out);
    store<8>(y, 8, out + 8);
}

template <int STEPS, int WAY>
__global__ void __launch_bounds__(FIRST_THREADS, 2)
    first_kernel(struct layer l, const float *weights, struct conv_after after, unsigned results, bf16 *y)
{
    enum { BENT = WAY != FIRST_PLAIN, POOL = WAY == FIRST_POOLED, ROWS = POOL ? 8 : 16 };
    __shared__ float shift[FILTERS];
    const unsigned quarter = threadIdx.x % 4, first = blockIdx.y * FILTERS;
    uint32_t b[STEPS][8][2];
    struct tap taps[STEPS][4];
    if (BENT && threadIdx.x < FILTERS) shift[threadIdx.x] = after.shift[first + threadIdx.x];
    load_filters<STEPS>(l, weights, after.scale, first, b);
#pragma unroll
    for (int s = 0; s < STEPS; s++)
#pragma unroll
        for (int e = 0; e < 4; e++) taps[s][e] = tap_of(l, (unsigned)s * 16 + (unsigned)(e / 2) * 8 + quarter * 2 + e % 2);
    __syncthreads();
    const unsigned tiles = (results + ROWS - 1) / ROWS, step = gridDim.x * FIRST_WARPS;
    for (unsigned tile = blockIdx.x * FIRST_WARPS + threadIdx.x / WARP; tile < tiles; tile += step) {
        float row[2][16]; /* with pooling the first is the largest so far */
        unsigned result[2];
#pragma unroll
        for (int turn = 0; turn < (POOL ? 2 : 1); turn++) {
            float c[8][4] = {};
            const struct place place[2] = {row_place<POOL>(l, tile, turn, 0, &result[0]),
                                           row_place<POOL>(l, tile, turn, 1, &result[1])};
            multiply<STEPS>(l, place, taps, b, c);
#pragma unroll
            for (int i = 0; i < 16; i++) {
                const float left = c[i / 2][i % 2], right = c[i / 2][2 + i % 2], top = POOL ? larger(left, right) : left;
                row[0][i] = turn ? larger(row[0][i], top) : top;
                row[1][i] = right;
            }
        }
#pragma unroll
        for (int side = 0; side < (POOL ? 1 : 2); side++)
            if (result[side] < results)
                put_row<BENT>(shift + quarter * 16, after.low, row[side],
                              y + (size_t)result[side] * l.out + first + quarter * 16);
    }
}

template <int WAY>
static status run_first(struct gpu *g, const struct layer l, const tensor *w, const struct conv_after after, tensor *y)
{
    const size_t results = span_of(y, 0, 3), rows = WAY == FIRST_POOLED ? 8 : 16;
    if (results == 0) return OK;
    const dim3 grid((unsigned)size_min(size_div_up(results, rows * FIRST_WARPS), FIRST_BLOCKS * 2), l.out / FILTERS);
    const float *from = reals<float>(w);
    bf16 *to = (bf16 *)y->data;
    if (l.k == 3) first_kernel<2, WAY><<<grid, FIRST_THREADS, 0, g->stream>>>(l, from, after, (unsigned)results, to);
    else first_kernel<1, WAY><<<grid, FIRST_THREADS, 0, g->stream>>>(l, from, after, (unsigned)results, to);
    return LAUNCHED(g, "the first convolution");
}

status first_conv(struct gpu *g, const tensor *x, const tensor *w, const struct conv_after *after, tensor *y)
{
    const struct layer l = layer_of(x, w->dim[2], w->dim[0]);
    const struct conv_after nothing = {NULL, NULL, 1, false};
    if (!after) return run_first<FIRST_PLAIN>(g, l, w, nothing, y);
    return after->pool ? run_first<FIRST_POOLED>(g, l, w, *after, y) : run_first<FIRST_BENT>(g, l, w, *after, y);
}

/* Weights: sums over pixels of dy[pixel, filter] patch[pixel, number]. */

static __device__ inline void copy_async(void *shared, const void *global, bool there)
{
    const uint32_t to = (uint32_t)__cvta_generic_to_shared(shared);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(there ? 16 : 0));
}

/* 16 pixels of 64 channels of dy, 8 pieces of 16 bytes a pixel; pieces are swapped about so that no two rows of a fragment
 * fall on the same banks. */
struct tile16 {
    uint4 piece[16][8];
};
static __device__ inline void fetch_dy(struct tile16 *to, const struct layer &l, const bf16 *dy, unsigned first_pixel, unsigned first)
{
    const unsigned lane = threadIdx.x % WARP;
#pragma unroll
    for (unsigned i = lane; i < 128; i += WARP) {
        const unsigned row = i / 8, column = i % 8;
        const unsigned pixel = first_pixel + row;
        const bool there = pixel < l.pixels;
        copy_async(&to->piece[row][column ^ (row & 7)], dy + (there ? (size_t)pixel * l.out + first + column * 8 : 0), there);
    }
    asm volatile("cp.async.commit_group;");
}

/* A fragment [16 filters, 16 pixels] of the transpose. */
static __device__ inline void load_transposed(const struct tile16 *t, int m, uint32_t a[4])
{
    const unsigned lane = threadIdx.x % WARP, pixel = lane % 8 + lane / 16 * 8, column = (unsigned)m * 2 + lane / 8 % 2;
    const uint32_t from = (uint32_t)__cvta_generic_to_shared(&t->piece[pixel][column ^ (pixel & 7)]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(from));
}

template <int TILES> struct sums { /* [64 filters, 8 TILES numbers of a patch], as fragments */
    float c[4][TILES][4];
};

template <int TILES>
static __device__ inline void add_pixels(const struct layer &l, const struct tile16 *t, const struct tap taps[TILES],
                                         unsigned first_pixel, struct sums<TILES> *to)
{
    const unsigned quarter = threadIdx.x % 4;
    struct place place[4];
    uint32_t b[TILES][2];
#pragma unroll
    for (int e = 0; e < 4; e++) place[e] = place_of(l, first_pixel + quarter * 2 + (unsigned)(e % 2) + (unsigned)(e / 2) * 8);
#pragma unroll
    for (int j = 0; j < TILES; j++)
#pragma unroll
        for (int r = 0; r < 2; r++)
            b[j][r] = number(l, place[2 * r], taps[j]) | number(l, place[2 * r + 1], taps[j]) << 16;
#pragma unroll
    for (int m = 0; m < 4; m++) {
        uint32_t a[4];
        load_transposed(t, m, a);
#pragma unroll
        for (int j = 0; j < TILES; j++) mma(to->c[m][j], a, b[j]);
    }
}

template <int TILES>
__global__ void __launch_bounds__(FIRST_THREADS) first_weights_kernel(struct layer l, const bf16 *dy, float *parts)
{
    __shared__ struct tile16 stage[FIRST_WARPS][2];
    __shared__ float total[FILTERS * PATCH];
    const unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, group = lane / 4, quarter = lane % 4;
    const unsigned first = blockIdx.y * FILTERS;
    const unsigned tiles = (l.pixels + 15) / 16, step = gridDim.x * FIRST_WARPS;
    struct sums<TILES> s = {};
    struct tap taps[TILES];
#pragma unroll
    for (int j = 0; j < TILES; j++) taps[j] = tap_of(l, (unsigned)j * 8 + group);
    unsigned tile = blockIdx.x * FIRST_WARPS + warp;
    if (tile < tiles) fetch_dy(&stage[warp][0], l, dy, tile * 16, first);
    for (int turn = 0; tile < tiles; tile += step, turn ^= 1) {
        if (tile + step < tiles) {
            fetch_dy(&stage[warp][turn ^ 1], l, dy, (tile + step) * 16, first);
            asm volatile("cp.async.wait_group 1;");
        } else {
            asm volatile("cp.async.wait_group 0;");
        }
        __syncwarp();
        add_pixels<TILES>(l, &stage[warp][turn], taps, tile * 16, &s);
        __syncwarp();
    }
    for (unsigned i = threadIdx.x; i < FILTERS * PATCH; i += FIRST_THREADS) total[i] = 0;
    for (unsigned turn = 0; turn < FIRST_WARPS; turn++) { /* one warp after the other: always the same sum */
        __syncthreads();
        if (turn != warp) continue;
#pragma unroll
        for (int m = 0; m < 4; m++)
#pragma unroll
            for (int j = 0; j < TILES; j++)
#pragma unroll
                for (int r = 0; r < 4; r++)
                    total[((unsigned)m * 16 + group + (unsigned)(r / 2) * 8) * PATCH + (unsigned)j * 8 + quarter * 2 + (unsigned)(r % 2)] +=
                        s.c[m][j][r];
    }
    __syncthreads();
    float *to = parts + ((size_t)blockIdx.x * gridDim.y + blockIdx.y) * FILTERS * PATCH;
    for (unsigned i = threadIdx.x; i < FILTERS * PATCH; i += FIRST_THREADS) to[i] = total[i];
}

status first_grad_w(struct gpu *g, const tensor *x, const tensor *dy, tensor *dw)
{
    const struct layer l = layer_of(x, dw->dim[2], dw->dim[0]);
    if (l.pixels == 0) return OK;
    const size_t taps = l.k * l.k, sums = (size_t)l.out * PATCH;
    const dim3 grid((unsigned)size_min(size_div_up(l.pixels, 16 * FIRST_WARPS), FIRST_BLOCKS), l.out / FILTERS);
    float *to = reals<float>(dw);
    void *memory;
    PASS(gpu_scratch(g, grid.x * sums * sizeof(float), &memory));
    float *parts = (float *)memory;
    if (l.k == 3) first_weights_kernel<4><<<grid, FIRST_THREADS, 0, g->stream>>>(l, (const bf16 *)dy->data, parts);
    else first_weights_kernel<1><<<grid, FIRST_THREADS, 0, g->stream>>>(l, (const bf16 *)dy->data, parts);
    PASS(LAUNCHED(g, "the first convolution's weights"));
    return finish_run<1>(g, parts, grid.x, sums, [=] __device__(unsigned i, const double *total) {
        const size_t filter = i / PATCH, number = i % PATCH;
        if (number < 3 * taps) to[(filter * 3 + number % 3) * taps + number / 3] += (float)total[0];
    });
}
