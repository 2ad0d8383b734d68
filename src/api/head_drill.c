/* head_drill.c - the same episode again and again, with features that stay on the device: what a benchmark of a head
 * times. In training the head finds its features there too. */
#include "api/session.h"
#include <stdlib.h>
#include <string.h>

struct centra_head_drill {
    centra_head *head;
    size_t way;
    bool gradients;
    tensor support, query, grad_support, grad_query; /* owned, on the device; gradients only where wanted */
    tensor support_labels, query_labels;
    int32_t *support_host; /* owned: support_labels on the host */
};

/* A tensor of its own, filled from host memory unless that is NULL. */
static status place(struct device *d, dtype type, int rank, const size_t *dim, const void *host, tensor *out)
{
    status st = OK;
    TRY(tensor_make(out, type, rank, dim, NULL));
    TRY(d->alloc(d, tensor_bytes(out), &out->data));
    if (host) TRY(d->upload(d, out->data, host, tensor_bytes(out)));
done:
    return st;
}

static status place_all(centra_head_drill *r, const centra_episode *e)
{
    struct device *d = r->head->session->dev;
    const dtype type = e->precision == CENTRA_F32 ? DT_F32 : DT_F64;
    const struct labels *l = &r->head->labels;
    const size_t support[] = {e->support_count, e->channels, e->support_locations};
    const size_t query[] = {e->query_count, e->channels, e->query_locations};
    status st = OK;
    TRY(place(d, type, 3, support, e->support, &r->support));
    TRY(place(d, type, 3, query, e->query, &r->query));
    TRY(place(d, DT_I32, 1, support, l->support, &r->support_labels));
    r->support_host = malloc(e->support_count * sizeof *r->support_host);
    if (!r->support_host) TRY(fail(ST_MEMORY, "no memory for the labels of a drill"));
    memcpy(r->support_host, l->support, e->support_count * sizeof *r->support_host);
    if (!r->gradients) goto done;
    TRY(place(d, DT_I32, 1, query, l->query, &r->query_labels));
    TRY(place(d, type, 3, support, NULL, &r->grad_support));
    TRY(place(d, type, 3, query, NULL, &r->grad_query));
done:
    return st;
}

centra_status centra_head_drill_new(centra_head *head, const centra_episode *episode, int gradients,
                                    centra_head_drill **out)
{
    status st = OK;
    double loss;
    if (!head || !episode || !out)
        return (centra_status)fail(ST_USAGE,
                                   "centra_head_drill_new needs a head, an episode and a place for the drill");
    centra_head_drill *r = calloc(1, sizeof *r);
    if (!r) return (centra_status)fail(ST_MEMORY, "no memory for a drill");
    r->head = head;
    r->gradients = gradients;
    /* scoring it once checks the episode, numbers its classes and makes the head's parameters */
    TRY((status)centra_head_score(head, episode, &(centra_result){.loss = gradients ? &loss : NULL}));
    r->way = head->labels.way;
    TRY(place_all(r, episode));
    *out = r;
    r = NULL;
done:
    centra_head_drill_free(r);
    return (centra_status)st;
}

void centra_head_drill_free(centra_head_drill *r)
{
    if (!r) return;
    struct device *d = r->head->session->dev;
    const tensor *const owned[] = {&r->support,    &r->query,          &r->grad_support,
                                   &r->grad_query, &r->support_labels, &r->query_labels};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        if (owned[i]->data) d->release(d, owned[i]->data);
    free(r->support_host);
    free(r);
}

static status score_calls(centra_head_drill *r)
{
    centra_head *h = r->head;
    tape *t = h->session->tape;
    struct episode v = {.way = r->way, .support_labels = &r->support_labels, .support_host = r->support_host};
    struct head_result out = {0};
    struct head_base base;
    tape_reset(t, r->gradients ? TAPE_TRAINING : TAPE_INFERENCE);
    v.support = r->gradients ? tape_leaf(t, &r->support, &r->grad_support, GRAD_OVERWRITES)
                             : tape_constant(t, &r->support);
    v.query = r->gradients ? tape_leaf(t, &r->query, &r->grad_query, GRAD_OVERWRITES) : tape_constant(t, &r->query);
    if (r->gradients) v.query_labels = &r->query_labels;
    const status st = base_show(&h->base, t, r->query.type, &base, &v.base);
    if (st != OK) return st;
    h->head->forward(t, h->settings, h->params, &v, 0, &out);
    if (r->gradients) tape_backward(t, out.loss);
    return tape_status(t);
}

static status score_once(centra_head_drill *r)
{
    struct device *d = r->head->session->dev;
    const status st = device_together_begin(d);
    return st == OK ? device_together_end(d, score_calls(r)) : st;
}

centra_status centra_head_drill_pass(centra_head_drill *r, size_t episodes)
{
    status st = OK;
    if (!r) return (centra_status)fail(ST_USAGE, "centra_head_drill_pass needs a drill");
    struct device *d = r->head->session->dev;
    for (size_t i = 0; i < episodes; i++) TRY(score_once(r));
    TRY(d->sync(d));
done:
    return (centra_status)st;
}
