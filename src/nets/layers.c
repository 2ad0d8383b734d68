/* layers.c - convolutions and batch norms by name, and the two ends of every network. */
#include "nets/layers.h"
#include "base/plain.h"
#include "base/size.h"

enum { FULL_NAME = LAYER_NAME + 32 };
static const double EPSILON = 1e-5;

static struct param *find(const struct layer_pass *l, const char *name, const char *part)
{
    char full[FULL_NAME];
    plain_snprintf(full, sizeof full, "%s.%s", name, part);
    struct param *p = params_find(l->p, full);
    if (!p && tape_status(l->t) == OK)
        tape_fail(l->t, fail(ST_USAGE, "the network needs a parameter '%s', which was never added", full));
    return p;
}

var *layer_conv(const struct layer_pass *l, const char *name, var *x, size_t stride, enum layer_border border)
{
    struct param *weight = find(l, name, "weight");
    if (!weight || !x) return NULL;
    const size_t pad = border == BORDER_SAME ? weight->value.dim[2] / 2 : 0;
    return op_conv2d(l->t, x, tape_param(l->t, weight), stride, pad);
}

static struct batch_norm norm_of(const struct layer_pass *l, const char *name, double momentum)
{
    return (struct batch_norm){find(l, name, "weight"),
                               find(l, name, "bias"),
                               find(l, name, "running_mean"),
                               find(l, name, "running_var"),
                               momentum,
                               EPSILON};
}

static struct norm_act norm_act_of(const struct layer_pass *l, double slope, const struct layer_after *after)
{
    return (struct norm_act){slope, after->pool, l->pass->mode == NET_TRAIN, l->pass->first};
}

var *layer_norm(const struct layer_pass *l, const char *name, var *x, const struct layer_after *after)
{
    const struct batch_norm bn = norm_of(l, name, after->momentum);
    const struct norm_act how = norm_act_of(l, after->ceiling > 0 ? 1 : after->slope, after);
    if (!x || tape_status(l->t) != OK) return NULL;
    x = op_norm_act_pool(l->t, x, &bn, NULL, NULL, &how);
    return after->ceiling > 0 ? op_clip(l->t, x, 0, after->ceiling) : x;
}

bool layer_folds(const struct layer_pass *l)
{
    return l->pass->mode == NET_EVAL && tape_get_mode(l->t) == TAPE_INFERENCE;
}

/* A first layer in training, as one op for each part of the batch. */
static var *first_layer(const struct layer_pass *l, var *x, var *weight, const struct batch_norm *bn, size_t pad,
                        double slope)
{
    const size_t first = l->pass->first;
    if (!first) return op_rgb_norm(l->t, x, weight, bn, pad, slope);
    var *parts[] = {op_rgb_norm(l->t, op_slice(l->t, x, 0, 0, first), weight, bn, pad, slope),
                    op_rgb_norm(l->t, op_slice(l->t, x, 0, first, x->value.dim[0]), weight, bn, pad, slope)};
    return op_concat(l->t, 2, parts, 0);
}

var *layer_conv_norm(const struct layer_pass *l, const char *conv, const char *norm, var *x, size_t stride,
                     enum layer_border border, const struct layer_after *after)
{
    struct param *weight = find(l, conv, "weight");
    if (!x || !weight) return NULL;
    const size_t pad = border == BORDER_SAME ? weight->value.dim[2] / 2 : 0;
    const bool first = l->pass->mode == NET_TRAIN && stride == 1 && after->pool && !(after->ceiling > 0) &&
                       op_rgb_norm_offered(l->t, x, &weight->value);
    if (!layer_folds(l) && !first) return layer_norm(l, norm, layer_conv(l, conv, x, stride, border), after);
    const struct batch_norm bn = norm_of(l, norm, after->momentum);
    if (tape_status(l->t) != OK) return NULL;
    if (first) return first_layer(l, x, tape_param(l->t, weight), &bn, pad, after->slope);
    const struct conv_norm how = {stride, pad, after->slope, after->pool, after->ceiling};
    return op_conv2d_norm(l->t, x, tape_param(l->t, weight), &bn, &how);
}

var *layer_depthwise_norm(const struct layer_pass *l, const char *conv, const char *norm, var *x,
                          const struct depthwise_shape *shape, const struct layer_after *after)
{
    struct param *weight = find(l, conv, "weight");
    if (!x || !weight) return NULL;
    if (!layer_folds(l)) return layer_norm(l, norm, op_depthwise(l->t, x, tape_param(l->t, weight), shape), after);
    const struct batch_norm bn = norm_of(l, norm, after->momentum);
    if (tape_status(l->t) != OK) return NULL;
    return op_depthwise_norm(l->t, x, tape_param(l->t, weight), &bn, shape, after->ceiling);
}

static bool bottleneck_layer(const struct layer_pass *l, const char *name, struct bottleneck_layer *out)
{
    char norm[FULL_NAME];
    if (!name) return true;
    plain_snprintf(norm, sizeof norm, "%s.norm", name);
    struct param *weight = find(l, name, "weight");
    out->norm = norm_of(l, norm, 0);
    if (tape_status(l->t) == OK) out->weight = tape_param(l->t, weight);
    return out->weight != NULL;
}

var *layer_bottleneck(const struct layer_pass *l, const struct layer_bottleneck *b, var *x)
{
    struct bottleneck how = {.shape = b->shape, .ceiling = b->ceiling, .residual = b->residual};
    if (!x || !bottleneck_layer(l, b->expand, &how.expand) || !bottleneck_layer(l, b->depthwise, &how.depthwise) ||
        !bottleneck_layer(l, b->project, &how.project))
        return NULL;
    return op_bottleneck(l->t, x, &how);
}

var *layer_norm_both(const struct layer_pass *l, const char *name, var *x, const char *residual_name, var *residual,
                     const struct layer_after *after)
{
    const struct batch_norm bn = norm_of(l, name, after->momentum);
    const struct batch_norm residual_bn = norm_of(l, residual_name, after->momentum);
    const struct norm_act how = norm_act_of(l, after->slope, after);
    if (!x || !residual || tape_status(l->t) != OK) return NULL;
    return op_norm_act_pool(l->t, x, &bn, residual, &residual_bn, &how);
}

var *layer_norm_shortcut(const struct layer_pass *l, const char *name, var *x, const struct layer_shortcut *side,
                         const struct layer_after *after)
{
    if (!x || !side->from || tape_status(l->t) != OK) return NULL;
    const tensor *from = &side->from->value;
    if (!layer_folds(l) || !after->pool || from->type != DT_BF16 || from->dim[3] != 3) {
        var *way = layer_conv(l, side->conv, side->from, 1, BORDER_SAME);
        var *y = layer_norm_both(l, name, x, side->norm, way, after);
        tape_release(l->t, way);
        return y;
    }
    struct param *weight = find(l, side->conv, "weight");
    const struct batch_norm bn = norm_of(l, name, after->momentum), of_side = norm_of(l, side->norm, after->momentum);
    if (tape_status(l->t) != OK) return NULL;
    return op_norm_thin(l->t, x, &bn, side->from, tape_param(l->t, weight), &of_side, after->slope);
}

var *layer_in_parts(const struct layer_pass *l, layer_early *f, const void *settings, size_t few, var *pictures)
{
    const bool cuts = layer_folds(l) && !tape_traced(l->t) && tape_device(l->t)->on_host;
    if (!pictures || pictures->value.rank != 4 || !few || !cuts) return f(l, settings, pictures);
    const size_t n = pictures->value.dim[0], parts = size_div_up(n, few);
    void *memory;
    if (parts < 2) return f(l, settings, pictures);
    const status st = tape_host(l->t, parts * sizeof(var *), &memory);
    if (st != OK) return tape_fail(l->t, st);
    var **part = memory;
    for (size_t i = 0; i < parts; i++) {
        const tensor some = tensor_rows(&pictures->value, i * few, size_min(n, (i + 1) * few));
        part[i] = f(l, settings, tape_constant(l->t, &some));
    }
    var *all = op_concat(l->t, parts, part, 0);
    for (size_t i = 0; i < parts; i++) tape_release(l->t, part[i]);
    return all;
}

bool layer_fits(tape *t, const char *net, size_t least, const var *pictures)
{
    char shape[SHAPE_TEXT];
    if (!pictures || tape_status(t) != OK) return false;
    const tensor *x = &pictures->value;
    if (x->rank == 4 && x->dim[1] == 3 && x->dim[2] >= least && x->dim[3] >= least) return true;
    tape_fail(t, fail(ST_SHAPE, "%s needs pictures [n, 3, height, width] of at least %zu x %zu pixels, not %s", net,
                      least, least, tensor_shape_text(x, shape)));
    return false;
}

var *layer_enter(tape *t, var *pictures)
{
    char shape[SHAPE_TEXT];
    if (!pictures || tape_status(t) != OK) return NULL;
    const tensor *x = &pictures->value;
    if (x->rank != 4 || x->dim[1] != 3)
        return tape_fail(
            t, fail(ST_SHAPE, "a network needs pictures [n, 3, height, width], not %s", tensor_shape_text(x, shape)));
    if (x->type == DT_F32 && tape_device(t)->maths == MATHS_BF16) return op_channels_last(t, pictures);
    return op_permute(t, pictures, (int[]){0, 2, 3, 1});
}

/* Whether a border is that of BORDER_SAME. */
static bool is_same(const struct pad *b, size_t filter)
{
    return b->top == filter / 2 && b->left == b->top && b->bottom == b->top && b->right == b->top;
}

var *layer_enter_norm(const struct layer_pass *l, const char *conv, const char *norm, var *pictures, size_t stride,
                      const struct pad *border, const struct layer_after *after)
{
    struct param *weight = find(l, conv, "weight");
    if (!pictures || !weight) return NULL;
    if (!layer_folds(l) || !op_enter_norm_offered(l->t, pictures)) {
        const bool same = is_same(border, weight->value.dim[2]);
        if (!same) pictures = op_pad(l->t, pictures, border);
        return layer_conv_norm(l, conv, norm, layer_enter(l->t, pictures), stride, same ? BORDER_SAME : BORDER_NONE,
                               after);
    }
    const struct batch_norm bn = norm_of(l, norm, after->momentum);
    if (tape_status(l->t) != OK) return NULL;
    const struct conv_norm how = {stride, 0, after->slope, after->pool, after->ceiling};
    return op_enter_norm(l->t, pictures, tape_param(l->t, weight), &bn, border, &how);
}

var *layer_leave(tape *t, var *x)
{
    if (!x) return NULL;
    return x->value.type == DT_BF16 ? op_channels_first(t, x) : op_permute(t, x, (int[]){0, 3, 1, 2});
}
