/* halves.cuh - singles as pairs of halves, so that three products on the matrix units are one of singles.
 *
 * x is high + low, both with 11 bits: x y = high low' + low high' + high high', and 2^-22 of it is left out. The three terms
 * become one product by lying side by side: the parts of one factor are (low, high, high), those of the other (high, low,
 * high), and the product is three times as deep.
 *
 * fp16 ends at 65504 and at 2^-24, so numbers are brought to its middle by a power of two. Unit vectors have components up
 * to 1 and a scale that is known (UNIT_SCALE). A derivative has the scale of its largest number: whoever computes it leaves
 * the largest of each block in an array, and every block that reads the derivative looks through that array again. */
#ifndef CUDA_HALVES_CUH
#define CUDA_HALVES_CUH
#include <cuda_fp16.h>
#include <math.h>

#define UNIT_SCALE 64.0f
enum { TOP_EXPONENT = 12, SPLIT_THREADS = 256 };

static __device__ inline void split_pair(float x, float y, __half2 *high, __half2 *low)
{
    *high = __floats2half2_rn(x, y);
    *low = __floats2half2_rn(x - __low2float(*high), y - __high2float(*high));
}

/* The power of two that brings the largest of `count` numbers to 2^12; 1 when that says nothing. By all threads of a block
 * of at least 32, whose first warp looks. */
static __device__ inline float scale_of(int count, const float *largest)
{
    __shared__ float told;
    if (threadIdx.x < 32) {
        float top = 0;
        for (int i = (int)threadIdx.x; i < count; i += 32) top = fmaxf(top, largest[i]);
        for (int half = 16; half; half /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, half));
        const bool usual = top > 0 && top < INFINITY;
        const int exponent = usual ? TOP_EXPONENT - ilogbf(top) : 0;
        if (threadIdx.x == 0) told = ldexpf(1, exponent < 120 ? exponent : 120);
    }
    __syncthreads();
    return told;
}

struct split {
    size_t lines;
    int row, m;           /* numbers between lines, an even count, and how many of them count: the rest becomes 0 */
    const float *from;    /* [lines, row] */
    __half *to;           /* [lines, 3, row]: high, low, high */
    const float *largest; /* [count] */
    int count;
};

__global__ void __launch_bounds__(SPLIT_THREADS) split_kernel(const struct split s)
{
    const float scale = scale_of(s.count, s.largest);
    const size_t pairs = (size_t)s.row / 2, all = s.lines * pairs;
    for (size_t e = (size_t)blockIdx.x * SPLIT_THREADS + threadIdx.x; e < all; e += (size_t)gridDim.x * SPLIT_THREADS) {
        const size_t line = e / pairs;
        const int j = (int)(e % pairs) * 2;
        const float2 x = *(const float2 *)(s.from + line * (size_t)s.row + j);
        __half2 high, low;
        split_pair(j < s.m ? x.x * scale : 0, j + 1 < s.m ? x.y * scale : 0, &high, &low);
        __half *to = s.to + line * 3 * (size_t)s.row + j;
        *(__half2 *)to = high;
        *(__half2 *)(to + s.row) = low;
        *(__half2 *)(to + 2 * s.row) = high;
    }
}
#endif
