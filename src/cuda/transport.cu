/* transport.cu - optimal transport, one warp a problem: its lanes search together, one of them changes the tree. The method is in
 * base/transport.h. Arrays lie in shared memory where several problems find room in a processor's. */
#include <cuda_runtime.h>
#include <math.h>
#define TRANSPORT_CODE static __host__ __device__ inline
#define TRANSPORT_LOWEST(set) lowest_bit(set)
#define TRANSPORT_WORK static __device__ inline
#define TRANSPORT_CREW 32
#define TRANSPORT_MEMBER ((int)threadIdx.x)
#define TRANSPORT_MEET() __syncwarp()

static const unsigned EVERYBODY = ~0u;

TRANSPORT_CODE int lowest_bit(unsigned long long set)
{
#ifdef __CUDA_ARCH__
    return __ffsll((long long)set) - 1;
#else
    return __builtin_ctzll(set);
#endif
}

TRANSPORT_WORK double transport_least(const double *a, const double *b, int n)
{
    double best = INFINITY;
    for (int j = TRANSPORT_MEMBER; j < n; j += TRANSPORT_CREW) best = fmin(best, a[j] - b[j]);
    for (int apart = TRANSPORT_CREW / 2; apart; apart /= 2) best = fmin(best, __shfl_xor_sync(EVERYBODY, best, apart));
    return best;
}

TRANSPORT_WORK int transport_where(const double *a, const double *b, int n, double least)
{
    for (int from = 0; from < n; from += TRANSPORT_CREW) {
        const int j = from + TRANSPORT_MEMBER;
        const unsigned there = __ballot_sync(EVERYBODY, j < n && a[j] - b[j] <= least);
        if (there) return from + __ffs((int)there) - 1;
    }
    return 0; /* nobody comes here: the least is somewhere */
}

TRANSPORT_WORK double transport_most(double x)
{
    for (int apart = TRANSPORT_CREW / 2; apart; apart /= 2) {
        const double other = __shfl_xor_sync(EVERYBODY, x, apart);
        x = isnan(other) || other > x ? other : x;
    }
    return x;
}
#include "base/transport.h"
#include "cuda/gpu.cuh"

template <typename real> struct jobs {
    size_t m, g, n, bytes;
    const real *cost, *supply, *demand;
    real *value, *flow, *supply_price, *demand_price;
    char *memory; /* [problems, bytes]; NULL: in shared memory */
    unsigned long long *fault;
};

/* Weights as amounts; their sum. NaN when they allow none. */
template <typename real> static __device__ double amounts_of(const real *weight, int n, double *wide, int64_t *out)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += wide[i] = (double)weight[i];
    return transport_amounts(wide, n, out) ? sum : NAN;
}

/* Supply and demand as amounts, each by a lane of its own; what a whole number of them stands for. NaN when they allow none. */
template <typename real> static __device__ double fill(const struct jobs<real> &w, size_t p, struct transport *t)
{
    const bool demand = threadIdx.x == 1;
    const int n = demand ? t->columns : t->rows, at = demand ? t->rows : 0;
    double sum = 0;
    if (threadIdx.x < 2)
        sum = amounts_of(demand ? w.demand + p * w.n : w.supply + p * w.m, n, t->price + at, t->amount + at);
    const double total = __shfl_sync(EVERYBODY, sum, 0), wanted = __shfl_sync(EVERYBODY, sum, 1);
    for (int j = (int)threadIdx.x; j < t->stride; j += TRANSPORT_CREW) t->price[t->rows + j] = 0;
    __syncwarp();
    return isnan(wanted) ? wanted : total / (double)TRANSPORT_WHOLE;
}

/* In the order of a processor, so that the bits are the same. */
static __device__ double value_of(const struct transport *t)
{
    double value = 0;
    for (int place = 1; place < t->rows + t->columns; place++)
        value += (double)t->flow[place] * transport_cost(t, place, t->parent[place]);
    return value;
}

/* Where flow is not, the tensor was made 0 before. */
template <typename real>
static __device__ void answer(const struct jobs<real> &w, size_t p, const struct transport *t, double unit)
{
    const size_t stride = w.g * w.n;
    real *flow = w.flow + p / w.g * w.m * stride + p % w.g * w.n;
    for (int place = 1 + (int)threadIdx.x; w.flow && place < t->rows + t->columns; place += TRANSPORT_CREW) {
        const int up = t->parent[place], row = place < up ? place : up, column = (place < up ? up : place) - t->rows;
        flow[(size_t)row * stride + (size_t)column] = (real)((double)t->flow[place] * unit);
    }
    for (size_t i = threadIdx.x; w.supply_price && i < w.m; i += TRANSPORT_CREW)
        w.supply_price[p * w.m + i] = (real)t->price[i];
    for (size_t j = threadIdx.x; w.demand_price && j < w.n; j += TRANSPORT_CREW)
        w.demand_price[p * w.n + j] = (real)t->price[w.m + j];
}

template <typename real> __global__ void transport_kernel(struct jobs<real> w)
{
    extern __shared__ double shared[];
    __shared__ struct transport t;
    const size_t p = blockIdx.x, stride = w.g * w.n;
    const real *cost = w.cost + p / w.g * w.m * stride + p % w.g * w.n;
    if (threadIdx.x == 0) transport_carve(&t, (int)w.m, (int)w.n, w.memory ? (void *)(w.memory + p * w.bytes) : shared);
    __syncwarp();
    for (size_t i = 0; i < w.m; i++)
        for (size_t j = threadIdx.x; j < w.n; j += TRANSPORT_CREW)
            t.cost[i * (size_t)t.stride + j] = (double)cost[i * stride + j];
    const double unit = fill(w, p, &t);
    const bool solved = !isnan(unit) && transport_solve(&t);
    if (threadIdx.x == 0 && solved) w.value[p] = (real)(value_of(&t) * unit);
    if (threadIdx.x == 0 && !solved) fault_report(w.fault, FAULT_TRANSPORT, p, 0);
    if (solved) answer(w, p, &t, unit);
}

/* Two problems and more in the shared memory of a processor beat many in its caches; every GPU since sm_80 has so much. */
enum { SHARED_MOST = 96 << 10 };

template <typename real> static status launch(struct gpu *g, struct jobs<real> w, size_t problems)
{
    void *memory = NULL;
    const bool shared = w.bytes <= SHARED_MOST;
    if (shared)
        GPU_TRY(g, cudaFuncSetAttribute(transport_kernel<real>, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_MOST));
    else PASS(gpu_scratch(g, problems * w.bytes, &memory));
    w.memory = (char *)memory;
    transport_kernel<<<(unsigned)problems, TRANSPORT_CREW, shared ? w.bytes : 0, g->stream>>>(w);
    return LAUNCHED(g, "transport");
}

template <typename real> status transport(struct device *d, const struct transport_args *a)
{
    struct gpu *g = gpu_enter(d);
    const size_t *dim = a->cost->dim, problems = dim[0] * dim[2];
    struct jobs<real> w = {dim[1], dim[2], dim[3], transport_bytes((int)dim[1], (int)dim[3])};
    if (problems == 0) return OK;
    w.cost = reals<real>(a->cost);
    w.supply = reals<real>(a->supply);
    w.demand = reals<real>(a->demand);
    w.value = reals<real>(a->value);
    w.flow = reals<real>(a->flow);
    w.supply_price = reals<real>(a->supply_price);
    w.demand_price = reals<real>(a->demand_price);
    w.fault = g->fault;
    if (w.flow) GPU_TRY(g, cudaMemsetAsync(w.flow, 0, count_of(a->flow) * sizeof(real), g->stream));
    return launch(g, w, problems);
}

template <typename real> static void enter(struct prims *p) { p->transport = transport<real>; }

void table_transport(struct prims p[DT_REALS])
{
    enter<float>(&p[DT_F32]);
    enter<double>(&p[DT_F64]);
}
