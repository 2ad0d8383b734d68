/* conv2d_norm - a convolution with the batch norm, the activation and the pooling behind it folded in: inference only.
 *
 * With running statistics a batch norm is x scale + shift, which the convolution applies before it writes its results. Those
 * of a frozen norm are kept beside its gain. */
#include "base/size.h"
#include "ops/op.h"
#include "ops/ops.h"
#include "ops/steps.h"

struct attr {
    struct conv_norm how;
    tensor mean, variance;
    double epsilon;
};

/* Into the node's own memory, or where the gain is frozen into what is kept with it: there once. */
static status fold(struct node *n, tensor *scale, tensor *shift)
{
    const struct attr *a = n->attr;
    struct conv_ready *kept = n->in[2]->ready;
    const size_t bytes = size_round_up(tensor_bytes(scale), 256);
    status st = OK;
    if (kept && !kept->memory) st = n->dev->alloc(n->dev, 2 * bytes, &kept->memory);
    if (kept && st == OK) {
        scale->data = kept->memory;
        shift->data = (char *)kept->memory + bytes;
    }
    if (st != OK || (kept && kept->made)) return st;
    st = N_PRIM(n, batch_fold, &a->mean, &a->variance, &n->in[2]->value, &n->in[3]->value, a->epsilon, scale, shift);
    if (kept) kept->made = st == OK;
    return st;
}

static status conv2d_norm_forward(struct node *n)
{
    const struct attr *a = n->attr;
    tensor *scale = &n->saved[0], *shift = &n->saved[1];
    struct conv_affine_args args = {.x = &n->in[0]->value,
                                    .w = &n->in[1]->value,
                                    .shape = {a->how.stride, a->how.pad},
                                    .scale = scale,
                                    .shift = shift,
                                    .slope = a->how.slope,
                                    .pool = a->how.pool};
    status st = fold(n, scale, shift);
    if (st == OK) st = conv_ready(n, args.shape, &args.ready);
    if (st != OK) return st;
    return N_PRIM(n, conv2d_affine, &args, &n->out[0]->value);
}

static size_t conv2d_norm_tell(const struct node *n, struct steps *to)
{
    const struct attr *a = n->attr;
    const struct norm_input norm = {.mean = &a->mean,
                                    .variance = &a->variance,
                                    .gain = &n->in[2]->value,
                                    .bias = &n->in[3]->value,
                                    .epsilon = a->epsilon};
    const struct step_conv conv = {
        .weight = n->in[1]->value, .stride = a->how.stride, .pad = {a->how.pad, a->how.pad}, .groups = 1};
    size_t x = steps_conv(to, n->in[0]->step, &conv);
    x = steps_leaky_relu(to, steps_norm(to, x, &norm), a->how.slope);
    return a->how.pool ? steps_max_pool2(to, x) : x;
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
    const struct attr a = {*how, bn->mean->value, bn->variance->value, bn->epsilon};
    struct node *n = node_new(t, &conv2d_norm_op, 4, (var *[]){x, weight, gain, bias}, &a, sizeof a);
    if (!n || !conv_fits(n, (struct conv_shape){how->stride, how->pad}, dim)) return NULL;
    if (tape_get_mode(t) != TAPE_INFERENCE)
        return node_fail(n, ST_USAGE, "it has no way back; use an inference tape, or conv2d and norm_act_pool");
    const tensor *each[] = {&gain->value, &bias->value, &a.mean, &a.variance};
    for (int i = 0; i < 4; i++)
        if (each[i]->type != n->type || each[i]->rank != 1 || each[i]->dim[0] != dim[3])
            return node_fail(n, ST_SHAPE, "the norm does not have one number for each of %zu channels", dim[3]);
    if (!(how->slope >= 0) || (how->pool && (dim[1] < 2 || dim[2] < 2)))
        return node_fail(n, ST_SHAPE, "%zu x %zu results and slope %g; pooling needs 2 x 2, and no slope is negative",
                         dim[1], dim[2], how->slope);
    for (int i = 1; how->pool && i < 3; i++) dim[i] /= 2;
    NODE_TRY(n, node_out_maps(n, 4, dim));
    NODE_TRY(n, node_save(n, 0, n->type, 1, &dim[3]));
    NODE_TRY(n, node_save(n, 1, n->type, 1, &dim[3]));
    return node_run(n);
}
