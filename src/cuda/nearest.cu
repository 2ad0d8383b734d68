/* nearest.cu - deep nearest neighbours: cosines by two launches (cosines.cu), and one in which each location of a query keeps
 * its nearest features of a group in registers. On Hopper, for small k, nearest_hopper.cu. */
#include "cuda/nearest.cuh"

enum { WARPS = 16, BLOCK = 32 * WARPS, LOADS = 4 };

struct nearest {
    const float *phi; /* [nq * rq, row] */
    size_t row;
    int rq, m, groups, k; /* m: features of a group */
    float scale;
    float *y; /* [nq, groups] */
};

/* NaN counts as larger than every number, so that it is seen in the result. */
static __device__ inline bool larger(float a, float b) { return a > b || (a != a && b == b); }

/* Keeps best [K], largest first. */
template <int K> static __device__ inline void keep(float x, float *best)
{
#pragma unroll
    for (int i = 0; i < K; i++) {
        const bool first = larger(x, best[i]);
        const float next = first ? best[i] : x;
        best[i] = first ? x : best[i];
        x = next;
    }
}

/* The K largest of what each lane sees of ROWS rows x [m], `row` apart, of which `live` are there; the loads of a turn are all
 * under way together. */
template <int K, int ROWS>
static __device__ inline void look_through(const float *x, size_t row, int live, int m, float (&best)[ROWS][K])
{
    const int lane = (int)threadIdx.x % 32;
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int i = 0; i < K; i++) best[r][i] = -INFINITY;
    for (int j0 = lane; j0 < m; j0 += 32 * LOADS) {
        float v[ROWS][LOADS];
#pragma unroll
        for (int r = 0; r < ROWS; r++)
#pragma unroll
            for (int i = 0; i < LOADS; i++)
                v[r][i] = r < live && j0 + 32 * i < m ? x[(size_t)r * row + (size_t)(j0 + 32 * i)] : -INFINITY;
#pragma unroll
        for (int r = 0; r < ROWS; r++)
#pragma unroll
            for (int i = 0; i < LOADS; i++) keep<K>(v[r][i], best[r]);
    }
}

/* The sum of the k <= K largest that a warp's lanes have kept; the same in all of them. */
template <int K> static __device__ inline double nearest_sum(float (&best)[K], int k)
{
    const int lane = (int)threadIdx.x % 32;
    double sum = 0;
    for (int i = 0; i < k; i++) {
        float top = best[0];
        int owner = lane;
        for (int half = 16; half; half /= 2) {
            const float other = __shfl_xor_sync(0xffffffffu, top, half);
            const int place = __shfl_xor_sync(0xffffffffu, owner, half);
            if (larger(other, top) || (!larger(top, other) && place < owner)) top = other, owner = place;
        }
        sum += (double)top;
        if (owner == lane) {
#pragma unroll
            for (int at = 0; at + 1 < K; at++) best[at] = best[at + 1];
            best[K - 1] = -INFINITY;
        }
    }
    return sum;
}
template <> __device__ inline double nearest_sum<1>(float (&best)[1], int)
{
    float top = best[0];
    for (int half = 16; half; half /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, top, half);
        top = larger(other, top) ? other : top;
    }
    return (double)top;
}

/* One block a query and group; a warp takes several locations at a time. */
template <int K> __global__ void __launch_bounds__(BLOCK, 3) nearest_kernel(const struct nearest n)
{
    constexpr int ROWS = K == 1 ? 4 : K <= 3 ? 2 : 1;
    __shared__ double sums[WARPS];
    const int warp = (int)threadIdx.x / 32;
    const size_t query = blockIdx.x, group = blockIdx.y;
    const float *phi = n.phi + query * (size_t)n.rq * n.row + group * (size_t)n.m;
    double sum = 0;
    for (int i = warp * ROWS; i < n.rq; i += WARPS * ROWS) {
        float best[ROWS][K];
        look_through<K, ROWS>(phi + (size_t)i * n.row, n.row, n.rq - i, n.m, best);
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const double found = nearest_sum<K>(best[r], n.k);
            if (i + r < n.rq) sum += found;
        }
    }
    if (threadIdx.x % 32 == 0) sums[warp] = sum;
    __syncthreads();
    if (threadIdx.x) return;
    sum = 0;
    for (int i = 0; i < WARPS; i++) sum += sums[i];
    n.y[query * (size_t)n.groups + group] = (float)((double)n.scale * sum);
}

static status run_part(struct gpu *g, const struct nearest_args *a, struct cosines *c, float *y)
{
    void *memory;
    struct cursor cursor = {};
    cosines_lay(c, &cursor);
    PASS(gpu_scratch(g, cursor.bytes, &memory));
    cursor = {(char *)memory, 0};
    cosines_lay(c, &cursor);
    PASS(cosines_run(g, c));
    const struct nearest n = {c->phi,         c->row,    (int)c->rq,      (int)(c->ns / a->groups * c->rs),
                              (int)a->groups, (int)a->k, (float)a->scale, y};
    const dim3 grid((unsigned)c->nq, (unsigned)a->groups);
    if (a->k == 1) nearest_kernel<1><<<grid, BLOCK, 0, g->stream>>>(n);
    else if (a->k <= 3) nearest_kernel<3><<<grid, BLOCK, 0, g->stream>>>(n);
    else nearest_kernel<NEAREST_K><<<grid, BLOCK, 0, g->stream>>>(n);
    return LAUNCHED(g, "nearest");
}

static status nearest(struct device *d, const struct nearest_args *a, tensor *y)
{
    struct gpu *g = gpu_enter(d);
    struct cosines all;
    size_t queries;
    if (a->groups > 0xffff) return g->fail(ST_UNSUPPORTED, "%zu groups are too many for the GPU", a->groups);
    PASS(cosines_make(g, a->support, a->query, false, &all, &queries));
    const bool hopper = nearest_hopper_serves(g, a, &all);
    for (size_t from = 0; from < all.nq; from += queries) {
        struct cosines part = all;
        part.nq = size_min(queries, all.nq - from);
        part.query += from * all.channels * all.rq;
        float *to = reals<float>(y) + from * a->groups;
        if (hopper) PASS(nearest_hopper(g, a, &part, to));
        else PASS(run_part(g, a, &part, to));
    }
    return OK;
}

void table_nearest(struct prims p[DT_REALS]) { p[DT_F32].nearest = nearest; }
