/* max_pool2 - the largest of each 2 x 2 square of a map [n, h, w, c]; an odd last row or column is dropped. Among equals
 * the gradient goes to the first, row by row. */
#include "ops/op.h"
#include "ops/ops.h"
#include "ops/steps.h"

static status max_pool2_forward(struct node *n) { return N_PRIM(n, max_pool2, &n->in[0]->value, &n->out[0]->value); }

static status max_pool2_backward(struct node *n)
{
    tensor *dx = var_grad(n->in[0]);
    return dx ? N_PRIM(n, max_pool2_grad, &n->in[0]->value, &n->out[0]->grad, dx) : tape_status(n->tape);
}

static size_t max_pool2_tell(const struct node *n, struct steps *to)
{
    return steps_max_pool(to, n->in[0]->step, &(struct pool_shape){.size = 2, .stride = 2});
}

const struct op max_pool2_op = {
    .name = "max_pool2", .forward = max_pool2_forward, .backward = max_pool2_backward, .tell = max_pool2_tell};

var *op_max_pool2(tape *t, var *x)
{
    char shape[SHAPE_TEXT];
    struct node *n = node_new(t, &max_pool2_op, 1, &x, NULL, 0);
    if (!n) return NULL;
    const tensor *v = &x->value;
    if (v->rank != 4 || v->dim[1] < 2 || v->dim[2] < 2)
        return node_fail(n, ST_SHAPE, "the input has shape %s; it must be [n, h, w, c] with h and w at least 2",
                         tensor_shape_text(v, shape));
    NODE_TRY(n, node_out(n, 4, (size_t[]){v->dim[0], v->dim[1] / 2, v->dim[2] / 2, v->dim[3]}));
    return node_run(n);
}
