/* conv4.c - four 3x3 convolutions. conv4 halves the map after each (84x84 gives 5x5); conv4-19, the form that DN4 uses,
 * only after the first two, and its last layer is a bare convolution without border (84x84 gives 19x19). */
#include "base/plain.h"
#include "nets/layers.h"

enum { LAYERS = 4, LEAST = 16, LEAST_19 = 12 }; /* four halvings; two and a filter of 3 x 3 */
static const double SLOPE = 0.2, MOMENTUM = 0.1;

struct conv4 {
    int64_t width;
};

static const struct option conv4_options[] = {
    OPT_INT(struct conv4, width, "width", 64, 1, 4096, "channels of every layer"), OPT_END};

/* What layer k (0 to 3) has beside its convolution; only a layer with a norm is pooled. */
struct plan {
    const char *name;
    size_t least;
    bool norm[LAYERS], pool[LAYERS];
};
static const struct plan halves = {"conv4", LEAST, {true, true, true, true}, {true, true, true, true}};
static const struct plan keeps = {"conv4-19", LEAST_19, {true, true, true, false}, {true, true, false, false}};

static status add_params(const struct plan *plan, const struct conv4 *s, struct layer_list *l)
{
    char name[LAYER_NAME];
    status st = OK;
    const size_t width = (size_t)s->width;
    for (int k = 0; k < LAYERS && st == OK; k++) {
        plain_snprintf(name, sizeof name, "layer%d.0", k + 1);
        st = layer_conv_params(l, name, width, k ? width : 3, 3, START_XAVIER);
        plain_snprintf(name, sizeof name, "layer%d.1", k + 1);
        if (st == OK && plan->norm[k]) st = layer_norm_params(l, name, width);
    }
    return st;
}

static var *run(const struct plan *plan, const struct layer_pass *l, var *pictures)
{
    char conv[LAYER_NAME], norm[LAYER_NAME];
    if (!layer_fits(l->t, plan->name, plan->least, pictures)) return NULL;
    var *x = pictures;
    for (int k = 0; k < LAYERS; k++) {
        const struct layer_after after = {.momentum = MOMENTUM, .slope = SLOPE, .pool = plan->pool[k]};
        plain_snprintf(conv, sizeof conv, "layer%d.0", k + 1);
        plain_snprintf(norm, sizeof norm, "layer%d.1", k + 1);
        if (!k) x = layer_enter_norm(l, conv, norm, x, 1, &(struct pad){1, 1, 1, 1}, &after);
        else if (plan->norm[k]) x = layer_conv_norm(l, conv, norm, x, 1, BORDER_SAME, &after);
        else x = layer_conv(l, conv, x, 1, BORDER_NONE);
    }
    return layer_leave(l->t, x);
}

static size_t conv4_channels(const void *settings) { return (size_t)((const struct conv4 *)settings)->width; }

static status conv4_params(const void *settings, dtype type, struct random *r, struct params *p)
{
    return add_params(&halves, settings, &(struct layer_list){p, type, r});
}

static var *conv4_forward(tape *t, const void *settings, struct params *p, struct net_pass *pass, var *x)
{
    (void)settings;
    return run(&halves, &(struct layer_pass){t, p, pass}, x);
}

static status conv4_19_params(const void *settings, dtype type, struct random *r, struct params *p)
{
    return add_params(&keeps, settings, &(struct layer_list){p, type, r});
}

static var *conv4_19_forward(tape *t, const void *settings, struct params *p, struct net_pass *pass, var *x)
{
    (void)settings;
    return run(&keeps, &(struct layer_pass){t, p, pass}, x);
}

const struct net conv4_net = {
    .name = "conv4",
    .title = "four convolutions, each followed by pooling",
    .paper = "Vinyals et al., Matching networks for one shot learning, NIPS 2016",
    .options = conv4_options,
    .settings_bytes = sizeof(struct conv4),
    .least = LEAST,
    .params = conv4_params,
    .channels = conv4_channels,
    .forward = conv4_forward,
};

const struct net conv4_19_net = {
    .name = "conv4-19",
    .title = "four convolutions, two of them followed by pooling",
    .paper = "Li et al., Revisiting local descriptor based image-to-class measure, CVPR 2019",
    .options = conv4_options,
    .settings_bytes = sizeof(struct conv4),
    .least = LEAST_19,
    .params = conv4_19_params,
    .channels = conv4_channels,
    .forward = conv4_19_forward,
};
