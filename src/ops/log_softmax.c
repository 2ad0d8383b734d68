/* log_softmax - x minus the logarithm of the sum of exp(x) along one axis. The gradient needs the output only. */
#include "ops/op.h"
#include "ops/ops.h"

static status log_softmax_forward(struct node *n)
{
    const struct axis *a = n->attr;
    return N_PRIM(n, log_softmax, &n->in[0]->value, *a, &n->out[0]->value);
}

static status log_softmax_backward(struct node *n)
{
    const struct axis *a = n->attr;
    const var *y = n->out[0];
    tensor *dx = var_grad(n->in[0]);
    return dx ? N_PRIM(n, log_softmax_grad, &y->value, &y->grad, *a, dx) : tape_status(n->tape);
}

const struct op log_softmax_op = {
    .name = "log_softmax", .forward = log_softmax_forward, .backward = log_softmax_backward};

var *op_log_softmax(tape *t, var *x, int axis)
{
    struct node *n = node_new(t, &log_softmax_op, 1, &x, &(struct axis){0}, sizeof(struct axis));
    if (!n || !node_axis(n, &x->value, &axis)) return NULL;
    *(struct axis *)n->attr = tensor_axis(&x->value, axis);
    NODE_TRY(n, node_out_like(n, &x->value));
    return node_run(n);
}
