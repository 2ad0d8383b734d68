/* optimise.c - one step of SGD or Adam on each of many parameters: value and state change in place, element by element. */
#include "cpu/prims/prim.h"
#include <math.h>

static real root(real x)
{
#if CENTRA_REAL == 32
    return sqrtf(x);
#else
    return sqrt(x);
#endif
}

struct sgd {
    const struct sgd_args *args;
    const real *grad;
    real *momentum, *value; /* momentum: NULL without one */
    size_t count;
};

static void sgd_plain(const struct sgd *w, struct range r)
{
    const real rate = (real)w->args->rate, decay = (real)w->args->decay, *restrict grad = w->grad;
    real *restrict value = w->value;
    for (size_t i = r.from; i < r.to; i++) value[i] -= rate * (grad[i] + decay * value[i]);
}

/* v = keep v + share g, then p -= rate (ahead g + turn v): Nesterov's momentum looks one step ahead, the plain one has
 * ahead 0 and turn 1. The first step does not read v. */
static void sgd_momentum(const struct sgd *w, struct range r)
{
    const struct sgd_args *a = w->args;
    const real rate = (real)a->rate, decay = (real)a->decay, keep = (real)a->momentum, *restrict grad = w->grad;
    const real share = (real)(1 - a->dampening), ahead = a->nesterov ? 1 : 0, turn = a->nesterov ? keep : 1;
    real *restrict value = w->value, *restrict momentum = w->momentum;
    const bool first = a->first;
    for (size_t i = r.from; i < r.to; i++) {
        const real g = grad[i] + decay * value[i], v = first ? g : keep * momentum[i] + share * g;
        momentum[i] = v;
        value[i] -= rate * (ahead * g + turn * v);
    }
}

static status sgd_piece(void *context, size_t piece, size_t worker)
{
    const struct sgd *w = context;
    const struct range r = piece_range(w->count, GRAIN, piece);
    (void)worker;
    if (w->momentum) sgd_momentum(w, r);
    else sgd_plain(w, r);
    return OK;
}

status R(prim_sgd_step)(struct device *d, const struct sgd_args *a, size_t count, const struct learned *of)
{
    status st = OK;
    for (size_t i = 0; i < count && st == OK; i++, of++) {
        struct sgd w = {a, reals(of->grad), of->state[0] ? reals(of->state[0]) : NULL, reals(of->value),
                        tensor_count(of->value)};
        st = pool_run(cpu_of(d)->threads, pieces_of(w.count, GRAIN), sgd_piece, &w);
    }
    return st;
}

struct adam {
    const struct adam_args *args;
    const real *grad;
    real *m, *v, *value;
    size_t count;
};

static status adam_piece(void *context, size_t piece, size_t worker)
{
    const struct adam *w = context;
    const struct adam_args *a = w->args;
    const struct range r = piece_range(w->count, GRAIN, piece);
    const real keep1 = (real)a->beta1, share1 = (real)(1 - a->beta1), keep2 = (real)a->beta2;
    const real share2 = (real)(1 - a->beta2), decay = (real)a->decay, epsilon = (real)a->epsilon;
    const real step = (real)(a->rate / a->correction1), widen = (real)sqrt(a->correction2);
    const real *restrict grad = w->grad;
    real *restrict value = w->value, *restrict m = w->m, *restrict v = w->v;
    (void)worker;
    for (size_t i = r.from; i < r.to; i++) {
        const real g = grad[i] + decay * value[i];
        m[i] = keep1 * m[i] + share1 * g;
        v[i] = keep2 * v[i] + share2 * g * g;
        value[i] -= step * m[i] / (root(v[i]) / widen + epsilon);
    }
    return OK;
}

status R(prim_adam_step)(struct device *d, const struct adam_args *a, size_t count, const struct learned *of)
{
    status st = OK;
    for (size_t i = 0; i < count && st == OK; i++, of++) {
        struct adam w = {
            a, reals(of->grad), reals(of->state[0]), reals(of->state[1]), reals(of->value), tensor_count(of->value)};
        st = pool_run(cpu_of(d)->threads, pieces_of(w.count, GRAIN), adam_piece, &w);
    }
    return st;
}
