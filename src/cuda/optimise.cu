/* optimise.cu - one step of SGD or Adam: value and state change in place, element by element, many parameters a launch. */
#include "cuda/gpu.cuh"

/* Parameters of a launch: they travel as an argument of the kernel, which may have 4 KB. */
enum { GROUP = 72, LOADS = 2, BLOCK_BYTES = THREADS * 16 * LOADS * 2 };

template <typename real> struct parameter {
    const real *grad;
    real *state[2], *value;
    size_t count;
    unsigned first; /* block */
    bool even;      /* all of it lies on 16 bytes */
};
template <typename real> struct group {
    struct parameter<real> of[GROUP];
    unsigned count;
    bool fresh; /* what the states hold is not to be read */
};
static_assert(sizeof(struct group<double>) <= 4096 - 128, "no room for the numbers of a step");

template <typename real, int V> struct alignas(V * sizeof(real)) pack {
    real x[V];
};
template <int V, typename real> static __device__ inline void fetch(const real *from, struct pack<real, V> *to)
{
    *to = *(const struct pack<real, V> *)(const void *)from;
}
/* Named as one store: the compiler would store some packs number by number. */
static __device__ inline void give(float *to, const struct pack<float, 4> &v)
{
    __stwb((float4 *)(void *)to, make_float4(v.x[0], v.x[1], v.x[2], v.x[3]));
}
static __device__ inline void give(double *to, const struct pack<double, 2> &v)
{
    __stwb((double2 *)(void *)to, make_double2(v.x[0], v.x[1]));
}
template <typename real> static __device__ inline void give(real *to, const struct pack<real, 1> &v) { *to = v.x[0]; }

/* Numbers [from, to) of a parameter, V neighbours a thread; with V > 1 all of the block's packs are there. All loads of a
 * round are under way before the first number is used. */
template <int STATES, int V, typename real, typename F>
static __device__ inline void learn(const struct parameter<real> &p, bool fresh, size_t from, size_t to, F f)
{
    const bool kept = p.state[0], read = kept && !fresh;
    for (size_t base = from; base < to; base += THREADS * V * LOADS) {
        struct pack<real, V> grad[LOADS], value[LOADS], state[LOADS][STATES] = {};
#pragma unroll
        for (unsigned u = 0; u < LOADS; u++) {
            const size_t i = base + (u * THREADS + threadIdx.x) * V;
            if (V == 1 && i >= to) continue;
            fetch(p.grad + i, &grad[u]);
            fetch((const real *)p.value + i, &value[u]);
            for (int s = 0; s < STATES; s++)
                if (read) fetch((const real *)p.state[s] + i, &state[u][s]);
        }
#pragma unroll
        for (unsigned u = 0; u < LOADS; u++) {
            const size_t i = base + (u * THREADS + threadIdx.x) * V;
            if (V == 1 && i >= to) continue;
#pragma unroll
            for (int k = 0; k < V; k++) {
                real own[STATES];
                for (int s = 0; s < STATES; s++) own[s] = state[u][s].x[k];
                f(grad[u].x[k], value[u].x[k], own, kept);
                for (int s = 0; s < STATES; s++) state[u][s].x[k] = own[s];
            }
            give(p.value + i, value[u]);
            for (int s = 0; s < STATES; s++)
                if (kept) give(p.state[s] + i, state[u][s]);
        }
    }
}

/* f(grad, value, states, whether there are states) for each number of all parameters. A block works on the last parameter
 * that does not begin after it. */
template <int STATES, typename real, typename F>
__global__ void __launch_bounds__(THREADS) group_kernel(const __grid_constant__ struct group<real> g, F f)
{
    enum { V = 16 / sizeof(real), BLOCK = BLOCK_BYTES / sizeof(real) };
    unsigned low = 0, high = g.count;
    while (high - low > 1) {
        const unsigned middle = (low + high) / 2;
        if (g.of[middle].first <= blockIdx.x) low = middle;
        else high = middle;
    }
    const struct parameter<real> &p = g.of[low];
    const size_t from = (size_t)(blockIdx.x - p.first) * BLOCK;
    if (p.even && from + BLOCK <= p.count) learn<STATES, V>(p, g.fresh, from, from + BLOCK, f);
    else learn<STATES, 1>(p, g.fresh, from, from + BLOCK < p.count ? from + BLOCK : p.count, f);
}

static inline bool is_even(const void *at) { return (uintptr_t)at % 16 == 0; }

template <int STATES, typename real, typename F>
static status each_learned(struct gpu *g, size_t count, const struct learned *of, bool fresh, F f)
{
    for (size_t first = 0; first < count; first += GROUP) {
        struct group<real> group = {};
        size_t blocks = 0;
        group.count = (unsigned)size_min(GROUP, count - first);
        group.fresh = fresh;
        for (size_t k = 0; k < group.count; k++) {
            const struct learned *l = &of[first + k];
            real *const state[2] = {reals<real>(l->state[0]), reals<real>(l->state[1])};
            const real *grad = reals<real>(l->grad);
            real *value = reals<real>(l->value);
            const bool even = is_even(grad) && is_even(value) && is_even(state[0]) && is_even(state[1]);
            group.of[k] = {grad, {state[0], state[1]}, value, count_of(l->value), (unsigned)blocks, even};
            blocks += size_div_up(count_of(l->value), BLOCK_BYTES / sizeof(real));
        }
        if (blocks == 0) continue;
        group_kernel<STATES><<<(unsigned)blocks, THREADS, 0, g->stream>>>(group, f);
        PASS(LAUNCHED(g, "a step of learning"));
    }
    return OK;
}

/* v = keep v + share g, then p -= rate (ahead g + turn v): Nesterov's momentum looks one step ahead, the plain one has
 * ahead 0 and turn 1. The first step does not read v. Products that are not rounded are named: left to the compiler, which
 * of two it takes would depend on the code around. */
template <typename real>
status sgd_step(struct device *d, const struct sgd_args *a, size_t count, const struct learned *of)
{
    const real rate = (real)a->rate, decay = (real)a->decay, keep = (real)a->momentum;
    const real share = (real)(1 - a->dampening), ahead = a->nesterov ? 1 : 0, turn = a->nesterov ? keep : (real)1;
    const bool first = a->first;
    return each_learned<1, real>(gpu_enter(d), count, of, first,
                                 [=] __device__(real grad, real & value, real * momentum, bool kept) {
                                     const real g = fma(decay, value, grad);
                                     if (!kept) {
                                         value -= rate * g;
                                         return;
                                     }
                                     const real v = first ? g : fma(share, g, keep * momentum[0]);
                                     momentum[0] = v;
                                     value -= rate * fma(ahead, g, turn * v);
                                 });
}

template <typename real>
status adam_step(struct device *d, const struct adam_args *a, size_t count, const struct learned *of)
{
    const real keep1 = (real)a->beta1, share1 = (real)(1 - a->beta1), keep2 = (real)a->beta2;
    const real share2 = (real)(1 - a->beta2), decay = (real)a->decay, epsilon = (real)a->epsilon;
    const real step = (real)(a->rate / a->correction1), widen = (real)sqrt(a->correction2);
    return each_learned<2, real>(
        gpu_enter(d), count, of, false, [=] __device__(real grad, real & value, real * state, bool) {
            const real g = fma(decay, value, grad);
            const real m = fma(keep1, state[0], share1 * g), v = fma(share2 * g, g, keep2 * state[1]);
            state[0] = m;
            state[1] = v;
            value -= step * m / (sqrt(v) / widen + epsilon);
        });
}

template <typename real> static void enter(struct prims *p)
{
    p->sgd_step = sgd_step<real>;
    p->adam_step = adam_step<real>;
}

void table_optimise(struct prims p[DT_REALS])
{
    enter<float>(&p[DT_F32]);
    enter<double>(&p[DT_F64]);
}
