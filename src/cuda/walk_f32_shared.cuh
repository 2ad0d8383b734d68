/* walk_f32_shared.cuh - one query's matrices in shared memory, and products with them: for every size and sharpness. */
#ifndef CUDA_WALK_F32_SHARED_CUH
#define CUDA_WALK_F32_SHARED_CUH
#include "cuda/walk_f32.cuh"

/* The matrices as functions of the place in shared memory. */
template <int POWER> struct matrix_a {
    const float *a, *b;
    __device__ explicit matrix_a(const struct desk &s) : a(s.a), b(s.b) {}
    __device__ float operator()(int at) const { return POWER ? power<POWER>(b[at]) : a[at]; }
};
struct matrix_b {
    const float *b;
    __device__ explicit matrix_b(const struct desk &s) : b(s.b) {}
    __device__ float operator()(int at) const { return b[at]; }
};

/* part[i] = sum over this block's columns of m[i, j] x[j]; a warp takes ROWS rows at a time. */
template <int ROWS, typename M>
static __device__ void rows_times_by(const struct walk_f32 &k, const struct desk &s, M m, const float *x)
{
    float *part = part_of(k, s);
    for (int i = warp_of() * ROWS; i < k.rq; i += WALK_WARPS * ROWS) {
        float sum[ROWS] = {};
        int from[ROWS];
        for (int r = 0; r < ROWS; r++) from[r] = (i + r < k.rq ? i + r : k.rq - 1) * k.step;
        for (int j = lane_of(); j < s.columns; j += LANES) {
            const float factor = x[j];
#pragma unroll
            for (int r = 0; r < ROWS; r++) sum[r] = fmaf(m(from[r] + j), factor, sum[r]);
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++) sum[r] = lanes_sum(sum[r]);
        for (int r = 0; r < ROWS; r++)
            if (lane_of() == 0 && i + r < k.rq) part[i + r] = sum[r];
    }
}

/* The same with all warps at work where rows are few. Gather comes next. */
template <typename M>
static __device__ void rows_times(const struct walk_f32 &k, const struct desk &s, M m, const float *x)
{
    if (k.rq <= 2 * WALK_WARPS) rows_times_by<2>(k, s, m, x);
    else rows_times_by<4>(k, s, m, x);
}

/* The sum over rows [from, to) of m[i, j] x[i], in two chains. */
template <typename M>
static __device__ inline float column_sum(const struct walk_f32 &k, M m, const float *x, int from, int to, int j)
{
    float even = 0, odd = 0;
    int i = from;
#pragma unroll 4
    for (; i + 1 < to; i += 2) {
        even = fmaf(m(i * k.step + j), x[i], even);
        odd = fmaf(m((i + 1) * k.step + j), x[i + 1], odd);
    }
    if (i < to) even = fmaf(m(i * k.step + j), x[i], even);
    return even + odd;
}

/* put(j, sum over rows of m[i, j] x[i]) for this block's columns. Neighbouring threads take neighbouring columns; where
 * there are warps to spare, groups of them share the rows. */
template <typename M, typename F>
static __device__ void columns_times(const struct walk_f32 &k, const struct desk &s, M m, const float *x, F put)
{
    const int chunks = (s.columns + LANES - 1) / LANES;
    const int groups = chunks > 0 && chunks * 2 <= WALK_WARPS ? WALK_WARPS / chunks : 1;
    if (groups == 1) {
        for (int j = (int)threadIdx.x; j < s.columns; j += WALK_THREADS) put(j, column_sum(k, m, x, 0, k.rq, j));
        __syncthreads();
        return;
    }
    const int rows = (k.rq + groups - 1) / groups, own = warp_of() / chunks, from = own * rows;
    const int j = warp_of() % chunks * LANES + lane_of();
    if (own < groups && j < s.columns)
        s.group[own * chunks * LANES + j] = column_sum(k, m, x, from, from + rows < k.rq ? from + rows : k.rq, j);
    __syncthreads();
    for (int c = (int)threadIdx.x; c < s.columns; c += WALK_THREADS) {
        float sum = 0;
        for (int g = 0; g < groups; g++) sum += s.group[g * chunks * LANES + c];
        put(c, sum);
    }
    __syncthreads();
}

/* A warp takes a row at a time. */
template <int POWER> static __device__ void fill_shared(const struct walk_f32 &k, struct desk &s, float *part)
{
    for (int i = warp_of(); i < k.rq; i += WALK_WARPS) {
        const float *phi = k.phi + ((size_t)s.query * (size_t)k.rq + (size_t)i) * (size_t)k.row + s.start;
        float sum = 0;
#pragma unroll 4
        for (int j = lane_of(); j < s.columns; j += LANES) {
            const int at = i * k.step + j;
            float a;
            if (POWER) {
                const float b = exponential(phi[j], k.to_query);
                s.b[at] = b;
                a = power<POWER>(b);
            } else {
                a = exponential(phi[j], k.to_support);
                s.a[at] = a;
                if (k.walks_back) s.b[at] = exponential(phi[j], k.to_query);
            }
            sum += a;
        }
        sum = lanes_sum(sum);
        if (lane_of() == 0) part[i] = sum;
    }
}

/* The interface that walk_f32.cuh describes. b is told as 0 where it is not kept: nothing asks for it then. */
template <int POWER_OF_B> struct in_shared {
    enum { POWER = POWER_OF_B, BLOCKS = 2 };
    __device__ void fill(const struct walk_f32 &k, struct desk &s, float *part) { fill_shared<POWER>(k, s, part); }
    __device__ void rows_a(const struct walk_f32 &k, const struct desk &s, const float *x)
    {
        rows_times(k, s, matrix_a<POWER>(s), x);
    }
    __device__ void rows_b(const struct walk_f32 &k, const struct desk &s, const float *x)
    {
        rows_times(k, s, matrix_b(s), x);
    }
    template <typename F>
    __device__ void columns_a(const struct walk_f32 &k, const struct desk &s, const float *x, F put)
    {
        columns_times(k, s, matrix_a<POWER>(s), x, put);
    }
    template <typename F>
    __device__ void columns_b(const struct walk_f32 &k, const struct desk &s, const float *x, F put)
    {
        columns_times(k, s, matrix_b(s), x, put);
    }
    template <typename F> __device__ void each_row(const struct walk_f32 &k, const struct desk &s, F of_row)
    {
        const matrix_a<POWER> a(s);
        for (int i = warp_of(); i < k.rq; i += WALK_WARPS) {
            const auto element = of_row(i);
            for (int j = lane_of(); j < s.columns; j += LANES) {
                const int at = i * k.step + j;
                element(j, a(at), k.walks_back ? s.b[at] : 0);
            }
        }
    }
};
#endif
