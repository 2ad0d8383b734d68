/* units.cuh - feature maps as unit vectors in halves (halves.cuh), and the way back from a derivative of unit vectors.
 *
 * Maps [pictures, channels, r] come in and [pictures * r, ...] goes out: a block takes up to 32 locations of a picture
 * and turns tiles of 64 channels around in shared memory. */
#ifndef CUDA_UNITS_CUH
#define CUDA_UNITS_CUH
#include "cuda/halves.cuh"

enum { TILE = 32, TILE_CHANNELS = 2 * TILE, UNIT_THREADS = TILE * TILE };

struct unit_maps {
    const float *x;         /* [pictures, channels, r] */
    float *dx;              /* as x, or NULL: no derivative wanted */
    int pictures, r, tiles; /* tiles: of locations, a picture */
    float *inverse;         /* [pictures * r] 1 / norm; 0 for vectors shorter than 1e-12, which count as zero */
    __half *halves;         /* [pictures * r, 3, padded] */
    int low;                /* which of the three is the low part */
    __half *stacked;        /* [3, pictures * r + clear, padded]: low, high, high; NULL: not needed */
    int clear;              /* lines at the end of each part that become 0 */
    const float *d_unit;    /* [pictures * r, padded], times UNIT_SCALE and the scale of `largest` */
};
struct units {
    struct unit_maps of[2];
    int channels, padded; /* rounded up to 8 */
    const float *largest; /* [count] what the derivative's scale is made from */
    int count;
};

struct unit_place {
    int map, picture, location; /* which of the two, its picture and the first of this block's locations */
};
static __device__ inline struct unit_place unit_place_of(const struct units &u)
{
    const int first = u.of[0].pictures * u.of[0].tiles, b = (int)blockIdx.x, map = b < first ? 0 : 1;
    const int at = map ? b - first : b, tiles = u.of[map].tiles;
    return {map, at / tiles, at % tiles * TILE};
}

static __device__ inline size_t stacked_part(const struct units &u, const struct unit_maps &o)
{
    return ((size_t)o.pictures * (size_t)o.r + (size_t)o.clear) * (size_t)u.padded;
}

static __device__ inline void write_unit(const struct units &u, const struct unit_maps &o, size_t line, int c, float x,
                                         float y)
{
    __half2 high, low;
    split_pair(x * UNIT_SCALE, y * UNIT_SCALE, &high, &low);
    for (int part = 0; part < 3; part++) {
        *(__half2 *)(o.halves + (line * 3 + (size_t)part) * (size_t)u.padded + c) = part == o.low ? low : high;
        if (o.stacked)
            *(__half2 *)(o.stacked + (size_t)part * stacked_part(u, o) + line * (size_t)u.padded + c) = part ? high
                                                                                                             : low;
    }
}

/* The factor that makes each of this block's vectors a unit; thread (ty, tx) adds up every 32nd channel of location tx. */
static __device__ inline void unit_scales(const struct units &u, const struct unit_maps &o, const struct unit_place &p,
                                          double *scales)
{
    __shared__ double sums[TILE][TILE + 1];
    const int tx = (int)threadIdx.x % TILE, ty = (int)threadIdx.x / TILE, location = p.location + tx;
    const float *x = o.x + (size_t)p.picture * (size_t)u.channels * (size_t)o.r + location;
    double square = 0;
#pragma unroll 4
    for (int c = ty; c < u.channels; c += TILE) {
        const double v = location < o.r ? (double)x[(size_t)c * (size_t)o.r] : 0;
        square = fma(v, v, square);
    }
    sums[ty][tx] = square;
    __syncthreads();
    if (ty == 0) {
        double total = 0;
        for (int i = 0; i < TILE; i++) total += sums[i][tx];
        const double norm = sqrt(total), scale = norm < 1e-12 ? 0 : 1 / norm;
        scales[tx] = scale;
        if (location < o.r) o.inverse[(size_t)p.picture * (size_t)o.r + (size_t)location] = (float)scale;
    }
    __syncthreads();
}

static __device__ inline void clear_lines(const struct units &u, const struct unit_maps &o)
{
    const size_t from = (size_t)o.pictures * (size_t)o.r * (size_t)u.padded, count = (size_t)o.clear * (size_t)u.padded;
    for (size_t e = threadIdx.x; e < 3 * count; e += UNIT_THREADS)
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
    const bool live = p.location + tx < o.r;
    float next[2];
    const auto fetch = [&](int c0) {
        for (int i = 0; i < 2; i++) {
            const int c = c0 + ty + i * TILE;
            next[i] = live && c < u.channels ? x[(size_t)c * (size_t)o.r] : 0;
        }
    };
    fetch(0);
    unit_scales(u, o, p, scales);
    const double scale = scales[tx];
    for (int c0 = 0; c0 < u.padded; c0 += TILE_CHANNELS) {
        for (int i = 0; i < 2; i++) tile[ty + i * TILE][tx] = (float)((double)next[i] * scale);
        __syncthreads();
        fetch(c0 + TILE_CHANNELS);
        if (p.location + ty < o.r && c0 + 2 * tx < u.padded)
            write_unit(u, o, (size_t)p.picture * (size_t)o.r + (size_t)(p.location + ty), c0 + 2 * tx, tile[2 * tx][ty],
                       tile[2 * tx + 1][ty]);
        __syncthreads();
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
    const bool live = p.location + tx < o.r, row_live = p.location + ty < o.r;
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
#endif
