/* model.c - making a model: settings first, then the parameters of network and head in one table. */
#include "eval/model.h"
#include "base/size.h"
#include <stdlib.h>

/* Streams of the seed, so that the head's start does not depend on how many numbers the network drew. */
enum { STREAM_NET = 0, STREAM_HEAD = 1 };

static status settings_new(const char *name, const struct option *options, size_t bytes, void **out)
{
    void *s = calloc(1, size_max(1, bytes));
    if (!s) return fail(ST_MEMORY, "no memory for the settings of %s", name);
    if (options) options_default(options, s);
    *out = s;
    return OK;
}

status model_new(struct device *d, const char *net, const char *head, struct model *out)
{
    status st = OK;
    struct model m = {0};
    TRY(net_find(net, &m.net));
    TRY(settings_new(net, m.net->options, m.net->settings_bytes, &m.net_settings));
    if (head) {
        TRY(head_find(head, &m.head));
        TRY(settings_new(head, m.head->options, m.head->settings_bytes, &m.head_settings));
        if (m.head->presets) m.head->presets(m.head_settings);
    }
    m.params = params_new(d);
    if (!m.params) {
        st = fail(ST_MEMORY, "no memory for the parameters of %s", net);
        goto done;
    }
    *out = m;
    m = (struct model){0};
done:
    model_free(&m);
    return st;
}

static double draw(const struct head_param *h, struct random *r)
{
    double v = h->start;
    if (h->start_normal > 0) v += h->start_normal * random_normal(r);
    if (h->start_uniform > 0) v += h->start_uniform * (2 * random_unit(r) - 1);
    return v;
}

static status start_values(const struct head_param *h, const tensor *x, struct device *d, struct random *r)
{
    const size_t n = tensor_count(x);
    void *host = malloc(size_max(1, tensor_bytes(x)));
    if (!host) return fail(ST_MEMORY, "no memory for %zu start values of %s", n, h->name);
    for (size_t i = 0; i < n; i++) {
        const double v = draw(h, r);
        if (x->type == DT_F32) ((float *)host)[i] = (float)v;
        else ((double *)host)[i] = v;
    }
    const status st = d->upload(d, x->data, host, tensor_bytes(x));
    free(host);
    return st;
}

status model_start_head(const struct head *head, size_t channels, dtype type, uint64_t seed, struct params *params)
{
    struct random r = {.seed = seed, .stream = STREAM_HEAD};
    status st = OK;
    for (const struct head_param *h = head->params; h && h->name && st == OK; h++) {
        size_t dim[MAX_RANK] = {0};
        struct param *p = NULL;
        for (int axis = 0; axis < h->rank; axis++) dim[axis] = h->dim(channels, axis);
        st = params_add(params, h->name, type, h->rank, dim, &p);
        if (st == OK) st = start_values(h, &p->value, params_device(params), &r);
    }
    return st;
}

status model_start(struct model *m, dtype type, uint64_t seed)
{
    struct random r = {.seed = seed, .stream = STREAM_NET};
    m->channels = m->net->channels(m->net_settings);
    const status st = m->net->params(m->net_settings, type, &r, m->params);
    return st == OK && m->head ? model_start_head(m->head, m->channels, type, seed, m->params) : st;
}

void model_free(struct model *m)
{
    params_free(m->params);
    free(m->net_settings);
    free(m->head_settings);
    *m = (struct model){0};
}
