/* depthwise_norm - a depthwise convolution with the batch norm and the activation behind it folded in: inference only. */
#include "ops/norm.h"
#include "ops/ops.h"
#include "ops/steps.h"

struct attr {
    struct depthwise_shape shape;
    double ceiling;
    struct norm_running of;
};

static status depthwise_norm_forward(struct node *n)
{
    const struct attr *a = n->attr;
    struct depthwise_args args = {
        .x = &n->in[0]->value, .w = &n->in[1]->value, .shape = a->shape, .ceiling = a->ceiling};
    tensor scale = n->saved[0], shift = n->saved[1];
    status st = norm_fold(n, 2, &a->of, &scale, &shift);
    args.scale = &scale;
    args.shift = &shift;
    if (st == OK) st = depthwise_ready(n, &args.ready);
    return st == OK ? N_PRIM(n, depthwise, &args, &n->out[0]->value) : st;
}

static size_t depthwise_norm_tell(const struct node *n, struct steps *to)
{
    const struct attr *a = n->attr;
    const size_t x = norm_steps(to, depthwise_steps(to, n->in[0]->step, &n->in[1]->value, &a->shape), n, 2, &a->of);
    return a->ceiling > 0 ? steps_clip(to, x, 0, a->ceiling) : x;
}

const struct op depthwise_norm_op = {
    .name = "depthwise_norm", .forward = depthwise_norm_forward, .backward = NULL, .tell = depthwise_norm_tell};

var *op_depthwise_norm(tape *t, var *x, var *weight, const struct batch_norm *bn, const struct depthwise_shape *s,
                       double ceiling)
{
    size_t dim[4];
    var *gain = tape_param(t, bn->gain), *bias = tape_param(t, bn->bias);
    if (!x || !weight || !gain || !bias || !tape_param(t, bn->mean) || !tape_param(t, bn->variance)) return NULL;
    const struct attr a = {
        *s, ceiling, {.mean = bn->mean->value, .variance = bn->variance->value, .epsilon = bn->epsilon}};
    struct node *n = node_new(t, &depthwise_norm_op, 4, (var *[]){x, weight, gain, bias}, &a, sizeof a);
    if (!n || !depthwise_fits(n, s, dim) || !norm_folds(n, 2, &a.of, dim[3])) return NULL;
    if (!(ceiling >= 0)) return node_fail(n, ST_USAGE, "the ceiling is %g; it must not be negative", ceiling);
    NODE_TRY(n, node_out(n, 4, dim));
    NODE_TRY(n, node_save(n, 0, n->type, 1, &dim[3]));
    NODE_TRY(n, node_save(n, 1, n->type, 1, &dim[3]));
    return node_run(n);
}
