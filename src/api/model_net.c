/* model_net.c - a model's network by itself, and what it is shown of pictures: features without a head. */
#include "api/classifier.h"
#include "api/net.h"
#include "base/size.h"
#include <stdlib.h>

static status choose_settings(centra_net *n, const centra_model *m, const centra_option *options, size_t count)
{
    status st = OK;
    TRY(net_find(m->card.backbone, &n->net));
    n->memory = arena_new(1 << 10);
    n->settings = calloc(1, size_max(n->net->settings_bytes, 1));
    if (!n->memory || !n->settings) TRY(fail(ST_MEMORY, "no memory for the settings of %s", n->net->name));
    options_default(n->net->options, n->settings);
    TRY(card_options(&m->card, "net.", n->net->options, n->settings, n->memory));
    for (size_t i = 0; i < count; i++) {
        if (!options[i].name || !options[i].value) TRY(fail(ST_USAGE, "option %zu has no name or no value", i));
        TRY(option_set(n->net->options, "--net.", options[i].name, options[i].value, n->settings));
    }
done:
    return st;
}

centra_status centra_model_net(centra_session *session, const centra_model *model, const centra_option *options,
                               size_t option_count, centra_precision precision, centra_net **out)
{
    static const char *const ignore[] = {"head.", "pre.", NULL};
    status st = OK;
    if (!session || !model || !out || (option_count && !options))
        return (centra_status)fail(ST_USAGE, "centra_model_net needs a session, a model and a place for the network");
    if (precision != CENTRA_F32 && precision != CENTRA_F64)
        return (centra_status)fail(ST_USAGE, "precision %d does not exist; use CENTRA_F32 or CENTRA_F64",
                                   (int)precision);
    centra_net *n = calloc(1, sizeof *n);
    if (!n) return (centra_status)fail(ST_MEMORY, "no memory for a network");
    n->session = session;
    n->type = precision == CENTRA_F32 ? DT_F32 : DT_F64;
    n->extractor = model->extractor;
    n->transform = model->card.transform;
    TRY(choose_settings(n, model, options, option_count));
    n->params = params_new_fixed(session->dev); /* never trained */
    if (!n->params) TRY(fail(ST_MEMORY, "no memory for the parameters of %s", n->net->name));
    TRY(n->net->params(n->settings, n->type, NULL, n->params));
    TRY(weights_load(model->file, n->params, "", ignore));
    *out = n;
    n = NULL;
done:
    centra_net_free(n);
    return (centra_status)st;
}

centra_status centra_model_input(const centra_model *m, const centra_picture *picture, const char *extractor,
                                 float *out)
{
    struct extractor e;
    status st = OK;
    if (!m || !picture || !picture->rgb || !out)
        return (centra_status)fail(ST_USAGE, "centra_model_input needs a model, a picture and a place");
    e = m->extractor;
    if (extractor) TRY(extractor_parse(extractor, &e));
    const struct picture p = {picture->width, picture->height, picture->rgb};
    const struct transform *t = &m->card.transform;
    st = e.kind == EXTRACT_GRID ? transform_cells(t, &p, e.count, e.sizes, NULL, out)
                                : transform_apply(t, &p, NULL, out);
done:
    return (centra_status)st;
}
