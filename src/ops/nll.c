/* nll - mean over rows of minus the log probability at the label. */
#include "ops/op.h"
#include "ops/ops.h"

static status nll_forward(struct node *n) { return N_PRIM(n, nll, &n->in[0]->value, n->attr, &n->out[0]->value); }

static status nll_backward(struct node *n)
{
    tensor *dx = var_grad(n->in[0]);
    return dx ? N_PRIM(n, nll_grad, n->attr, &n->out[0]->grad, dx) : tape_status(n->tape);
}

const struct op nll_op = {.name = "nll", .forward = nll_forward, .backward = nll_backward};

var *op_nll(tape *t, var *log_prob, const tensor *labels)
{
    struct node *n = node_new(t, &nll_op, 1, &log_prob, labels, sizeof *labels);
    if (!n || !node_scores(n, labels)) return NULL;
    NODE_TRY(n, node_out(n, 0, NULL));
    return node_run(n);
}
