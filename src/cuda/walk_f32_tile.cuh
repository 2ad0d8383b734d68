/* walk_f32_tile.cuh - one query's matrices in registers, and products with them: shared memory is read for vectors alone.
 *
 * Thread (warp, lane) keeps b[warp + 16 r, lane + 32 c] for r < TALL and c < WIDE, and 0 beyond the last row and column; a
 * is a power of it. A product with rows adds up along the registers and then over lanes, one with columns along the
 * registers and then over warps. All indices of registers must be known to the compiler: hence the sizes in the type, and
 * everything inline. */
#ifndef CUDA_WALK_F32_TILE_CUH
#define CUDA_WALK_F32_TILE_CUH
#include "cuda/walk_f32.cuh"

/* 16 TALL rows and 32 WIDE columns a block: 5x5, 8x8, 10x10 and 12x12 maps of 5 classes, the last two on three blocks. */
#define WALK_TILES(TILE_OF) TILE_OF(2, 4) TILE_OF(4, 10) TILE_OF(7, 6) TILE_OF(9, 8)

constexpr int power_of_two_from(int n) { return n <= 1 ? 1 : 2 * power_of_two_from((n + 1) / 2); }

/* The sum over lanes of x[lane * N / LANES], N a power of two: half of what is left goes to the other half of the lanes at
 * each step, which takes N + 4 - log2 N exchanges instead of 5 N. HALF: how far away that other half is. */
template <int N, int HALF = LANES / 2> static __device__ __forceinline__ float lanes_sums(const float (&x)[N])
{
    if constexpr (N > 1) {
        const bool upper = (lane_of() & HALF) != 0;
        float sum[N / 2];
#pragma unroll
        for (int r = 0; r < N / 2; r++) {
            const float kept = upper ? x[r + N / 2] : x[r], given = upper ? x[r] : x[r + N / 2];
            sum[r] = kept + __shfl_xor_sync(ALL_LANES, given, HALF);
        }
        return lanes_sums<N / 2, HALF / 2>(sum);
    } else if constexpr (HALF > 0) {
        const float sum[1] = {x[0] + __shfl_xor_sync(ALL_LANES, x[0], HALF)};
        return lanes_sums<1, HALF / 2>(sum);
    } else {
        return x[0];
    }
}

/* sum + b^POWER x, by multiplying x: powers of b would not change from round to round, and the compiler would keep them all
 * in registers that are not there. */
template <int POWER> static __device__ __forceinline__ float add_product(float b, float x, float sum)
{
#pragma unroll
    for (int i = 1; i < POWER; i++) x *= b;
    return fmaf(b, x, sum);
}

/* The interface that walk_f32.cuh describes. */
template <int POWER_OF_B, int TALL, int WIDE> struct in_registers {
    enum { POWER = POWER_OF_B, BLOCKS = TALL * WIDE <= 16 ? 2 : 1, SUMS = power_of_two_from(TALL) };
    float b[TALL][WIDE];

    /* part[i] = the sum over lanes of row i's sums. */
    __device__ __forceinline__ void put_rows(const struct walk_f32 &k, const float (&sum)[SUMS], float *part)
    {
        const float total = lanes_sums(sum);
        const int i = warp_of() + WALK_WARPS * (lane_of() * SUMS / LANES);
        if (lane_of() % (LANES / SUMS) == 0 && i < k.rq) part[i] = total;
    }
    __device__ __forceinline__ void fill(const struct walk_f32 &k, struct desk &s, float *part)
    {
        const float *phi = k.phi + ((size_t)s.query * (size_t)k.rq + (size_t)warp_of()) * (size_t)k.row +
                           (size_t)(s.start + lane_of());
        const int columns = s.columns - lane_of(), rows = k.rq - warp_of();
        float sum[SUMS] = {};
#pragma unroll
        for (int r = 0; r < TALL; r++)
#pragma unroll
            for (int c = 0; c < WIDE; c++) {
                const bool there = r * WALK_WARPS < rows && c * LANES < columns;
                b[r][c] = there ? phi[(size_t)(r * WALK_WARPS) * (size_t)k.row + (size_t)(c * LANES)] : 0;
            }
#pragma unroll
        for (int r = 0; r < TALL; r++)
#pragma unroll
            for (int c = 0; c < WIDE; c++) {
                const bool there = r * WALK_WARPS < rows && c * LANES < columns;
                b[r][c] = there ? exponential(b[r][c], k.to_query) : 0;
                sum[r] += power<POWER>(b[r][c]);
            }
        put_rows(k, sum, part);
    }
    template <int OF_B>
    __device__ __forceinline__ void rows(const struct walk_f32 &k, const struct desk &s, const float *x)
    {
        float factor[WIDE], sum[SUMS] = {};
#pragma unroll
        for (int c = 0; c < WIDE; c++) {
            const int j = lane_of() + c * LANES;
            factor[c] = j < s.columns ? x[j] : 0;
        }
#pragma unroll
        for (int r = 0; r < TALL; r++)
#pragma unroll
            for (int c = 0; c < WIDE; c++) sum[r] = add_product<OF_B>(b[r][c], factor[c], sum[r]);
        put_rows(k, sum, part_of(k, s));
    }
    template <int OF_B, typename F>
    __device__ __forceinline__ void columns(const struct walk_f32 &k, const struct desk &s, const float *x, F put)
    {
        float factor[TALL];
#pragma unroll
        for (int r = 0; r < TALL; r++) {
            const int i = warp_of() + r * WALK_WARPS;
            factor[r] = i < k.rq ? x[i] : 0;
        }
#pragma unroll
        for (int c = 0; c < WIDE; c++) {
            float sum = 0;
#pragma unroll
            for (int r = 0; r < TALL; r++) sum = add_product<OF_B>(b[r][c], factor[r], sum);
            s.group[(warp_of() * WIDE + c) * LANES + lane_of()] = sum;
        }
        __syncthreads();
        for (int j = (int)threadIdx.x; j < s.columns; j += WALK_THREADS) {
            float sum = 0;
#pragma unroll
            for (int warp = 0; warp < WALK_WARPS; warp++) sum += s.group[warp * WIDE * LANES + j];
            put(j, sum);
        }
        __syncthreads();
    }
    __device__ __forceinline__ void rows_a(const struct walk_f32 &k, const struct desk &s, const float *x)
    {
        rows<POWER>(k, s, x);
    }
    __device__ __forceinline__ void rows_b(const struct walk_f32 &k, const struct desk &s, const float *x)
    {
        rows<1>(k, s, x);
    }
    template <typename F>
    __device__ __forceinline__ void columns_a(const struct walk_f32 &k, const struct desk &s, const float *x, F put)
    {
        columns<POWER>(k, s, x, put);
    }
    template <typename F>
    __device__ __forceinline__ void columns_b(const struct walk_f32 &k, const struct desk &s, const float *x, F put)
    {
        columns<1>(k, s, x, put);
    }
    template <typename F>
    __device__ __forceinline__ void each_row(const struct walk_f32 &k, const struct desk &s, F of_row)
    {
#pragma unroll
        for (int r = 0; r < TALL; r++) {
            const int i = warp_of() + r * WALK_WARPS;
            if (i >= k.rq) break;
            const auto element = of_row(i);
#pragma unroll
            for (int c = 0; c < WIDE; c++) {
                const int j = lane_of() + c * LANES;
                if (j < s.columns) element(j, power<POWER>(b[r][c]), b[r][c]);
            }
        }
    }
};
#endif
