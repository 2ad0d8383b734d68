/* sum - sum or mean over a set of axes.
 *
 * The primitive keeps summed axes with size 1; whether the output shows them is a matter of its shape only. */
#include "ops/op.h"
#include "ops/ops.h"

struct sum {
    double scale; /* 1, or one over the number of summands */
    int rank;
    size_t kept[MAX_RANK]; /* x's shape with size 1 where summed */
};

static status sum_forward(struct node *n)
{
    const struct sum *s = n->attr;
    tensor y = tensor_view(&n->out[0]->value, s->rank, s->kept);
    status st = n->dev->zero(n->dev, y.data, tensor_bytes(&y));
    return st == OK ? N_PRIM(n, reduce_add, &n->in[0]->value, s->scale, &y) : st;
}

static status sum_backward(struct node *n)
{
    const struct sum *s = n->attr;
    tensor dy = tensor_view(&n->out[0]->grad, s->rank, s->kept);
    tensor *dx = var_grad(n->in[0]);
    return dx ? N_PRIM(n, expand_add, &dy, s->scale, dx) : tape_status(n->tape);
}

const struct op sum_op = {.name = "sum", .forward = sum_forward, .backward = sum_backward};

static status sum_out(struct node *n, unsigned axes, enum keep_axes keep)
{
    struct sum *s = n->attr;
    const tensor *x = &n->in[0]->value;
    size_t dim[MAX_RANK];
    int rank = 0;
    s->rank = x->rank;
    for (int i = 0; i < x->rank; i++) {
        bool summed = axes >> i & 1;
        s->kept[i] = summed ? 1 : x->dim[i];
        if (!summed || keep == KEEP_AXES) dim[rank++] = s->kept[i];
    }
    return node_out(n, rank, dim);
}

static var *sum(tape *t, var *x, unsigned axes, enum keep_axes keep, bool mean)
{
    char shape[SHAPE_TEXT];
    size_t summands = 1;
    struct node *n = node_new(t, &sum_op, 1, &x, &(struct sum){.scale = 1}, sizeof(struct sum));
    if (!n) return NULL;
    if (axes >> x->value.rank)
        return node_fail(n, ST_USAGE, "the axis mask 0x%x names an axis that shape %s does not have", axes,
                         tensor_shape_text(&x->value, shape));
    for (int i = 0; i < x->value.rank; i++)
        if (axes >> i & 1) summands *= x->value.dim[i];
    if (mean && !summands)
        return node_fail(n, ST_SHAPE, "there is no mean over an empty axis of shape %s",
                         tensor_shape_text(&x->value, shape));
    if (mean) ((struct sum *)n->attr)->scale = 1 / (double)summands;
    NODE_TRY(n, sum_out(n, axes, keep));
    return node_run(n);
}

var *op_sum(tape *t, var *x, unsigned axes, enum keep_axes keep) { return sum(t, x, axes, keep, false); }
var *op_mean(tape *t, var *x, unsigned axes, enum keep_axes keep) { return sum(t, x, axes, keep, true); }
