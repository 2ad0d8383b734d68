/* score.c - scoring dense features with a head: the episode goes on the session's tape, the results into the caller's
 * arrays. On a device whose memory is the host's, the caller's arrays are used where they lie. */
#include "api/session.h"
#include "base/size.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

static bool wants_centrality(const centra_upstream *u, const centra_result *r)
{
    return r->centrality_support || r->centrality_query || (u && (u->centrality_support || u->centrality_query));
}

/* `u` is NULL for a plain score. */
static status check(const centra_head *h, const centra_episode *e, const centra_upstream *u, const centra_result *r)
{
    if (e->precision != CENTRA_F32 && e->precision != CENTRA_F64)
        return fail(ST_USAGE, "precision %d does not exist; use CENTRA_F32 or CENTRA_F64", (int)e->precision);
    if (!e->support || !e->support_labels || !e->query)
        return fail(ST_USAGE, "an episode needs support features, support labels and query features");
    if (!e->support_count || !e->query_count || !e->channels || !e->support_locations || !e->query_locations)
        return fail(ST_SHAPE,
                    "an episode of %zu support and %zu query pictures, %zu channels, %zu and %zu locations is empty",
                    e->support_count, e->query_count, e->channels, e->support_locations, e->query_locations);
    if (!u && (r->loss || r->grad_support || r->grad_query || r->grad_params) && !e->query_labels)
        return fail(ST_USAGE, "a loss and its gradients need query labels");
    if (u && r->loss) return fail(ST_USAGE, "the loss is the caller's own; centra_head_score computes one");
    if (u && !u->scores && !u->centrality_support && !u->centrality_query)
        return fail(ST_USAGE, "there is nothing to go back from: upstream has no array");
    if (wants_centrality(u, r) && !h->head->walk) return fail(ST_USAGE, "head %s has no centralities", h->head->name);
    return OK;
}

static dtype precision_of(const centra_episode *e) { return e->precision == CENTRA_F32 ? DT_F32 : DT_F64; }

/* The first number that is not finite, in words; OK when all are. */
static status all_finite(const char *what, const void *data, dtype type, size_t pictures, size_t channels,
                         size_t locations)
{
    const size_t count = pictures * channels * locations;
    for (size_t i = 0; i < count; i++) {
        const double x = type == DT_F32 ? (double)((const float *)data)[i] : ((const double *)data)[i];
        if (!isfinite(x))
            return fail(ST_VALUE,
                        "the %s feature of picture %zu, channel %zu, location %zu is %s; features must be finite", what,
                        i / channels / locations, i / locations % channels, i % locations,
                        isnan(x) ? "not a number" : "infinite");
    }
    return OK;
}

/* A leaf over the caller's features; `grad` is the caller's array for their gradient, or NULL. */
static status leaf(centra_head *h, const centra_episode *e, size_t n, size_t locations, const void *data, void *grad,
                   var **out, tensor *grad_tensor)
{
    status st = OK;
    tape *t = h->session->tape;
    struct device *d = tape_device(t);
    const size_t dim[] = {n, e->channels, locations};
    tensor value;
    TRY(tensor_make(&value, precision_of(e), 3, dim, (void *)(uintptr_t)data)); /* a leaf's value is only read */
    *grad_tensor = value;
    grad_tensor->data = grad;
    if (!d->on_host) {
        TRY(tape_tensor(t, value.type, 3, dim, &value));
        TRY(d->upload(d, value.data, data, tensor_bytes(&value)));
        if (grad) TRY(tape_tensor(t, value.type, 3, dim, grad_tensor));
    }
    *out = tape_leaf(t, &value, grad ? grad_tensor : NULL, GRAD_OVERWRITES);
    st = tape_status(t);
done:
    return st;
}

static status fetch(struct device *d, const tensor *from, void *to)
{
    if (!to || from->data == to) return OK;
    return d->download(d, to, from->data, tensor_bytes(from));
}

static status fetch_loss(struct device *d, const var *loss, double *to)
{
    float single;
    if (!to) return OK;
    if (loss->value.type == DT_F64) return fetch(d, &loss->value, to);
    const status st = fetch(d, &loss->value, &single);
    if (st == OK) *to = (double)single;
    return st;
}

/* Adds a result to those to go back from, with the caller's array as its gradient. */
struct sources {
    size_t count;
    var *of[3];
    tensor gradient[3];
};

static status add_source(tape *t, struct sources *s, var *v, const void *gradient)
{
    struct device *d = tape_device(t);
    status st = OK;
    if (!gradient) return OK;
    tensor *g = &s->gradient[s->count];
    *g = v->value;
    g->data = (void *)(uintptr_t)gradient; /* only read */
    if (!d->on_host) {
        TRY(tape_tensor(t, g->type, g->rank, g->dim, g));
        TRY(d->upload(d, g->data, gradient, tensor_bytes(g)));
    }
    s->of[s->count++] = v;
done:
    return st;
}

static status go_back(tape *t, const struct head_result *out, const centra_upstream *u)
{
    struct sources s = {0};
    status st = OK;
    if (!u) return tape_backward(t, out->loss);
    TRY(tape_status(t));
    TRY(add_source(t, &s, out->scores, u->scores));
    TRY(add_source(t, &s, out->pi_support, u->centrality_support));
    TRY(add_source(t, &s, out->pi_query, u->centrality_query));
    TRY(tape_backward_from(t, s.count, s.of, (const tensor *[]){&s.gradient[0], &s.gradient[1], &s.gradient[2]}));
done:
    return st;
}

static status run(centra_head *h, const centra_episode *e, const centra_upstream *u, const centra_result *r)
{
    status st = OK;
    tape *t = h->session->tape;
    struct device *d = tape_device(t);
    struct episode v = {.way = h->labels.way};
    struct head_base base;
    struct head_result out = {0};
    tensor grad_support, grad_query;
    const bool gradients = r->grad_support || r->grad_query || r->grad_params;
    const unsigned want = wants_centrality(u, r) ? HEAD_CENTRALITY : 0;
    tape_reset(t, gradients ? TAPE_TRAINING : TAPE_INFERENCE);
    if (gradients && h->params) TRY(params_zero_grad(h->params)); /* what is not asked for is not written either */
    TRY(leaf(h, e, e->support_count, e->support_locations, e->support, r->grad_support, &v.support, &grad_support));
    TRY(leaf(h, e, e->query_count, e->query_locations, e->query, r->grad_query, &v.query, &grad_query));
    v.support_labels = op_labels(t, h->labels.support, e->support_count, v.way);
    TRY(base_show(&h->base, t, precision_of(e), &base, &v.base));
    if (e->query_labels) v.query_labels = op_labels(t, h->labels.query, e->query_count, v.way);
    h->head->forward(t, h->settings, h->params, &v, want, &out);
    if (gradients) TRY(go_back(t, &out, u));
    TRY(tape_status(t));
    TRY(fetch(d, &out.scores->value, r->scores));
    TRY(fetch_loss(d, out.loss, r->loss));
    if (r->centrality_support) TRY(fetch(d, &out.pi_support->value, r->centrality_support));
    if (r->centrality_query) TRY(fetch(d, &out.pi_query->value, r->centrality_query));
    if (r->grad_support) TRY(fetch(d, &grad_support, r->grad_support));
    if (r->grad_query) TRY(fetch(d, &grad_query, r->grad_query));
    for (size_t i = 0; r->grad_params && h->params && i < params_count(h->params); i++)
        TRY(fetch(d, &params_at(h->params, i)->grad, r->grad_params[i]));
    TRY(d->sync(d));
done:
    return st;
}

static double largest(const void *data, dtype type, size_t count, double so_far)
{
    for (size_t i = 0; i < count && !isnan(so_far); i++) {
        const double x = fabs(type == DT_F32 ? (double)((const float *)data)[i] : ((const double *)data)[i]);
        if (!(x <= so_far)) so_far = x; /* also what is not a number */
    }
    return so_far;
}

static double largest_feature(const centra_episode *e, dtype type)
{
    const double x = largest(e->support, type, e->support_count * e->channels * e->support_locations, 0);
    return largest(e->query, type, e->query_count * e->channels * e->query_locations, x);
}

/* Whether a product of two features may leave the precision. */
static bool products_overflow(const centra_episode *e, dtype type)
{
    const double x = largest_feature(e, type), most = type == DT_F32 ? FLT_MAX : DBL_MAX;
    return x > sqrt(most / (double)e->channels);
}

/* Finite features whose scores are not: products of them have left the precision. */
static status too_large(const centra_episode *e, dtype type)
{
    return fail(
        ST_NUMERIC,
        "the scores are not finite although all features are; the largest, %.3g, is too large for %s: scale the "
        "features down%s",
        largest_feature(e, type), dtype_name(type), type == DT_F32 ? ", or compute in f64" : "");
}

static status params_finite(const centra_head *h, dtype type)
{
    struct device *d = tape_device(h->session->tape);
    status st = OK;
    for (size_t i = 0; h->params && st == OK && i < params_count(h->params); i++) {
        const struct param *p = params_at(h->params, i);
        const size_t count = tensor_count(&p->value);
        void *host = malloc(size_max(1, tensor_bytes(&p->value)));
        if (!host) return fail(ST_MEMORY, "no memory to look at %zu numbers of %s", count, p->name);
        st = fetch(d, &p->value, host);
        if (st == OK) st = d->sync(d);
        if (st == OK && !isfinite(largest(host, type, count, 0)))
            st = fail(ST_VALUE, "the parameter %s has a number that is not finite", p->name);
        free(host);
    }
    return st;
}

/* Scores that are not finite, and systems that cannot be solved, have a cause: features or parameters that are not finite. Looking
 * only then keeps the check off the fast path. */
static status explain(const centra_head *h, const centra_episode *e, const centra_result *r, status seen)
{
    status st = OK;
    bool finite = true;
    const dtype type = precision_of(e);
    const size_t way = h->labels.way;
    for (size_t i = 0; r->scores && i < e->query_count * way && finite; i++)
        finite = isfinite(type == DT_F32 ? (double)((const float *)r->scores)[i] : ((const double *)r->scores)[i]);
    if (finite && r->loss) finite = isfinite(*r->loss);
    if (seen == OK && finite && (r->scores || r->loss)) return OK;
    TRY(all_finite("support", e->support, type, e->support_count, e->channels, e->support_locations));
    TRY(all_finite("query", e->query, type, e->query_count, e->channels, e->query_locations));
    if (seen == OK && finite) goto done; /* nothing to explain */
    TRY(params_finite(h, type));
    if (seen == OK ? !finite : products_overflow(e, type)) st = too_large(e, type);
done:
    return st;
}

static status score(centra_head *h, const centra_episode *e, const centra_upstream *u, const centra_result *r)
{
    status st = OK;
    TRY(check(h, e, u, r));
    TRY(labels_index(&h->labels, e));
    TRY(head_ready(h, e->channels, precision_of(e)));
    st = run(h, e, u, r);
    if (st == OK || st == ST_NUMERIC) {
        const status cause = explain(h, e, r, st);
        if (cause != OK) st = cause;
    }
    if (st == OK)
        for (size_t i = 0; r->labels && i < h->labels.way; i++) r->labels[i] = h->labels.classes[i];
done:
    return st;
}

centra_status centra_head_score(centra_head *h, const centra_episode *e, const centra_result *r)
{
    if (!h || !e || !r) return (centra_status)fail(ST_USAGE, "centra_head_score needs a head, an episode and a result");
    return (centra_status)score(h, e, NULL, r);
}

centra_status centra_head_backward(centra_head *h, const centra_episode *e, const centra_upstream *u,
                                   const centra_result *r)
{
    if (!h || !e || !u || !r)
        return (centra_status)fail(ST_USAGE, "centra_head_backward needs a head, an episode, an upstream and a result");
    centra_episode unlabelled = *e;
    unlabelled.query_labels = NULL;
    return (centra_status)score(h, &unlabelled, u, r);
}
