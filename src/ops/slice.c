/* slice - the part [from, to) along one axis. */
#include "ops/op.h"
#include "ops/ops.h"

struct slice {
    struct axis a;
    size_t from, to;
};

static status slice_forward(struct node *n)
{
    const struct slice *s = n->attr;
    const size_t inner = s->a.inner, run = (s->to - s->from) * inner;
    return N_PRIM(n, copy_slices, &n->in[0]->value, s->from * inner, s->a.n * inner, s->a.outer, run, run, 0, false,
                  &n->out[0]->value);
}

static status slice_backward(struct node *n)
{
    const struct slice *s = n->attr;
    const size_t inner = s->a.inner, run = (s->to - s->from) * inner;
    tensor *dx = var_grad(n->in[0]);
    if (!dx) return tape_status(n->tape);
    return N_PRIM(n, copy_slices, &n->out[0]->grad, 0, run, s->a.outer, run, s->a.n * inner, s->from * inner, true, dx);
}

const struct op slice_op = {.name = "slice", .forward = slice_forward, .backward = slice_backward};

var *op_slice(tape *t, var *x, int axis, size_t from, size_t to)
{
    struct slice s = {.from = from, .to = to};
    struct node *n = node_new(t, &slice_op, 1, &x, &s, sizeof s);
    if (!n || !node_axis(n, &x->value, &axis)) return NULL;
    tensor y = x->value;
    if (from >= to || to > y.dim[axis])
        return node_fail(n, ST_USAGE, "%zu to %zu is no part of axis %d, which has size %zu", from, to, axis,
                         y.dim[axis]);
    ((struct slice *)n->attr)->a = tensor_axis(&x->value, axis);
    y.dim[axis] = to - from;
    NODE_TRY(n, node_out_like(n, &y));
    return node_run(n);
}
