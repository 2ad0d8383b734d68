/* model_net.c - a model's network by itself, and what it is shown of a picture. */
#include "api/classifier.h"
#include "api/net.h"
#include "base/size.h"
#include <stdlib.h>

static status open_net(centra_net *n, const centra_model *m)
{
    static const char *const ignore[] = {"head.", "pre.", NULL}; /* what of a model's file is not its network */
    status st = OK;
    TRY(net_find(m->card.backbone, &n->net));
    n->settings = calloc(1, size_max(1, n->net->settings_bytes));
    n->memory = arena_new(1 << 10);
    n->params = params_new_fixed(n->session->dev); /* nothing is trained: no start values and no gradients */
    if (!n->settings || !n->memory || !n->params) TRY(fail(ST_MEMORY, "no memory for the network of %s", m->info.name));
    options_default(n->net->options, n->settings);
    TRY(card_options(&m->card, "net.", n->net->options, n->settings, n->memory));
    TRY(n->net->params(n->settings, DT_F32, NULL, n->params));
    TRY(weights_load(m->file, n->params, "", ignore));
done:
    return st;
}

centra_status centra_model_net(centra_session *session, const centra_model *model, centra_net **out)
{
    status st = OK;
    if (!session || !model || !out)
        return (centra_status)fail(ST_USAGE, "centra_model_net needs a session, a model and a place for the network");
    centra_net *n = calloc(1, sizeof *n);
    if (!n) return (centra_status)fail(ST_MEMORY, "no memory for a network");
    n->session = session;
    n->type = DT_F32;
    n->extractor = model->extractor;
    n->transform = model->card.transform;
    TRY(open_net(n, model));
    *out = n;
    n = NULL;
done:
    centra_net_free(n);
    return (centra_status)st;
}

centra_status centra_model_input(const centra_model *model, const centra_picture *picture, float *out)
{
    if (!model || !picture || !picture->rgb || !picture->width || !picture->height || !out)
        return (centra_status)fail(ST_USAGE, "centra_model_input needs a model, a picture with pixels and a place");
    const struct picture p = {picture->width, picture->height, picture->rgb};
    const struct extractor *e = &model->extractor;
    const struct transform *t = &model->card.transform;
    return (centra_status)(e->kind == EXTRACT_GRID ? transform_cells(t, &p, e->count, e->sizes, NULL, out)
                                                   : transform_apply(t, &p, NULL, out));
}
