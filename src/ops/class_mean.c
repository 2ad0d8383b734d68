/* class_mean - the mean of each class's rows: [n, ...] by labels [n] to [way, ...]. */
#include "ops/op.h"
#include "ops/ops.h"

static tensor rows(const tensor *x) { return tensor_view(x, 2, (size_t[]){x->dim[0], tensor_span(x, 1, x->rank)}); }

static status class_mean_forward(struct node *n)
{
    tensor x = rows(&n->in[0]->value), y = rows(&n->out[0]->value);
    return N_PRIM(n, class_mean, &x, n->attr, &y);
}

static status class_mean_backward(struct node *n)
{
    tensor dy = rows(&n->out[0]->grad);
    tensor *grad = var_grad(n->in[0]);
    if (!grad) return tape_status(n->tape);
    tensor dx = rows(grad);
    return N_PRIM(n, class_mean_grad, n->attr, &dy, &dx);
}

const struct op class_mean_op = {.name = "class_mean", .forward = class_mean_forward, .backward = class_mean_backward};

var *op_class_mean(tape *t, var *x, const tensor *labels, size_t way)
{
    struct node *n = node_new(t, &class_mean_op, 1, &x, labels, sizeof *labels);
    if (!n) return NULL;
    if (!x->value.rank) return node_fail(n, ST_SHAPE, "the input is a single number; it must have rows");
    if (!node_labels(n, labels, x->value.dim[0])) return NULL;
    if (!way || way > x->value.dim[0])
        return node_fail(n, ST_USAGE, "%zu classes cannot each have one of %zu rows", way, x->value.dim[0]);
    tensor y = x->value;
    y.dim[0] = way;
    NODE_TRY(n, node_out_like(n, &y));
    return node_run(n);
}
