/* cross_entropy - mean over rows of minus the log softmax at the label. The probabilities are kept: the gradient is
 * (probabilities - one at the label) / n. */
#include "ops/op.h"
#include "ops/ops.h"

static status cross_entropy_forward(struct node *n)
{
    return N_PRIM(n, cross_entropy, &n->in[0]->value, n->attr, &n->saved[0], &n->out[0]->value);
}

static status cross_entropy_backward(struct node *n)
{
    tensor *dx = var_grad(n->in[0]);
    if (!dx) return tape_status(n->tape);
    return N_PRIM(n, cross_entropy_grad, &n->saved[0], n->attr, &n->out[0]->grad, dx);
}

const struct op cross_entropy_op = {
    .name = "cross_entropy", .forward = cross_entropy_forward, .backward = cross_entropy_backward};

var *op_cross_entropy(tape *t, var *logits, const tensor *labels)
{
    struct node *n = node_new(t, &cross_entropy_op, 1, &logits, labels, sizeof *labels);
    if (!n || !node_scores(n, labels)) return NULL;
    NODE_TRY(n, node_save(n, 0, n->type, 2, logits->value.dim));
    NODE_TRY(n, node_out(n, 0, NULL));
    return node_run(n);
}
