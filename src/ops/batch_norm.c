/* batch_norm - each channel of x [..., c] brought to mean 0 and variance 1, then to a learned gain and bias (Ioffe and
 * Szegedy 2015).
 *
 * With batch statistics the running ones move by `momentum` towards this batch, the variance in its unbiased form. What
 * x was normalised by is kept on the tape: a later pass may change the running statistics before this one goes back. */
#include "ops/norm.h"
#include "ops/ops.h"
#include "ops/steps.h"

static status keep_running(struct node *n, const struct norm_running *a, tensor *mean, tensor *variance)
{
    const status st = n->dev->copy(n->dev, mean->data, a->mean.data, tensor_bytes(mean));
    if (st != OK) return st;
    return n->dev->copy(n->dev, variance->data, a->variance.data, tensor_bytes(variance));
}

status norm_statistics(struct node *n, const tensor *x, struct norm_running *a, tensor *mean, tensor *variance)
{
    if (!a->batch) return keep_running(n, a, mean, variance);
    double m = (double)tensor_span(x, 0, x->rank - 1);
    status st = N_PRIM(n, batch_stats, x, mean, variance);
    if (st == OK && norm_shared(n)) st = norm_sync_statistics(n, x, mean, variance, &m);
    if (st != OK) return st;
    return N_PRIM(n, batch_running, mean, variance, a->momentum, m / (m - 1), &a->mean, &a->variance);
}

static status batch_norm_forward(struct node *n)
{
    struct norm_running *a = n->attr;
    const status st = norm_statistics(n, &n->in[0]->value, a, &n->saved[0], &n->saved[1]);
    if (st != OK) return st;
    return N_PRIM(n, batch_norm, &n->in[0]->value, &n->saved[0], &n->saved[1], &n->in[1]->value, &n->in[2]->value,
                  a->epsilon, &n->out[0]->value);
}

static status batch_norm_backward(struct node *n)
{
    const struct norm_running *a = n->attr;
    tensor *dx = var_grad(n->in[0]), *dgain = var_grad(n->in[1]), *dbias = var_grad(n->in[2]);
    const status st = tape_status(n->tape);
    if (st != OK) return st;
    return N_PRIM(n, batch_norm_grad, &n->in[0]->value, &n->saved[0], &n->saved[1], &n->in[1]->value, &n->out[0]->grad,
                  a->epsilon, a->batch, dx, dgain, dbias);
}

static size_t batch_norm_tell(const struct node *n, struct steps *to)
{
    const struct norm_running *a = n->attr;
    const struct norm_input norm = {.mean = &n->saved[0],
                                    .variance = &n->saved[1],
                                    .gain = &n->in[1]->value,
                                    .bias = &n->in[2]->value,
                                    .epsilon = a->epsilon};
    return steps_norm(to, n->in[0]->step, &norm);
}

const struct op batch_norm_op = {
    .name = "batch_norm", .forward = batch_norm_forward, .backward = batch_norm_backward, .tell = batch_norm_tell};

static bool is_vector(const tensor *x, dtype type, size_t c)
{
    return x->type == type && x->rank == 1 && x->dim[0] == c;
}

bool norm_fits(struct node *n, int first, const struct norm_running *a)
{
    char text[SHAPE_TEXT];
    const tensor *x = &n->in[first]->value;
    const tensor *others[] = {&n->in[first + 1]->value, &n->in[first + 2]->value, &a->mean, &a->variance};
    static const char *const names[] = {"gain", "bias", "running mean", "running variance"};
    if (x->rank < 2 || !x->dim[x->rank - 1]) {
        node_fail(n, ST_SHAPE, "the input has shape %s; it must be [..., channels]", tensor_shape_text(x, text));
        return false;
    }
    for (int i = 0; i < 4; i++) {
        if (is_vector(others[i], n->type, x->dim[x->rank - 1])) continue;
        node_fail(n, ST_SHAPE, "the %s is %s %s; there are %zu channels of %s", names[i], dtype_name(others[i]->type),
                  tensor_shape_text(others[i], text), x->dim[x->rank - 1], dtype_name(n->type));
        return false;
    }
    if (a->batch && tensor_span(x, 0, x->rank - 1) < 2) {
        node_fail(n, ST_SHAPE,
                  "shape %s has fewer than 2 numbers a channel, which is too few for statistics of the batch",
                  tensor_shape_text(x, text));
        return false;
    }
    return true;
}

var *op_batch_norm(tape *t, var *x, const struct batch_norm *bn, bool batch_statistics)
{
    var *gain = tape_param(t, bn->gain), *bias = tape_param(t, bn->bias);
    if (!x || !gain || !bias || !tape_param(t, bn->mean) || !tape_param(t, bn->variance)) return NULL;
    const struct norm_running a = {bn->mean->value, bn->variance->value, bn->momentum, bn->epsilon, batch_statistics};
    struct node *n = node_new(t, &batch_norm_op, 3, (var *[]){x, gain, bias}, &a, sizeof a);
    if (!n || !norm_fits(n, 0, &a)) return NULL;
    const size_t channels = x->value.dim[x->value.rank - 1];
    NODE_TRY(n, node_out_like(n, &x->value));
    NODE_TRY(n, node_save(n, 0, n->type, 1, &channels));
    NODE_TRY(n, node_save(n, 1, n->type, 1, &channels));
    return node_run(n);
}
