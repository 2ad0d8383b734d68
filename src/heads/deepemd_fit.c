/* deepemd_fit.c - class maps fitted to several shots of a class, what the paper of deepemd calls a structured fully connected
 * layer: they start as the mean of the shots, which are then classified as queries, a few at a time, and follow the
 * gradient of the cross entropy.
 *
 * Each step is a recording of its own on a second tape, so that a fit needs the memory of one step. */
#include "base/size.h"
#include "heads/deepemd.h"

struct fit {
    const struct deepemd *s;
    const struct deepemd_fit *f;
    tape *t; /* owned */
    tensor *maps, grad, momentum;
    var *means, *directions; /* of all shots: [ns, C], and minus the centred maps; on the caller's tape */
    bool first;
};

static const tensor *index_of(tape *t, const int32_t *order, size_t n)
{
    const var *v = tape_upload(t, DT_I32, 1, &n, order);
    return v ? &v->value : NULL;
}

/* The labels of some shots. */
static const tensor *labels_of(tape *t, const struct deepemd_fit *f, const int32_t *order, size_t n, size_t way)
{
    void *host;
    const status st = tape_host(t, n * sizeof(int32_t), &host);
    if (st != OK) return (const tensor *)tape_fail(t, st);
    for (size_t i = 0; i < n; i++) ((int32_t *)host)[i] = f->labels[order[i]];
    return op_labels(t, host, n, way);
}

/* The loss of some shots, as queries against the maps. */
static var *loss_of(struct fit *w, var *maps, const int32_t *order, size_t n)
{
    tape *t = w->t;
    struct deepemd_weights weights;
    const tensor *index = index_of(t, order, n);
    if (!maps || !index) return NULL;
    var *query = op_gather(t, tape_constant(t, w->f->support), 0, index);
    var *mean = op_gather(t, tape_constant(t, &w->means->value), 0, index);
    var *directions = op_gather(t, tape_constant(t, &w->directions->value), 0, index);
    if (!deepemd_weigh(t, w->s->wgrad ? maps : tape_constant(t, &maps->value), query, mean, &weights)) return NULL;
    var *costs = deepemd_carry(t, &weights, directions, deepemd_columns(t, deepemd_centred(t, maps)));
    var *logits = op_affine(t, costs, -w->s->temperature, 0);
    return op_cross_entropy(t, logits, labels_of(t, w->f, order, n, w->maps->dim[0]));
}

static status step(struct fit *w, const int32_t *order, size_t n)
{
    status st = OK;
    tape *t = w->t;
    struct device *d = tape_device(t);
    const struct sgd_args sgd = {.rate = w->s->rate,
                                 .momentum = w->s->momentum,
                                 .dampening = w->s->dampening,
                                 .decay = w->s->decay,
                                 .first = w->first};
    tape_reset(t, TAPE_TRAINING);
    var *loss = loss_of(w, tape_leaf(t, w->maps, &w->grad, GRAD_OVERWRITES), order, n);
    TRY(tape_status(t));
    TRY(tape_backward(t, loss));
    const struct learned learned = {.grad = &w->grad, .state = {&w->momentum}, .value = w->maps};
    TRY(PRIM_CALL(d, w->maps->type, sgd_step, (d, &sgd, 1, &learned)));
    w->first = false;
done:
    return st;
}

status deepemd_fit_maps(tape *t, const struct deepemd *s, const struct deepemd_fit *f, tensor *maps)
{
    status st = OK;
    struct fit w = {.s = s, .f = f, .maps = maps, .first = true};
    TRY(tape_tensor(t, maps->type, 3, maps->dim, &w.grad));
    TRY(tape_tensor(t, maps->type, 3, maps->dim, &w.momentum));
    var *support = tape_constant(t, f->support);
    w.means = op_mean(t, support, 1u << 2, DROP_AXES);
    w.directions = op_affine(t, deepemd_centred(t, support), -1, 0);
    TRY(tape_status(t));
    TRY(tape_new(tape_device(t), TAPE_TRAINING, &w.t));
    for (size_t e = 0; e < f->epochs; e++)
        for (size_t i = 0; i < f->count; i += (size_t)s->batch)
            TRY(step(&w, f->order + e * f->count + i, size_min((size_t)s->batch, f->count - i)));
    st = tape_device(t)->sync(tape_device(t)); /* what went wrong on the way is told here */
done:
    tape_free(w.t);
    return st;
}
