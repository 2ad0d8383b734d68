/* concat - tensors joined along one axis; their other sizes are equal.
 *
 * Seen as [outer, n, inner], each input is `outer` runs of n * inner numbers, laid side by side in the output. */
#include "base/size.h"
#include "ops/op.h"
#include "ops/ops.h"

static status concat_forward(struct node *n)
{
    const int axis = *(const int *)n->attr;
    tensor *y = &n->out[0]->value;
    const size_t step = tensor_span(y, axis, y->rank);
    size_t at = 0;
    status st = OK;
    for (int i = 0; i < n->n_in && st == OK; i++) {
        const tensor *x = &n->in[i]->value;
        const size_t run = tensor_span(x, axis, x->rank);
        st = N_PRIM(n, copy_slices, x, 0, run, tensor_span(x, 0, axis), run, step, at, false, y);
        at += run;
    }
    return st;
}

static status concat_backward(struct node *n)
{
    const int axis = *(const int *)n->attr;
    const tensor *dy = &n->out[0]->grad;
    const size_t step = tensor_span(dy, axis, dy->rank);
    size_t at = 0;
    status st = OK;
    for (int i = 0; i < n->n_in && st == OK; i++) {
        const tensor *x = &n->in[i]->value;
        const size_t run = tensor_span(x, axis, x->rank);
        bool fresh;
        tensor *dx = var_grad_write(n->in[i], &fresh);
        st = dx ? N_PRIM(n, copy_slices, dy, at, step, tensor_span(x, 0, axis), run, run, 0, !fresh, dx)
                : tape_status(n->tape);
        at += run;
    }
    return st;
}

const struct op concat_op = {.name = "concat", .forward = concat_forward, .backward = concat_backward};

static bool joins(const tensor *a, const tensor *b, int axis)
{
    if (a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++)
        if (i != axis && a->dim[i] != b->dim[i]) return false;
    return true;
}

/* More than a node takes: joined in groups, and then those. */
static var *join_groups(tape *t, size_t count, var *const *x, int axis)
{
    const size_t groups = size_div_up(count, NODE_MAX_IN);
    void *host;
    const status st = tape_host(t, groups * sizeof(var *), &host);
    if (st != OK) return tape_fail(t, st);
    var **joined = host;
    for (size_t g = 0; g < groups; g++)
        joined[g] = op_concat(t, size_min(NODE_MAX_IN, count - g * NODE_MAX_IN), x + g * NODE_MAX_IN, axis);
    return op_concat(t, groups, joined, axis);
}

var *op_concat(tape *t, size_t count, var *const *x, int axis)
{
    char a[SHAPE_TEXT], b[SHAPE_TEXT];
    if (tape_status(t) != OK) return NULL;
    if (!count) return tape_fail(t, fail(ST_USAGE, "op concat: nothing to join"));
    if (count > NODE_MAX_IN) return join_groups(t, count, x, axis);
    struct node *n = node_new(t, &concat_op, (int)count, x, &axis, sizeof axis);
    if (!n || !node_axis(n, &x[0]->value, n->attr)) return NULL;
    axis = *(int *)n->attr;
    tensor y = x[0]->value;
    for (int i = 1; i < n->n_in; i++) {
        const tensor *next = &x[i]->value;
        if (!joins(&y, next, axis))
            return node_fail(n, ST_SHAPE, "shapes %s and %s differ in more than axis %d",
                             tensor_shape_text(&x[0]->value, a), tensor_shape_text(next, b), axis);
        y.dim[axis] += next->dim[axis];
    }
    NODE_TRY(n, node_out_like(n, &y));
    return node_run(n);
}
