/* softmax - exp(x) over its sum along one axis. The gradient needs the output only. */
#include "ops/op.h"
#include "ops/ops.h"

static status softmax_forward(struct node *n)
{
    const struct axis *a = n->attr;
    return N_PRIM(n, softmax, &n->in[0]->value, *a, &n->out[0]->value);
}

static status softmax_backward(struct node *n)
{
    const struct axis *a = n->attr;
    const var *y = n->out[0];
    tensor *dx = var_grad(n->in[0]);
    return dx ? N_PRIM(n, softmax_grad, &y->value, &y->grad, *a, dx) : tape_status(n->tape);
}

const struct op softmax_op = {.name = "softmax", .forward = softmax_forward, .backward = softmax_backward};

var *op_softmax(tape *t, var *x, int axis)
{
    struct node *n = node_new(t, &softmax_op, 1, &x, &(struct axis){0}, sizeof(struct axis));
    if (!n || !node_axis(n, &x->value, &axis)) return NULL;
    *(struct axis *)n->attr = tensor_axis(&x->value, axis);
    NODE_TRY(n, node_out_like(n, &x->value));
    return node_run(n);
}
