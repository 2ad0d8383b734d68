/* shape.c - views, axes and stretching: the shape rules that several ops share. */
#include "ops/op.h"
#include <assert.h>
#include <string.h>

tensor tensor_view(const tensor *x, int rank, const size_t *dim)
{
    tensor view = {.type = x->type, .rank = rank, .data = x->data};
    assert(rank >= 0 && rank <= MAX_RANK);
    memcpy(view.dim, dim, (size_t)rank * sizeof *dim);
    assert(tensor_count(&view) == tensor_count(x));
    return view;
}

struct axis tensor_axis(const tensor *x, int axis)
{
    return (struct axis){tensor_span(x, 0, axis), x->dim[axis], tensor_span(x, axis + 1, x->rank)};
}

bool node_axis(struct node *n, const tensor *x, int *axis)
{
    char shape[SHAPE_TEXT];
    int given = *axis;
    if (given < -x->rank || given >= x->rank) {
        node_fail(n, ST_USAGE, "there is no axis %d in shape %s", given, tensor_shape_text(x, shape));
        return false;
    }
    if (given < 0) *axis = given + x->rank;
    return true;
}

/* v's gradient with g's rank: ones in front, as broadcasting puts them. */
static tensor padded(const tensor *grad, int rank)
{
    size_t dim[MAX_RANK];
    int front = rank - grad->rank;
    assert(front >= 0);
    for (int i = 0; i < rank; i++) dim[i] = i < front ? 1 : grad->dim[i - front];
    return tensor_view(grad, rank, dim);
}

status node_give(struct node *n, var *v, const tensor *g, double scale)
{
    if (!v->needs_grad) return OK;
    if (tensor_count(g) == tensor_count(&v->value)) {
        bool fresh;
        tensor *grad = var_grad_write(v, &fresh);
        if (!grad) return tape_status(n->tape);
        tensor to = tensor_view(grad, g->rank, g->dim);
        return fresh ? N_PRIM(n, affine, g, scale, 0, &to) : N_PRIM(n, axpy, scale, g, &to);
    }
    tensor *grad = var_grad(v);
    if (!grad) return tape_status(n->tape);
    tensor to = padded(grad, g->rank);
    return N_PRIM(n, reduce_add, g, scale, &to);
}
