/* leaky_relu - x where it is positive, else slope x. At 0 the derivative is the slope. */
#include "ops/op.h"
#include "ops/ops.h"
#include "ops/steps.h"

static status leaky_relu_forward(struct node *n)
{
    const double *slope = n->attr;
    return N_PRIM(n, leaky_relu, &n->in[0]->value, *slope, &n->out[0]->value);
}

static status leaky_relu_backward(struct node *n)
{
    const double *slope = n->attr;
    tensor *dx = var_grad(n->in[0]);
    if (!dx) return tape_status(n->tape);
    return N_PRIM(n, leaky_relu_grad, &n->in[0]->value, &n->out[0]->grad, *slope, dx);
}

static size_t leaky_relu_tell(const struct node *n, struct steps *to)
{
    return steps_leaky_relu(to, n->in[0]->step, *(const double *)n->attr);
}

const struct op leaky_relu_op = {
    .name = "leaky_relu", .forward = leaky_relu_forward, .backward = leaky_relu_backward, .tell = leaky_relu_tell};

var *op_leaky_relu(tape *t, var *x, double slope)
{
    struct node *n = node_new(t, &leaky_relu_op, 1, &x, &slope, sizeof slope);
    if (!n) return NULL;
    NODE_TRY(n, node_out_like(n, &x->value));
    return node_run(n);
}
