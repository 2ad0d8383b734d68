/* net_drill.c - the same pass over the same pictures again and again: what a benchmark of a network times.
 *
 * A training pass goes back from a fixed gradient of the features, so that no head takes part, and ends with a step of
 * SGD with Nesterov's momentum. The rate is 0: numbers stay what they were however long it goes on, and the work is the
 * same. */
#include "api/net.h"
#include "base/size.h"
#include "train/optimiser.h"
#include <stdlib.h>

struct centra_net_drill {
    centra_net *net;
    struct optimiser *optimiser; /* owned; NULL: inference */
    tensor pictures, gradient;   /* owned, on the device; the gradient is made by the first pass */
};

static status fill_normal(struct device *d, const tensor *x, struct random *r)
{
    const size_t n = tensor_count(x);
    void *host = malloc(tensor_bytes(x));
    if (!host) return fail(ST_MEMORY, "no memory for %zu random numbers", n);
    for (size_t i = 0; i < n; i++) {
        const double v = random_normal(r);
        if (x->type == DT_F32) ((float *)host)[i] = (float)v;
        else ((double *)host)[i] = v;
    }
    const status st = d->upload(d, x->data, host, tensor_bytes(x));
    free(host);
    return st;
}

static status make_normal(struct device *d, dtype type, const size_t dim[4], uint64_t stream, tensor *out)
{
    status st = OK;
    TRY(tensor_make(out, type, 4, dim, NULL));
    TRY(d->alloc(d, tensor_bytes(out), &out->data));
    TRY(fill_normal(d, out, &(struct random){.seed = 1, .stream = stream}));
done:
    return st;
}

centra_status centra_net_drill_new(centra_net *net, size_t count, size_t height, size_t width, int train,
                                   centra_net_drill **out)
{
    static const struct optimiser_settings sgd = {
        .kind = OPTIMISER_SGD, .decay = 5e-4, .momentum = 0.9, .nesterov = true};
    status st = OK;
    if (!net || !count || !height || !width || !out)
        return (centra_status)fail(ST_USAGE,
                                   "centra_net_drill_new needs a network, pictures and a place for the drill");
    centra_net_drill *r = calloc(1, sizeof *r);
    if (!r) return (centra_status)fail(ST_MEMORY, "no memory for a drill");
    r->net = net;
    TRY(make_normal(net->session->dev, net->type, (size_t[]){count, 3, height, width}, 1, &r->pictures));
    if (train) TRY(optimiser_new(net->params, &sgd, &r->optimiser));
    *out = r;
    r = NULL;
done:
    centra_net_drill_free(r);
    return (centra_status)st;
}

void centra_net_drill_free(centra_net_drill *r)
{
    if (!r) return;
    struct device *d = r->net->session->dev;
    if (r->pictures.data) d->release(d, r->pictures.data);
    if (r->gradient.data) d->release(d, r->gradient.data);
    optimiser_free(r->optimiser);
    free(r);
}

static status go_back(centra_net_drill *r, tape *t, var *features)
{
    struct device *d = r->net->session->dev;
    const tensor *of = &r->gradient;
    status st = OK;
    if (!of->data) TRY(make_normal(d, r->net->type, features->value.dim, 2, &r->gradient));
    TRY(params_zero_grad(r->net->params));
    TRY(tape_backward_from(t, 1, &features, &of));
    TRY(optimiser_step(r->optimiser, 0));
done:
    return st;
}

static status pass_calls(centra_net_drill *r)
{
    const bool train = r->optimiser != NULL;
    centra_net *n = r->net;
    tape *t = n->session->tape;
    struct net_pass pass = {.mode = train ? NET_TRAIN : NET_EVAL};
    if (!train) params_freeze(n->params);
    tape_reset(t, train ? TAPE_TRAINING : TAPE_INFERENCE);
    var *features = n->net->forward(t, n->settings, n->params, &pass, tape_constant(t, &r->pictures));
    status st = tape_status(t);
    return st == OK && train ? go_back(r, t, features) : st;
}

static status pass_once(centra_net_drill *r)
{
    struct device *d = r->net->session->dev;
    const status st = device_together_begin(d);
    return st == OK ? device_together_end(d, pass_calls(r)) : st;
}

centra_status centra_net_drill_run(centra_net_drill *r, size_t passes)
{
    status st = OK;
    if (!r) return (centra_status)fail(ST_USAGE, "centra_net_drill_run needs a drill");
    struct device *d = r->net->session->dev;
    for (size_t i = 0; i < passes && st == OK; i++) st = pass_once(r);
    if (st == OK) st = d->sync(d);
    return (centra_status)st;
}
