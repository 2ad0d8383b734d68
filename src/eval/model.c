/* model.c - making a model: settings first, then the parameters of network and head in one table. */
#include "eval/model.h"
#include "base/size.h"
#include "image/transform.h"
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

status model_extract(struct model *m, const char *name, const struct transform *t)
{
    struct extractor e = {EXTRACT_MAP, 0, {0}};
    const status st = extractor_parse(name, &e);
    if (st != OK) return st;
    if (e.kind == EXTRACT_GRID && t->kind == TRANSFORM_PAD_CROP)
        return fail(ST_USAGE,
                    "%s cuts pictures into cells of different sizes, but the transform of this model does not resize",
                    name);
    m->extractor = e;
    return OK;
}

status model_start_head(const struct head *h, size_t channels, dtype type, uint64_t seed, struct params *p)
{
    struct random r = {.seed = seed, .stream = STREAM_HEAD};
    return head_start(h, channels, type, &r, p);
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
