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
#include "cuda/gpu.cuh"
#include <cuda_fp16.h>
#include <math.h>

#define UNIT_SCALE 64.0f
enum { TOP_EXPONENT = 12 };

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

/* `from` split, with the scale of `largest`. */
status split_run(struct gpu *g, const struct split *s);

/* c [m, n] = scale a b, row-major: halves in, singles out. */
struct half_factor {
    const void *data;
    size_t row; /* numbers between rows, as they lie */
    bool transposed;
};
struct half_product {
    size_t m, n, depth;
    struct half_factor a, b;
    float *c;
    size_t c_row;
    float scale;
};
status half_product_run(struct gpu *g, const struct half_product *p);
#endif
