/* conv2d_norm - a convolution with the batch norm, the activation and the pooling behind it folded in: inference only.
 *
 * With running statistics a batch norm is x scale + shift, which the convolution applies before it writes its results. A
 * network's first layer may take pictures as they come, with a border of their own: they are then framed and turned to
 * channels-last as they are read. */
#include "ops/norm.h"
#include "ops/ops.h"
#include "ops/steps.h"
#include <math.h>

struct attr {
    struct conv_norm how;
    struct norm_running of;
    bool enters; /* x is pictures [n, c, h, w], with this border */
    struct pad border;
};

/* The maps that the filters meet, for their shape: x, or pictures turned and with their border. */
static tensor maps_of(const tensor *x, const struct attr *a)
{
    tensor maps = *x;
    if (!a->enters || x->rank != 4) return maps;
    maps.dim[1] = a->border.top + x->dim[2] + a->border.bottom;
    maps.dim[2] = a->border.left + x->dim[3] + a->border.right;
    maps.dim[3] = x->dim[1];
    return maps;
}

static status conv2d_norm_forward(struct node *n)
{
    const struct attr *a = n->attr;
    const struct pad *b = &a->border;
    const tensor maps = maps_of(&n->in[0]->value, a);
    tensor scale = n->saved[0], shift = n->saved[1];
    struct conv_affine_args args = {.x = &n->in[0]->value,
                                    .w = &n->in[1]->value,
                                    .shape = {a->how.stride, a->how.pad},
                                    .scale = &scale,
                                    .shift = &shift,
                                    .slope = a->how.slope,
                                    .ceiling = a->how.ceiling,
                                    .pool = a->how.pool};
    status st = norm_fold(n, 2, &a->of, &scale, &shift);
    if (st == OK) st = conv_ready(n, &maps, args.shape, &args.ready);
    if (st != OK) return st;
    const struct conv_enter_args enter = {args, b->top, b->left, b->bottom, b->right};
    if (a->enters) return N_PRIM(n, conv2d_enter, &enter, &n->out[0]->value);
    return N_PRIM(n, conv2d_affine, &args, &n->out[0]->value);
}

static size_t conv2d_norm_tell(const struct node *n, struct steps *to)
{
    const struct attr *a = n->attr;
    const size_t pad = a->how.pad;
    const struct step_conv conv = {
        .weight = n->in[1]->value,
        .stride = a->how.stride,
        .pad = {pad + a->border.top, pad + a->border.left, pad + a->border.bottom, pad + a->border.right},
        .groups = 1};
    size_t x = n->in[0]->step;
    if (a->enters) x = steps_permute(to, x, (int[]){0, 2, 3, 1});
    x = steps_conv(to, x, &conv);
    x = steps_leaky_relu(to, norm_steps(to, x, n, 2, &a->of), a->how.slope);
    if (a->how.ceiling > 0) x = steps_clip(to, x, a->how.slope > 0 ? -INFINITY : 0, a->how.ceiling);
    return a->how.pool ? steps_max_pool(to, x, &(struct pool_shape){.size = 2, .stride = 2}) : x;
}

const struct op conv2d_norm_op = {.name = "conv2d_norm",
                                  .forward = conv2d_norm_forward,
                                  .backward = NULL,
                                  .takes_bf16 = true,
                                  .tell = conv2d_norm_tell};

/* pictures: their border; NULL: x is maps. */
static var *folded(tape *t, var *x, var *weight, const struct batch_norm *bn, const struct conv_norm *how,
                   const struct pad *pictures)
{
    size_t dim[4];
    var *gain = tape_param(t, bn->gain), *bias = tape_param(t, bn->bias);
    if (!x || !weight || !gain || !bias || !tape_param(t, bn->mean) || !tape_param(t, bn->variance)) return NULL;
    struct attr a = {.how = *how,
                     .of = {.mean = bn->mean->value, .variance = bn->variance->value, .epsilon = bn->epsilon},
                     .enters = pictures};
    if (pictures) a.border = *pictures;
    struct node *n = node_new(t, &conv2d_norm_op, 4, (var *[]){x, weight, gain, bias}, &a, sizeof a);
    const tensor maps = maps_of(&x->value, &a);
    if (!n || !conv_fits(n, &maps, (struct conv_shape){how->stride, how->pad}, dim) || !norm_folds(n, 2, &a.of, dim[3]))
        return NULL;
    if (!(how->slope >= 0) || (how->pool && (dim[1] < 2 || dim[2] < 2)))
        return node_fail(n, ST_SHAPE, "%zu x %zu results and slope %g; pooling needs 2 x 2, and no slope is negative",
                         dim[1], dim[2], how->slope);
    if (!(how->ceiling >= 0)) return node_fail(n, ST_USAGE, "the ceiling is %g; it must not be negative", how->ceiling);
    for (int i = 1; how->pool && i < 3; i++) dim[i] /= 2;
    NODE_TRY(n, node_out_maps(n, 4, dim));
    NODE_TRY(n, node_save(n, 0, n->type, 1, &dim[3]));
    NODE_TRY(n, node_save(n, 1, n->type, 1, &dim[3]));
    return node_run(n);
}

var *op_conv2d_norm(tape *t, var *x, var *weight, const struct batch_norm *bn, const struct conv_norm *how)
{
    return folded(t, x, weight, bn, how, NULL);
}

bool op_enter_norm_offered(const tape *t, const var *pictures)
{
    const dtype type = pictures->value.type;
    return type < DT_REALS && tape_device(t)->prim[type].conv2d_enter;
}

var *op_enter_norm(tape *t, var *pictures, var *weight, const struct batch_norm *bn, const struct pad *border,
                   const struct conv_norm *how)
{
    if (how->pad || border->top > MOST_PAD || border->left > MOST_PAD || border->bottom > MOST_PAD ||
        border->right > MOST_PAD)
        return tape_fail(
            t, fail(ST_USAGE, "op conv2d_norm: a border of pictures is at most %d, and the only one", MOST_PAD));
    return folded(t, pictures, weight, bn, how, border);
}
