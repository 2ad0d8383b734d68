/* units.cu - maps [pictures, channels, r] become [pictures * r, ...]: a block takes up to 32 locations of a picture and turns
 * them around in shared memory, all channels at once where they fit, else and on the way back tiles of 64 channels. */
#include "cuda/units.cuh"

enum { TILE = 32, TILE_CHANNELS = 2 * TILE, UNIT_THREADS = TILE * TILE, SMALL_SHARED = 1 << 10 };
enum { WHOLE_ROWS = 20, WHOLE_THREADS = WHOLE_ROWS * TILE }; /* where all channels fit: three such blocks a processor */

static __host__ __device__ inline int tiles_of(int r) { return (r + TILE - 1) / TILE; }
/* Locations of a block, so that a picture's blocks have equally much to do. */
static __host__ __device__ inline int width_of(int r) { return (r + tiles_of(r) - 1) / tiles_of(r); }
/* Numbers between channels in shared memory: odd, so that a location's channels lie in many banks. */
static __host__ __device__ inline int across_of(int r) { return width_of(r) | 1; }
static __host__ __device__ inline int blocks_of(const struct unit_maps &o) { return o.pictures * tiles_of(o.r); }

struct unit_place {
    int map, picture;  /* which of the maps, and its picture */
    int location, end; /* the locations of this block */
};
static __device__ inline struct unit_place unit_place_of(const struct units &u)
{
    int at = (int)blockIdx.x, map = 0;
    while (map + 1 < UNIT_MAPS && at >= blocks_of(u.of[map])) at -= blocks_of(u.of[map++]);
    const int tiles = tiles_of(u.of[map].r);
    const int r = u.of[map].r, location = at % tiles * width_of(r);
    return {map, at / tiles, location, min(r, location + width_of(r))};
}

static __device__ inline size_t stacked_part(const struct units &u, const struct unit_maps &o)
{
    return ((size_t)o.pictures * (size_t)o.r + (size_t)o.clear) * (size_t)u.padded;
}

/* Pieces of 8 are swapped about, so that a copy of a row to shared memory is what products read there. */
static __device__ inline void write_row(const struct unit_maps &o, size_t line, int c, __half2 high, __half2 low)
{
    const int piece = c % UNIT_ROW / 8, turn = (int)(line % 8);
    __half *row = o.rows + ((size_t)(c / UNIT_ROW) * o.row_count + line) * (2 * UNIT_ROW) + c % 8;
    *(__half2 *)(row + (piece ^ turn) * 8) = high;
    *(__half2 *)(row + ((piece + UNIT_ROW / 8) ^ turn) * 8) = low;
}

static __device__ inline void write_unit(const struct units &u, const struct unit_maps &o, size_t line, int c, float x,
                                         float y)
{
    __half2 high, low;
    split_pair(x * UNIT_SCALE, y * UNIT_SCALE, &high, &low);
    if (o.rows) {
        write_row(o, line, c, high, low);
        return;
    }
    for (int part = 0; part < 3; part++) {
        *(__half2 *)(o.halves + (line * 3 + (size_t)part) * (size_t)u.padded + c) = part == o.low ? low : high;
        if (o.stacked)
            *(__half2 *)(o.stacked + (size_t)part * stacked_part(u, o) + line * (size_t)u.padded + c) = part ? high
                                                                                                             : low;
    }
}

/* The factor that makes each of this block's vectors a unit, from what thread (ty, tx) has added up of location tx. */
template <int ROWS>
static __device__ inline void unit_scales(const struct unit_maps &o, const struct unit_place &p, double square,
                                          double *scales)
{
    __shared__ double sums[ROWS][TILE + 1];
    const int tx = (int)threadIdx.x % TILE, ty = (int)threadIdx.x / TILE, location = p.location + tx;
    sums[ty][tx] = square;
    __syncthreads();
    if (ty == 0) {
        double total = 0;
        for (int i = 0; i < ROWS; i++) total += sums[i][tx];
        const double norm = sqrt(total), scale = norm < 1e-12 ? 0 : 1 / norm;
        scales[tx] = scale;
        if (location < p.end) o.inverse[(size_t)p.picture * (size_t)o.r + (size_t)location] = (float)scale;
    }
    __syncthreads();
}

/* Every 32nd channel of location tx. */
static __device__ inline double square_of(const struct units &u, const struct unit_maps &o, const struct unit_place &p)
{
    const int tx = (int)threadIdx.x % TILE, ty = (int)threadIdx.x / TILE, location = p.location + tx;
    const float *x = o.x + (size_t)p.picture * (size_t)u.channels * (size_t)o.r + location;
    double square = 0;
#pragma unroll 4
    for (int c = ty; c < u.channels; c += TILE) {
        const double v = location < p.end ? (double)x[(size_t)c * (size_t)o.r] : 0;
        square = fma(v, v, square);
    }
    return square;
}

static __device__ inline void clear_lines(const struct units &u, const struct unit_maps &o)
{
    const size_t from = (size_t)o.pictures * (size_t)o.r * (size_t)u.padded, count = (size_t)o.clear * (size_t)u.padded;
    for (size_t e = threadIdx.x; e < 3 * count; e += blockDim.x)
        o.stacked[e / count * stacked_part(u, o) + from + e % count] = __float2half_rn(0);
}

__global__ void __launch_bounds__(UNIT_THREADS) units_kernel(const struct units u)
{
    __shared__ float tile[TILE_CHANNELS][TILE + 1];
    __shared__ double scales[TILE];
    const struct unit_place p = unit_place_of(u);
    const struct unit_maps &o = u.of[p.map];
    const int tx = (int)threadIdx.x % TILE, ty = (int)threadIdx.x / TILE;
    const float *x = o.x + (size_t)p.picture * (size_t)u.channels * (size_t)o.r + p.location + tx;
    const bool live = p.location + tx < p.end;
    float next[2];
    const auto fetch = [&](int c0) {
        for (int i = 0; i < 2; i++) {
            const int c = c0 + ty + i * TILE;
            next[i] = live && c < u.channels ? x[(size_t)c * (size_t)o.r] : 0;
        }
    };
    fetch(0);
    unit_scales<TILE>(o, p, square_of(u, o, p), scales);
    const double scale = scales[tx];
    for (int c0 = 0; c0 < u.padded; c0 += TILE_CHANNELS) {
        for (int i = 0; i < 2; i++) tile[ty + i * TILE][tx] = (float)((double)next[i] * scale);
        __syncthreads();
        fetch(c0 + TILE_CHANNELS);
        if (p.location + ty < p.end && c0 + 2 * tx < u.padded)
            write_unit(u, o, (size_t)p.picture * (size_t)o.r + (size_t)(p.location + ty), c0 + 2 * tx, tile[2 * tx][ty],
                       tile[2 * tx + 1][ty]);
        __syncthreads();
    }
    if (o.stacked && p.picture == o.pictures - 1 && p.location == 0) clear_lines(u, o);
}

/* x times the scale. Conversions to double are slow: they are left to scales for which singles have no room. */
static __device__ inline float scaled(float x, double scale)
{
    return scale > 1e-30 ? x * (float)scale : (float)((double)x * scale);
}

/* The sum of squares of a thread's channels, which lie in shared memory, in double all the way. */
static __device__ double square_again(const struct units &u, const float *mine, int across, int ty)
{
    double square = 0;
    for (int c = ty; c < u.padded; c += WHOLE_ROWS)
        square = fma((double)mine[c * across], (double)mine[c * across], square);
    return square;
}

/* The block's locations to shared memory, [padded, across]; the sum of squares of every WHOLE_ROWS-th channel of location tx.
 * Squares are added up in singles by eights, unless they are too large for that. */
static __device__ inline double take_whole(const struct units &u, const struct unit_maps &o, const struct unit_place &p,
                                           float *whole)
{
    enum { AT_ONCE = 8 };
    const int tx = (int)threadIdx.x % TILE, ty = (int)threadIdx.x / TILE, across = across_of(o.r);
    const float *x = o.x + ((size_t)p.picture * (size_t)u.channels + (size_t)ty) * (size_t)o.r + p.location + tx;
    const size_t step = (size_t)o.r * WHOLE_ROWS;
    double square = 0;
    if (p.location + tx >= p.end) return 0;
    for (int c0 = ty; c0 < u.padded; c0 += AT_ONCE * WHOLE_ROWS) {
        float v[AT_ONCE], squares = 0;
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++, x += step) v[i] = c0 + i * WHOLE_ROWS < u.channels ? *x : 0;
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            const int c = c0 + i * WHOLE_ROWS;
            if (c < u.padded) whole[c * across + tx] = v[i];
            squares = fmaf(v[i], v[i], squares);
        }
        square += (double)squares;
    }
    return isinf(square) ? square_again(u, whole + tx, across, ty) : square;
}

/* As write_row, for all of the block: a warp has 8 locations, a thread 8 channels of one. Eight channels on, an odd number of
 * words apart, are 8, 16 and 24 banks on, so that no two threads meet on a bank. A thread stays with its location, so that all
 * but the numbers themselves is computed once. */
static __device__ inline void write_whole_rows(const struct units &u, const struct unit_maps &o, const struct unit_place &p,
                                               const float *whole, const double *scales)
{
    const int count = p.end - p.location, eights = (count + 7) / 8, across = across_of(o.r), lane = (int)threadIdx.x % TILE;
    const int warp = (int)threadIdx.x / TILE, step = WHOLE_ROWS / eights, first = warp / eights;
    const int location = warp % eights * 8 + lane / 4, piece = lane % 4;
    if (location >= count || first >= step) return;
    const float by = scales[location] > 1e-30 ? (float)scales[location] * UNIT_SCALE : 0; /* 0: singles have no room for it */
    const size_t line = (size_t)p.picture * (size_t)o.r + (size_t)(p.location + location);
    const int high_at = (piece ^ (int)(line % 8)) * 8, low_at = high_at ^ UNIT_ROW;
    const float *from = whole + (first * UNIT_ROW + piece * 8) * across + location;
    __half *row = o.rows + ((size_t)first * o.row_count + line) * (2 * UNIT_ROW);
    struct alignas(16) eight {
        __half2 pair[4];
    } high, low;
    for (int c = first * UNIT_ROW; c < u.padded; c += step * UNIT_ROW) {
        float v[8];
#pragma unroll
        for (int i = 0; i < 8; i++) v[i] = from[i * across];
#pragma unroll
        for (int i = 0; i < 8; i++) v[i] = by > 0 ? v[i] * by : scaled(v[i], scales[location]) * UNIT_SCALE;
#pragma unroll
        for (int i = 0; i < 4; i++) split_pair(v[2 * i], v[2 * i + 1], &high.pair[i], &low.pair[i]);
        *(struct eight *)(void *)(row + high_at) = high;
        *(struct eight *)(void *)(row + low_at) = low;
        from += step * UNIT_ROW * across;
        row += (size_t)step * o.row_count * (2 * UNIT_ROW);
    }
}

/* All channels of the block's locations are read once, many loads at a time. */
__global__ void __launch_bounds__(WHOLE_THREADS, 3) units_whole_kernel(const struct units u)
{
    extern __shared__ float whole[];
    __shared__ double scales[TILE];
    const struct unit_place p = unit_place_of(u);
    const struct unit_maps &o = u.of[p.map];
    unit_scales<WHOLE_ROWS>(o, p, take_whole(u, o, p, whole), scales);
    if (o.rows) {
        write_whole_rows(u, o, p, whole, scales);
        return;
    }
    const int chunks = (u.padded + TILE_CHANNELS - 1) / TILE_CHANNELS, across = across_of(o.r);
    for (int e = (int)threadIdx.x / TILE; e < (p.end - p.location) * chunks; e += WHOLE_ROWS) {
        const int location = e / chunks, c = e % chunks * TILE_CHANNELS + (int)threadIdx.x % TILE * 2;
        if (c >= u.padded) continue;
        const float *two = whole + c * across + location;
        write_unit(u, o, (size_t)p.picture * (size_t)o.r + (size_t)(p.location + location), c,
                   scaled(two[0], scales[location]), scaled(two[across], scales[location]));
    }
    if (o.stacked && p.picture == o.pictures - 1 && p.location == 0) clear_lines(u, o);
}

/* dx = (d unit - unit (unit . d unit)) / norm, in two sweeps over the channels. */
__global__ void __launch_bounds__(UNIT_THREADS) units_back_kernel(const struct units u)
{
    __shared__ float tile[TILE_CHANNELS][TILE + 1], sums[TILE][TILE + 1];
    const struct unit_place p = unit_place_of(u);
    const struct unit_maps &o = u.of[p.map];
    const int tx = (int)threadIdx.x % TILE, ty = (int)threadIdx.x / TILE;
    if (!o.dx) return; /* the whole block */
    const float factor = 1 / scale_of(u.count, u.largest) / UNIT_SCALE;
    const bool live = p.location + tx < p.end, row_live = p.location + ty < p.end;
    const size_t map = (size_t)p.picture * (size_t)u.channels * (size_t)o.r + (size_t)(p.location + tx);
    const size_t line = (size_t)p.picture * (size_t)o.r + (size_t)p.location;
    const float *d = o.d_unit + (line + (size_t)ty) * (size_t)u.padded;
    const float inverse = live ? o.inverse[line + (size_t)tx] : 0;
    float dot = 0;
    for (int sweep = 0; sweep < 2; sweep++) {
        for (int c0 = 0; c0 < u.padded; c0 += TILE_CHANNELS) {
            const int pair = c0 + 2 * tx;
            const float2 two = row_live && pair < u.padded ? *(const float2 *)(d + pair) : make_float2(0, 0);
            tile[2 * tx][ty] = two.x;
            tile[2 * tx + 1][ty] = two.y;
            __syncthreads();
            for (int i = 0; i < 2; i++) {
                const int c = c0 + ty + i * TILE;
                if (!live || c >= u.channels) continue;
                const size_t at = map + (size_t)c * (size_t)o.r;
                const float unit = o.x[at] * inverse, g = tile[ty + i * TILE][tx] * factor;
                if (sweep == 0) dot = fmaf(unit, g, dot);
                else o.dx[at] = (g - unit * dot) * inverse;
            }
            __syncthreads();
        }
        if (sweep == 1) break;
        sums[ty][tx] = dot;
        __syncthreads();
        dot = 0;
        for (int i = 0; i < TILE; i++) dot += sums[i][tx];
    }
}

static unsigned all_blocks(const struct units *u)
{
    int blocks = 0;
    for (const struct unit_maps &o : u->of) blocks += blocks_of(o);
    return (unsigned)blocks;
}

status units_run(struct gpu *g, const struct units *u)
{
    int most = 0, across = 0;
    for (const struct unit_maps &o : u->of)
        if (o.pictures && across < across_of(o.r)) across = across_of(o.r);
    const size_t bytes = (size_t)u->padded * (size_t)across * sizeof(float);
    GPU_TRY(g, cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, g->number));
    if (bytes + sizeof(double) * (TILE + 1) * (TILE + 1) + SMALL_SHARED <= (size_t)most) {
        GPU_TRY(g, cudaFuncSetAttribute((const void *)units_whole_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        (int)bytes));
        units_whole_kernel<<<all_blocks(u), WHOLE_THREADS, bytes, g->stream>>>(*u);
        return LAUNCHED(g, "unit vectors");
    }
    units_kernel<<<all_blocks(u), UNIT_THREADS, 0, g->stream>>>(*u);
    return LAUNCHED(g, "unit vectors");
}

status units_back_run(struct gpu *g, const struct units *u)
{
    units_back_kernel<<<all_blocks(u), UNIT_THREADS, 0, g->stream>>>(*u);
    return LAUNCHED(g, "the derivative of unit vectors");
}
