/* broadcast.cuh - two tensors stretched to the shape of a third, axis by axis; axes on which both step alike are merged. */
#ifndef CUDA_BROADCAST_CUH
#define CUDA_BROADCAST_CUH
#include "cuda/gpu.cuh"

struct broadcast {
    int rank;                                      /* axes stand innermost first; 0: a single number */
    size_t dim[MAX_RANK], a[MAX_RANK], b[MAX_RANK]; /* sizes and steps; step 0: stretched */

    /* Offsets of element i of the third. */
    __device__ void find(size_t i, size_t *at_a, size_t *at_b) const
    {
        size_t x = 0, y = 0;
        for (int k = 0; k < rank; k++) {
            const size_t index = k + 1 < rank ? i % dim[k] : i;
            if (k + 1 < rank) i /= dim[k];
            x += index * a[k];
            y += index * b[k];
        }
        *at_a = x;
        *at_b = y;
    }
};

/* Size of x on axis i of `rank` axes, aligned at the last one as in numpy. */
static inline size_t broadcast_size(const tensor *x, int rank, int i)
{
    const int own = i - (rank - x->rank);
    return own < 0 ? 1 : x->dim[own];
}

static inline struct broadcast broadcast_make(const tensor *a, const tensor *b, const tensor *shape)
{
    struct broadcast c = {};
    size_t a_step = 1, b_step = 1;
    for (int i = shape->rank - 1; i >= 0; i--) {
        const size_t n = shape->dim[i], an = broadcast_size(a, shape->rank, i), bn = broadcast_size(b, shape->rank, i);
        if (n == 1) continue;
        const size_t sa = an == n ? a_step : 0, sb = bn == n ? b_step : 0;
        const int last = c.rank - 1;
        if (last >= 0 && sa == c.a[last] * c.dim[last] && sb == c.b[last] * c.dim[last]) {
            c.dim[last] *= n;
        } else {
            c.dim[c.rank] = n;
            c.a[c.rank] = sa;
            c.b[c.rank++] = sb;
        }
        a_step *= an;
        b_step *= bn;
    }
    return c;
}
#endif
