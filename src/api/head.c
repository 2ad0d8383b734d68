/* head.c - heads as handles: their options, and their parameters from a file or from their start values. */
#include "api/session.h"
#include "weights/weights.h"
#include <stdlib.h>

centra_status centra_head_new(centra_session *session, const char *name, const centra_option *options,
                              size_t option_count, centra_head **out)
{
    status st = OK;
    if (!session || !name || !out || (option_count && !options))
        return (centra_status)fail(ST_USAGE, "centra_head_new needs a session, a name and a place for the head");
    centra_head *h = calloc(1, sizeof *h);
    if (!h) return (centra_status)fail(ST_MEMORY, "no memory for a head");
    h->session = session;
    TRY(head_find(name, &h->head));
    h->settings = calloc(1, h->head->settings_bytes);
    if (!h->settings) {
        st = fail(ST_MEMORY, "no memory for the settings of %s", name);
        goto done;
    }
    options_default(h->head->options, h->settings);
    if (h->head->presets) h->head->presets(h->settings);
    for (size_t i = 0; i < option_count; i++) {
        if (!options[i].name || !options[i].value)
            TRY(fail(ST_USAGE, "option %zu of %s has no name or no value", i, name));
        TRY(option_set(h->head->options, "--head.", options[i].name, options[i].value, h->settings));
    }
    *out = h;
    h = NULL;
done:
    centra_head_free(h);
    return (centra_status)st;
}

void centra_head_free(centra_head *h)
{
    if (!h) return;
    labels_free(&h->labels);
    base_free(&h->base);
    params_free(h->params);
    weights_close(h->weights);
    free(h->settings);
    free(h);
}

centra_status centra_head_param(const centra_head *h, size_t index, size_t channels, centra_param_info *out)
{
    if (!h || !out) return (centra_status)fail(ST_USAGE, "centra_head_param needs a head and a place for the answer");
    if (index >= head_param_count(h->head))
        return (centra_status)fail(ST_USAGE, "%s has no parameter %zu; it has %zu", h->head->name, index,
                                   head_param_count(h->head));
    const struct head_param *p = &h->head->params[index];
    *out = (centra_param_info){.name = p->name, .rank = (size_t)p->rank};
    for (int axis = 0; axis < p->rank; axis++) out->dim[axis] = p->dim(channels, axis);
    return CENTRA_OK;
}

centra_status centra_head_load(centra_head *h, const char *path)
{
    struct weights *w = NULL;
    if (!h || !path) return (centra_status)fail(ST_USAGE, "centra_head_load needs a head and a path");
    if (!h->head->params)
        return (centra_status)fail(ST_USAGE, "the head %s has no parameters to load from '%s'", h->head->name, path);
    const status st = weights_open(path, &w);
    if (st != OK) return (centra_status)st;
    weights_close(h->weights);
    params_free(h->params);
    h->weights = w;
    h->params = NULL;
    return CENTRA_OK;
}

status head_ready(centra_head *h, size_t channels, dtype type)
{
    static const char *const anything[] = {"", NULL}; /* a model's file holds its network as well */
    status st = OK;
    struct random r = {0};
    struct params *p = NULL;
    if (!h->head->params) return OK;
    if (h->params && h->channels == channels && h->type == type) return OK;
    p = params_new(h->session->dev);
    if (!p) return fail(ST_MEMORY, "no memory for the parameters of %s", h->head->name);
    TRY(head_start(h->head, channels, type, &r, p));
    if (h->weights) TRY(weights_load(h->weights, p, "head.", anything));
    params_free(h->params);
    h->params = p;
    h->channels = channels;
    h->type = type;
    p = NULL;
done:
    params_free(p);
    return st;
}
