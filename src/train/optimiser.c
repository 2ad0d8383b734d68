/* optimiser.c - the state of learning, and its steps over a whole parameter list. */
#include "train/optimiser.h"
#include "base/size.h"
#include "base/text.h"
#include <math.h>
#include <stdlib.h>

struct optimiser {
    struct params *p; /* borrowed */
    struct optimiser_settings s;
    struct params *state;    /* owned */
    struct learned *trained; /* owned: the trained parameters */
    size_t count;            /* of them */
    uint64_t steps;
};

static bool below_one(double v) { return v >= 0 && v < 1; }

static status check_sgd(const struct optimiser_settings *s)
{
    if (!(s->momentum >= 0) || isinf(s->momentum))
        return fail(ST_VALUE, "momentum is %g, but must be 0 or more", s->momentum);
    if (!(s->dampening >= 0 && s->dampening <= 1))
        return fail(ST_VALUE, "dampening is %g, but must lie between 0 and 1", s->dampening);
    if (s->nesterov && (s->momentum == 0 || s->dampening != 0))
        return fail(ST_VALUE, "Nesterov's momentum needs a momentum above 0 and dampening 0, not %g and %g",
                    s->momentum, s->dampening);
    return OK;
}

static status check_adam(const struct optimiser_settings *s)
{
    if (!below_one(s->beta1) || !below_one(s->beta2))
        return fail(ST_VALUE, "Adam's betas are %g and %g, but must be at least 0 and below 1", s->beta1, s->beta2);
    if (!(s->epsilon >= 0) || isinf(s->epsilon))
        return fail(ST_VALUE, "Adam's epsilon is %g, but must be 0 or more", s->epsilon);
    return OK;
}

static status check(const struct optimiser_settings *s)
{
    if (!(s->decay >= 0) || isinf(s->decay)) return fail(ST_VALUE, "decay is %g, but must be 0 or more", s->decay);
    return s->kind == OPTIMISER_SGD ? check_sgd(s) : check_adam(s);
}

/* A state tensor "PREFIX.NAME" of the parameter's type and shape, zero. */
static status add_state(struct optimiser *o, const char *prefix, const struct param *of, struct param **out)
{
    text name = {0};
    text_addf(&name, "%s.%s", prefix, of->name);
    status st = text_status(&name);
    if (st == OK) st = params_add_buffer(o->state, name.data, of->value.type, of->value.rank, of->value.dim, out);
    text_free(&name);
    return st;
}

static status add_trained(struct optimiser *o, struct param *e)
{
    status st = OK;
    struct param *first = NULL, *second = NULL;
    if (o->s.kind == OPTIMISER_ADAM) {
        TRY(add_state(o, "m", e, &first));
        TRY(add_state(o, "v", e, &second));
    } else if (o->s.momentum != 0) {
        TRY(add_state(o, "momentum", e, &first));
    }
    o->trained[o->count++] = (struct learned){
        &e->grad, {first ? &first->value : NULL, second ? &second->value : NULL}, &e->value};
done:
    return st;
}

status optimiser_new(struct params *p, const struct optimiser_settings *s, struct optimiser **out)
{
    status st = check(s);
    if (st != OK) return st;
    struct optimiser *o = calloc(1, sizeof *o);
    if (o) {
        *o = (struct optimiser){.p = p, .s = *s};
        o->state = params_new(params_device(p));
        o->trained = calloc(size_max(1, params_count(p)), sizeof *o->trained);
    }
    if (!o || !o->state || !o->trained) {
        st = fail(ST_MEMORY, "no memory for an optimiser");
        goto done;
    }
    for (size_t i = 0; i < params_count(p); i++)
        if (params_at(p, i)->trained) TRY(add_trained(o, params_at(p, i)));
    *out = o;
    o = NULL;
done:
    optimiser_free(o);
    return st;
}

void optimiser_free(struct optimiser *o)
{
    if (!o) return;
    params_free(o->state);
    free(o->trained);
    free(o);
}

/* All of one type at once; a network has one type. */
static status step_sgd(struct optimiser *o, struct device *d, size_t from, size_t to, double rate)
{
    const struct sgd_args a = {.rate = rate,
                               .momentum = o->s.momentum,
                               .dampening = o->s.dampening,
                               .decay = o->s.decay,
                               .nesterov = o->s.nesterov,
                               .first = o->steps == 0};
    return PRIM_CALL(d, o->trained[from].value->type, sgd_step, (d, &a, to - from, o->trained + from));
}

static status step_adam(struct optimiser *o, struct device *d, size_t from, size_t to, double rate)
{
    const double t = (double)(o->steps + 1);
    const struct adam_args a = {.rate = rate,
                                .beta1 = o->s.beta1,
                                .beta2 = o->s.beta2,
                                .epsilon = o->s.epsilon,
                                .decay = o->s.decay,
                                .correction1 = 1 - pow(o->s.beta1, t),
                                .correction2 = 1 - pow(o->s.beta2, t)};
    return PRIM_CALL(d, o->trained[from].value->type, adam_step, (d, &a, to - from, o->trained + from));
}

status optimiser_step(struct optimiser *o, double rate)
{
    struct device *d = params_device(o->p);
    status st = OK;
    if (!(rate >= 0) || isinf(rate)) return fail(ST_VALUE, "the learning rate is %g, but must be 0 or more", rate);
    params_thaw(o->p);
    for (size_t from = 0, to; from < o->count && st == OK; from = to) {
        for (to = from + 1; to < o->count && o->trained[to].value->type == o->trained[from].value->type;) to++;
        st = o->s.kind == OPTIMISER_SGD ? step_sgd(o, d, from, to, rate) : step_adam(o, d, from, to, rate);
    }
    if (st == OK) o->steps++;
    return st;
}

uint64_t optimiser_steps(const struct optimiser *o) { return o->steps; }
void optimiser_set_steps(struct optimiser *o, uint64_t steps) { o->steps = steps; }
struct params *optimiser_state(struct optimiser *o) { return o->state; }
