/* halves.cu - singles split into halves, and products of halves by cuBLAS on the matrix units. */
#include "cuda/halves.cuh"

enum { SPLIT_THREADS = 256 };

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

status split_run(struct gpu *g, const struct split *s)
{
    const size_t blocks = size_div_up(s->lines * (size_t)s->row / 2, 4 * SPLIT_THREADS); /* 4 pairs a thread */
    split_kernel<<<(unsigned)size_min(blocks, MOST_BLOCKS), SPLIT_THREADS, 0, g->stream>>>(*s);
    return LAUNCHED(g, "a derivative as halves");
}

/* cuBLAS thinks in columns: c^T = b^T a^T. */
static cublasStatus_t multiply(struct gpu *g, const struct half_product *p)
{
    const float zero = 0;
    const cublasOperation_t ta = p->a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                            tb = p->b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    return cublasGemmEx(g->blas, tb, ta, (int)p->n, (int)p->m, (int)p->depth, &p->scale, p->b.data, CUDA_R_16F,
                        (int)p->b.row, p->a.data, CUDA_R_16F, (int)p->a.row, &zero, p->c, CUDA_R_32F, (int)p->c_row,
                        CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

/* The handle keeps to plain arithmetic, which would leave the matrix units alone. */
status half_product_run(struct gpu *g, const struct half_product *p)
{
    cublasMath_t usual;
    BLAS_TRY(g, cublasGetMathMode(g->blas, &usual));
    BLAS_TRY(g, cublasSetMathMode(
                    g->blas, (cublasMath_t)(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)));
    const cublasStatus_t e = multiply(g, p);
    BLAS_TRY(g, cublasSetMathMode(g->blas, usual));
    return e == CUBLAS_STATUS_SUCCESS ? OK : gpu_blas_failed(g, e, "a product of halves");
}
