/* affine - y = mul x + add, with two fixed numbers. */
#include "ops/op.h"
#include "ops/ops.h"

struct affine {
    double mul, add;
};

static status affine_forward(struct node *n)
{
    const struct affine *f = n->attr;
    return N_PRIM(n, affine, &n->in[0]->value, f->mul, f->add, &n->out[0]->value);
}

static status affine_backward(struct node *n)
{
    const struct affine *f = n->attr;
    return node_give(n, n->in[0], &n->out[0]->grad, f->mul);
}

const struct op affine_op = {.name = "affine", .forward = affine_forward, .backward = affine_backward};

var *op_affine(tape *t, var *x, double mul, double add)
{
    struct node *n = node_new(t, &affine_op, 1, &x, &(struct affine){mul, add}, sizeof(struct affine));
    if (!n) return NULL;
    NODE_TRY(n, node_out_like(n, &x->value));
    return node_run(n);
}
