/* max_pool - the largest number under each square window of a map [n, h, w, c]. Places beyond the edges never win; among
 * equals the gradient goes to the first, row by row. */
#include "ops/op.h"
#include "ops/ops.h"
#include "ops/steps.h"

static status max_pool_forward(struct node *n)
{
    const struct pool_shape *s = n->attr;
    return N_PRIM(n, max_pool, &n->in[0]->value, *s, &n->out[0]->value);
}

static status max_pool_backward(struct node *n)
{
    const struct pool_shape *s = n->attr;
    tensor *dx = var_grad(n->in[0]);
    return dx ? N_PRIM(n, max_pool_grad, &n->in[0]->value, &n->out[0]->grad, *s, dx) : tape_status(n->tape);
}

static size_t max_pool_tell(const struct node *n, struct steps *to)
{
    return steps_max_pool(to, n->in[0]->step, n->attr);
}

const struct op max_pool_op = {
    .name = "max_pool", .forward = max_pool_forward, .backward = max_pool_backward, .tell = max_pool_tell};

var *op_max_pool(tape *t, var *x, const struct pool_shape *s)
{
    char shape[SHAPE_TEXT];
    size_t dim[4];
    struct node *n = node_new(t, &max_pool_op, 1, &x, s, sizeof *s);
    if (!n) return NULL;
    const tensor *v = &x->value;
    if (!s->size || !s->stride || s->pad >= s->size)
        return node_fail(n, ST_USAGE,
                         "windows of %zu, %zu apart, border %zu; the border must be narrower than a window", s->size,
                         s->stride, s->pad);
    if (v->rank != 4 || !v->dim[1] || !v->dim[2] || v->dim[1] + 2 * s->pad < s->size ||
        v->dim[2] + 2 * s->pad < s->size)
        return node_fail(n, ST_SHAPE,
                         "the input has shape %s; it must be [n, h, w, c], not smaller than a window of %zu",
                         tensor_shape_text(v, shape), s->size);
    for (int i = 0; i < 4; i++) dim[i] = v->dim[i];
    for (int i = 1; i < 3; i++) dim[i] = (v->dim[i] + 2 * s->pad - s->size) / s->stride + 1;
    NODE_TRY(n, node_out(n, 4, dim));
    return node_run(n);
}
