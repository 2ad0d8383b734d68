/* unary - exp, log, sqrt and relu of each element.
 *
 * At 0 the gradient of relu is 0. log and sqrt follow IEEE outside their domain: the NaN or infinity is seen later. */
#include "ops/op.h"
#include "ops/ops.h"
#include "ops/steps.h"

static status unary_forward(struct node *n)
{
    const enum unary_kind *kind = n->attr;
    return N_PRIM(n, unary, *kind, &n->in[0]->value, &n->out[0]->value);
}

static status unary_backward(struct node *n)
{
    const enum unary_kind *kind = n->attr;
    const var *y = n->out[0];
    tensor *dx = var_grad(n->in[0]);
    if (!dx) return tape_status(n->tape);
    return N_PRIM(n, unary_grad, *kind, &n->in[0]->value, &y->value, &y->grad, dx);
}

static size_t unary_tell(const struct node *n, struct steps *to)
{
    if (*(const enum unary_kind *)n->attr != UNARY_RELU) return steps_fail(to, "only relu can");
    return steps_leaky_relu(to, n->in[0]->step, 0);
}

const struct op unary_op = {.name = "unary", .forward = unary_forward, .backward = unary_backward, .tell = unary_tell};

static var *unary(tape *t, enum unary_kind kind, var *x)
{
    struct node *n = node_new(t, &unary_op, 1, &x, &kind, sizeof kind);
    if (!n) return NULL;
    NODE_TRY(n, node_out_like(n, &x->value));
    return node_run(n);
}

var *op_exp(tape *t, var *x) { return unary(t, UNARY_EXP, x); }
var *op_log(tape *t, var *x) { return unary(t, UNARY_LOG, x); }
var *op_sqrt(tape *t, var *x) { return unary(t, UNARY_SQRT, x); }
var *op_relu(tape *t, var *x) { return unary(t, UNARY_RELU, x); }
