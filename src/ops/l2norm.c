/* l2norm - vectors along one axis divided by their Euclidean length.
 *
 * A vector shorter than 1e-12 becomes 0 and gets gradient 0; the saved inverse length, 0 there, does both. */
#include "ops/op.h"
#include "ops/ops.h"

static status l2norm_forward(struct node *n)
{
    const struct axis *a = n->attr;
    return N_PRIM(n, l2norm, &n->in[0]->value, *a, &n->out[0]->value, &n->saved[0]);
}

static status l2norm_backward(struct node *n)
{
    const struct axis *a = n->attr;
    const var *y = n->out[0];
    tensor *dx = var_grad(n->in[0]);
    return dx ? N_PRIM(n, l2norm_grad, &y->value, &n->saved[0], &y->grad, *a, dx) : tape_status(n->tape);
}

const struct op l2norm_op = {.name = "l2norm", .forward = l2norm_forward, .backward = l2norm_backward};

var *op_l2norm(tape *t, var *x, int axis)
{
    struct node *n = node_new(t, &l2norm_op, 1, &x, &(struct axis){0}, sizeof(struct axis));
    if (!n || !node_axis(n, &x->value, &axis)) return NULL;
    struct axis a = tensor_axis(&x->value, axis);
    *(struct axis *)n->attr = a;
    NODE_TRY(n, node_out_like(n, &x->value));
    NODE_TRY(n, node_save(n, 0, n->type, 2, (size_t[]){a.outer, a.inner}));
    return node_run(n);
}
