/* reshape - the same numbers in another shape; the output lies over the input's memory. */
#include "ops/op.h"
#include "ops/ops.h"

static status reshape_forward(struct node *n)
{
    (void)n;
    return OK;
}

static status reshape_backward(struct node *n) { return node_give(n, n->in[0], &n->out[0]->grad, 1); }

const struct op reshape_op = {.name = "reshape", .forward = reshape_forward, .backward = reshape_backward};

var *op_reshape(tape *t, var *x, int rank, const size_t *dim)
{
    char from[SHAPE_TEXT], to[SHAPE_TEXT];
    tensor y;
    struct node *n = node_new(t, &reshape_op, 1, &x, NULL, 0);
    if (!n) return NULL;
    NODE_TRY(n, tensor_make(&y, n->type, rank, dim, x->value.data));
    if (tensor_count(&y) != tensor_count(&x->value))
        return node_fail(n, ST_SHAPE, "%s has %zu elements and cannot become %s", tensor_shape_text(&x->value, from),
                         tensor_count(&x->value), tensor_shape_text(&y, to));
    NODE_TRY(n, node_out_view(n, &y));
    return node_run(n);
}
