/* permute - the axes in another order: output axis i is input axis order[i]. */
#include "ops/op.h"
#include "ops/ops.h"
#include "ops/steps.h"

struct permute {
    int order[MAX_RANK];
};

static status permute_forward(struct node *n)
{
    const struct permute *p = n->attr;
    return N_PRIM(n, permute, &n->in[0]->value, p->order, &n->out[0]->value);
}

static status permute_backward(struct node *n)
{
    const struct permute *p = n->attr;
    const tensor *x = &n->in[0]->value;
    int back[MAX_RANK];
    tensor g;
    for (int i = 0; i < x->rank; i++) back[p->order[i]] = i;
    status st = tape_tensor(n->tape, n->type, x->rank, x->dim, &g);
    if (st == OK) st = N_PRIM(n, permute, &n->out[0]->grad, back, &g);
    return st == OK ? node_give(n, n->in[0], &g, 1) : st;
}

static size_t permute_tell(const struct node *n, struct steps *to)
{
    return steps_permute(to, n->in[0]->step, ((const struct permute *)n->attr)->order);
}

const struct op permute_op = {
    .name = "permute", .forward = permute_forward, .backward = permute_backward, .tell = permute_tell};

var *op_permute(tape *t, var *x, const int *order)
{
    size_t dim[MAX_RANK];
    unsigned seen = 0;
    struct node *n = node_new(t, &permute_op, 1, &x, &(struct permute){{0}}, sizeof(struct permute));
    if (!n) return NULL;
    struct permute *p = n->attr;
    for (int i = 0; i < x->value.rank; i++) {
        int axis = order[i];
        if (!node_axis(n, &x->value, &axis)) return NULL;
        if (seen >> axis & 1) return node_fail(n, ST_USAGE, "axis %d appears twice in the order", axis);
        seen |= 1u << axis;
        p->order[i] = axis;
        dim[i] = x->value.dim[axis];
    }
    NODE_TRY(n, node_out(n, x->value.rank, dim));
    return node_run(n);
}
