/* optimise.cu - one step of SGD or Adam on one parameter: value and state change in place, element by element. */
#include "cuda/gpu.cuh"

/* v = keep v + share g, then p -= rate (ahead g + turn v): Nesterov's momentum looks one step ahead, the plain one has
 * ahead 0 and turn 1. The first step does not read v. */
template <typename real>
status sgd_step(struct device *d, const struct sgd_args *a, const tensor *grad, tensor *momentum, tensor *value)
{
    const real rate = (real)a->rate, decay = (real)a->decay, keep = (real)a->momentum, *pg = reals<real>(grad);
    const real share = (real)(1 - a->dampening), ahead = a->nesterov ? 1 : 0, turn = a->nesterov ? keep : (real)1;
    const bool first = a->first;
    real *pv = reals<real>(value), *pm = reals<real>(momentum);
    return each(gpu_enter(d), count_of(value), [=] __device__(size_t i) {
        const real g = pg[i] + decay * pv[i];
        if (!pm) {
            pv[i] -= rate * g;
            return;
        }
        const real v = first ? g : keep * pm[i] + share * g;
        pm[i] = v;
        pv[i] -= rate * (ahead * g + turn * v);
    });
}

template <typename real>
status adam_step(struct device *d, const struct adam_args *a, const tensor *grad, tensor *m, tensor *v, tensor *value)
{
    const real keep1 = (real)a->beta1, share1 = (real)(1 - a->beta1), keep2 = (real)a->beta2;
    const real share2 = (real)(1 - a->beta2), decay = (real)a->decay, epsilon = (real)a->epsilon;
    const real step = (real)(a->rate / a->correction1), widen = (real)sqrt(a->correction2), *pg = reals<real>(grad);
    real *p1 = reals<real>(m), *p2 = reals<real>(v), *pv = reals<real>(value);
    return each(gpu_enter(d), count_of(value), [=] __device__(size_t i) {
        const real g = pg[i] + decay * pv[i];
        p1[i] = keep1 * p1[i] + share1 * g;
        p2[i] = keep2 * p2[i] + share2 * g * g;
        pv[i] -= step * p1[i] / (sqrt(p2[i]) / widen + epsilon);
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
