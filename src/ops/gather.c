/* gather - entries along one axis, picked by index; an entry picked twice gets both gradients. */
#include "ops/op.h"
#include "ops/ops.h"

struct gather {
    tensor index; /* i32 [k] */
    struct axis a;
};

static status gather_forward(struct node *n)
{
    const struct gather *g = n->attr;
    return N_PRIM(n, gather, &n->in[0]->value, &g->index, g->a, &n->out[0]->value);
}

static status gather_backward(struct node *n)
{
    const struct gather *g = n->attr;
    tensor *dx = var_grad(n->in[0]);
    return dx ? N_PRIM(n, gather_grad, &g->index, &n->out[0]->grad, g->a, dx) : tape_status(n->tape);
}

const struct op gather_op = {.name = "gather", .forward = gather_forward, .backward = gather_backward};

var *op_gather(tape *t, var *x, int axis, const tensor *index)
{
    char shape[SHAPE_TEXT];
    struct node *n = node_new(t, &gather_op, 1, &x, &(struct gather){.a = {0}}, sizeof(struct gather));
    if (!n || !node_axis(n, &x->value, &axis)) return NULL;
    if (!index) return node_fail(n, ST_USAGE, "the index is missing");
    if (index->type != DT_I32 || index->rank != 1)
        return node_fail(n, ST_USAGE, "the index is %s of shape %s; it must be i32 of rank 1", dtype_name(index->type),
                         tensor_shape_text(index, shape));
    *(struct gather *)n->attr = (struct gather){*index, tensor_axis(&x->value, axis)};
    tensor y = x->value;
    y.dim[axis] = index->dim[0];
    NODE_TRY(n, node_out_like(n, &y));
    return node_run(n);
}
