/* adaptive_pool - feature maps [n, c, h, w] averaged to a given height and width: cell i covers the rows from
 * floor(i h / height) up to ceil((i + 1) h / height), and columns likewise. */
#include "ops/op.h"
#include "ops/ops.h"
#include "ops/steps.h"

static status adaptive_pool_forward(struct node *n)
{
    return N_PRIM(n, adaptive_pool, &n->in[0]->value, &n->out[0]->value);
}

static status adaptive_pool_backward(struct node *n)
{
    tensor *dx = var_grad(n->in[0]);
    return dx ? N_PRIM(n, adaptive_pool_grad, &n->out[0]->grad, dx) : tape_status(n->tape);
}

static size_t adaptive_pool_tell(const struct node *n, struct steps *to)
{
    const size_t *dim = n->out[0]->value.dim;
    return steps_adaptive_pool(to, n->in[0]->step, dim[2], dim[3]);
}

const struct op adaptive_pool_op = {.name = "adaptive_pool",
                                    .forward = adaptive_pool_forward,
                                    .backward = adaptive_pool_backward,
                                    .tell = adaptive_pool_tell};

var *op_adaptive_pool(tape *t, var *x, size_t height, size_t width)
{
    char shape[SHAPE_TEXT];
    struct node *n = node_new(t, &adaptive_pool_op, 1, &x, NULL, 0);
    if (!n) return NULL;
    const tensor *v = &x->value;
    if (v->rank != 4 || !v->dim[2] || !v->dim[3])
        return node_fail(n, ST_SHAPE, "the input has shape %s; it must be [n, c, h, w], not empty",
                         tensor_shape_text(v, shape));
    if (!height || !width) return node_fail(n, ST_USAGE, "cannot pool to %zu x %zu cells", height, width);
    NODE_TRY(n, node_out(n, 4, (size_t[]){v->dim[0], v->dim[1], height, width}));
    return node_run(n);
}
