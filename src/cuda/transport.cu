/* transport.cu - optimal transport, one warp a problem: all lanes fetch the costs and write the answer, one of them walks the
 * tree. The method is in base/transport.h. Problems are many and small, so that the lanes that wait are not missed. */
#define TRANSPORT_CODE static __host__ __device__ inline
TRANSPORT_CODE int lowest_bit(unsigned long long set)
{
#ifdef __CUDA_ARCH__
    return __ffsll((long long)set) - 1;
#else
    return __builtin_ctzll(set);
#endif
}
#define TRANSPORT_LOWEST(set) lowest_bit(set)
#include "base/transport.h"
#include "cuda/gpu.cuh"

enum { LANES = 32 };

template <typename real> struct jobs {
    size_t m, g, n, bytes;
    const real *cost, *supply, *demand;
    real *value, *flow, *supply_price, *demand_price;
    char *memory; /* [problems, bytes] */
    unsigned long long *fault;
};

/* Weights as amounts; their sum. NaN when they allow none. */
template <typename real> static __device__ double amounts_of(const real *weight, int n, double *wide, int64_t *out)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += wide[i] = (double)weight[i];
    return transport_amounts(wide, n, out) ? sum : NAN;
}

template <typename real>
static __device__ bool solve(const struct jobs<real> &w, size_t p, struct transport *t, double *unit)
{
    const double total = amounts_of(w.supply + p * w.m, t->rows, t->price, t->amount);
    const double wanted = amounts_of(w.demand + p * w.n, t->columns, t->price, t->amount + t->rows);
    for (int j = 0; j < t->stride; j++) t->price[t->rows + j] = 0;
    if (isnan(total) || isnan(wanted) || !transport_solve(t)) return false;
    double value = 0;
    for (int place = 1; place < t->rows + t->columns; place++)
        value += (double)t->flow[place] * transport_cost(t, place, t->parent[place]);
    *unit = total / (double)TRANSPORT_WHOLE;
    w.value[p] = (real)(value * *unit);
    return true;
}

/* Where flow is not, the tensor was made 0 before. */
template <typename real>
static __device__ void answer(const struct jobs<real> &w, size_t p, const struct transport *t, double unit)
{
    const size_t stride = w.g * w.n;
    real *flow = w.flow + p / w.g * w.m * stride + p % w.g * w.n;
    for (int place = 1 + (int)threadIdx.x; w.flow && place < t->rows + t->columns; place += LANES) {
        const int up = t->parent[place], row = place < up ? place : up, column = (place < up ? up : place) - t->rows;
        flow[(size_t)row * stride + (size_t)column] = (real)((double)t->flow[place] * unit);
    }
    for (size_t i = threadIdx.x; w.supply_price && i < w.m; i += LANES)
        w.supply_price[p * w.m + i] = (real)t->price[i];
    for (size_t j = threadIdx.x; w.demand_price && j < w.n; j += LANES)
        w.demand_price[p * w.n + j] = (real)t->price[w.m + j];
}

template <typename real> __global__ void transport_kernel(struct jobs<real> w)
{
    __shared__ struct transport t;
    __shared__ double unit;
    __shared__ bool solved;
    const size_t p = blockIdx.x, stride = w.g * w.n;
    const real *cost = w.cost + p / w.g * w.m * stride + p % w.g * w.n;
    if (threadIdx.x == 0) transport_carve(&t, (int)w.m, (int)w.n, w.memory + p * w.bytes);
    __syncwarp();
    for (size_t i = 0; i < w.m; i++)
        for (size_t j = threadIdx.x; j < w.n; j += LANES)
            t.cost[i * (size_t)t.stride + j] = (double)cost[i * stride + j];
    __syncwarp();
    if (threadIdx.x == 0) {
        solved = solve(w, p, &t, &unit);
        if (!solved) fault_report(w.fault, FAULT_TRANSPORT, p, 0);
    }
    __syncwarp();
    if (solved) answer(w, p, &t, unit);
}

template <typename real> status transport(struct device *d, const struct transport_args *a)
{
    struct gpu *g = gpu_enter(d);
    const size_t *dim = a->cost->dim, problems = dim[0] * dim[2];
    void *memory;
    struct jobs<real> w = {dim[1], dim[2], dim[3], transport_bytes((int)dim[1], (int)dim[3])};
    if (problems == 0) return OK;
    PASS(gpu_scratch(g, problems * w.bytes, &memory));
    w.cost = reals<real>(a->cost);
    w.supply = reals<real>(a->supply);
    w.demand = reals<real>(a->demand);
    w.value = reals<real>(a->value);
    w.flow = reals<real>(a->flow);
    w.supply_price = reals<real>(a->supply_price);
    w.demand_price = reals<real>(a->demand_price);
    w.memory = (char *)memory;
    w.fault = g->fault;
    if (w.flow) GPU_TRY(g, cudaMemsetAsync(w.flow, 0, count_of(a->flow) * sizeof(real), g->stream));
    transport_kernel<<<(unsigned)problems, LANES, 0, g->stream>>>(w);
    return LAUNCHED(g, "transport");
}

template <typename real> static void enter(struct prims *p) { p->transport = transport<real>; }

void table_transport(struct prims p[DT_REALS])
{
    enter<float>(&p[DT_F32]);
    enter<double>(&p[DT_F64]);
}
