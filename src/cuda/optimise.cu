/* optimise.cu - one step of SGD or Adam: value and state change in place, element by element, many parameters a launch. */
#include "cuda/gpu.cuh"

enum { GROUP = 24, GROUP_BLOCKS = 256 };

template <typename real> struct group { /* travels as an argument of the kernel */
    struct {
        const real *grad;
        real *state[2], *value;
        size_t count;
    } of[GROUP];
};

/* Grid: [part, parameter]; f(parameter, i) for each of its numbers. */
template <typename real, typename F> __global__ void group_kernel(struct group<real> g, F f)
{
    const size_t count = g.of[blockIdx.y].count, step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) f(g.of[blockIdx.y], i);
}

template <typename real, typename F> static status each_learned(struct gpu *g, size_t count, const struct learned *of, F f)
{
    for (size_t first = 0; first < count; first += GROUP) {
        const size_t n = size_min(GROUP, count - first);
        struct group<real> group = {};
        size_t largest = 1;
        for (size_t k = 0; k < n; k++) {
            const struct learned *l = &of[first + k];
            const size_t numbers = count_of(l->value);
            group.of[k] = {reals<real>(l->grad), {reals<real>(l->state[0]), reals<real>(l->state[1])},
                           reals<real>(l->value), numbers};
            largest = size_max(largest, numbers);
        }
        const dim3 grid((unsigned)size_min(size_div_up(largest, THREADS), GROUP_BLOCKS), (unsigned)n);
        group_kernel<<<grid, THREADS, 0, g->stream>>>(group, f);
        PASS(LAUNCHED(g, "a step of learning"));
    }
    return OK;
}

/* v = keep v + share g, then p -= rate (ahead g + turn v): Nesterov's momentum looks one step ahead, the plain one has
 * ahead 0 and turn 1. The first step does not read v. */
template <typename real>
status sgd_step(struct device *d, const struct sgd_args *a, size_t count, const struct learned *of)
{
    const real rate = (real)a->rate, decay = (real)a->decay, keep = (real)a->momentum;
    const real share = (real)(1 - a->dampening), ahead = a->nesterov ? 1 : 0, turn = a->nesterov ? keep : (real)1;
    const bool first = a->first;
    return each_learned<real>(gpu_enter(d), count, of, [=] __device__(const auto &p, size_t i) {
        const real g = p.grad[i] + decay * p.value[i];
        real *momentum = p.state[0];
        if (!momentum) {
            p.value[i] -= rate * g;
            return;
        }
        const real v = first ? g : keep * momentum[i] + share * g;
        momentum[i] = v;
        p.value[i] -= rate * (ahead * g + turn * v);
    });
}

template <typename real>
status adam_step(struct device *d, const struct adam_args *a, size_t count, const struct learned *of)
{
    const real keep1 = (real)a->beta1, share1 = (real)(1 - a->beta1), keep2 = (real)a->beta2;
    const real share2 = (real)(1 - a->beta2), decay = (real)a->decay, epsilon = (real)a->epsilon;
    const real step = (real)(a->rate / a->correction1), widen = (real)sqrt(a->correction2);
    return each_learned<real>(gpu_enter(d), count, of, [=] __device__(const auto &p, size_t i) {
        const real g = p.grad[i] + decay * p.value[i];
        const real m = keep1 * p.state[0][i] + share1 * g, v = keep2 * p.state[1][i] + share2 * g * g;
        p.state[0][i] = m;
        p.state[1][i] = v;
        p.value[i] -= step * m / (sqrt(v) / widen + epsilon);
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
