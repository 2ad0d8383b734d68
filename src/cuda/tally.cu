/* tally.cu - how a step went, added to what is known of the steps before it: one block, sums of integers. */
#include "cuda/gpu.cuh"

template <typename real>
__global__ void tally_kernel(const real *scores, const int *labels, size_t n, size_t way, const real *loss,
                             double weight, uint64_t step, struct tallied *to)
{
    __shared__ unsigned right;
    if (threadIdx.x == 0) right = 0;
    __syncthreads();
    unsigned own = 0;
    for (size_t i = threadIdx.x; i < n; i += blockDim.x) {
        const real *row = scores + i * way;
        size_t best = 0;
        for (size_t c = 1; c < way; c++)
            if (row[c] > row[best]) best = c;
        own += best == (size_t)labels[i];
    }
    atomicAdd(&right, own);
    __syncthreads();
    if (threadIdx.x) return;
    to->right += right;
    if (!loss) return;
    if (!isfinite(*loss) && !to->broke) to->broke = step + 1;
    to->loss = __dadd_rn(to->loss, __dmul_rn((double)*loss, weight));
}

template <typename real>
status tally(struct device *d, const tensor *scores, const tensor *labels, const tensor *loss, double weight,
             uint64_t step, struct tallied *to)
{
    struct gpu *g = gpu_enter(d);
    tally_kernel<<<1, THREADS, 0, g->stream>>>(reals<real>(scores), ints(labels), scores->dim[0], scores->dim[1],
                                               reals<real>(loss), weight, step, to);
    return LAUNCHED(g, "the tally");
}

void table_tally(struct prims p[DT_REALS])
{
    p[DT_F32].tally = tally<float>;
    p[DT_F64].tally = tally<double>;
}
