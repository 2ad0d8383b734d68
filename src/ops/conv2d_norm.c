/* conv2d_norm - a convolution with the batch norm, the activation and the pooling behind it folded in: inference only.
 *
 * With running statistics a batch norm is x scale + shift, which the convolution applies before it writes its results. */
#include "ops/norm.h"
#include "ops/ops.h"
#include "ops/steps.h"
#include <math.h>

struct attr {
    struct conv_norm how;
    struct norm_running of;
};

static status conv2d_norm_forward(struct node *n)
{
    const struct attr *a = n->attr;
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
    if (st == OK) st = conv_ready(n, args.shape, &args.ready);
    if (st != OK) return st;
    return N_PRIM(n, conv2d_affine, &args, &n->out[0]->value);
}

static size_t conv2d_norm_tell(const struct node *n, struct steps *to)
{
    const struct attr *a = n->attr;
    const struct step_conv conv = {.weight = n->in[1]->value,
                                   .stride = a->how.stride,
                                   .pad = {a->how.pad, a->how.pad, a->how.pad, a->how.pad},
                                   .groups = 1};
    size_t x = steps_conv(to, n->in[0]->step, &conv);
    x = steps_leaky_relu(to, norm_steps(to, x, n, 2, &a->of), a->how.slope);
    if (a->how.ceiling > 0) x = steps_clip(to, x, a->how.slope > 0 ? -INFINITY : 0, a->how.ceiling);
    return a->how.pool ? steps_max_pool(to, x, &(struct pool_shape){.size = 2, .stride = 2}) : x;
}

const struct op conv2d_norm_op = {.name = "conv2d_norm",
                                  .forward = conv2d_norm_forward,
                                  .backward = NULL,
                                  .takes_bf16 = true,
                                  .tell = conv2d_norm_tell};

var *op_conv2d_norm(tape *t, var *x, var *weight, const struct batch_norm *bn, const struct conv_norm *how)
{
    size_t dim[4];
    var *gain = tape_param(t, bn->gain), *bias = tape_param(t, bn->bias);
    if (!x || !weight || !gain || !bias || !tape_param(t, bn->mean) || !tape_param(t, bn->variance)) return NULL;
    const struct attr a = {*how, {.mean = bn->mean->value, .variance = bn->variance->value, .epsilon = bn->epsilon}};
    struct node *n = node_new(t, &conv2d_norm_op, 4, (var *[]){x, weight, gain, bias}, &a, sizeof a);
    if (!n || !conv_fits(n, (struct conv_shape){how->stride, how->pad}, dim) || !norm_folds(n, 2, &a.of, dim[3]))
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
