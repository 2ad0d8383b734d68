/* top_k - the k largest along one axis, largest first, and where they stood; ties go to the lowest index.
 *
 * The gradient goes to the places chosen. The largest alone (op_max) is k = 1 with the axis dropped. */
#include "ops/op.h"
#include "ops/ops.h"

struct top_k {
    struct axis a;
    size_t k;
};

static tensor chosen(const tensor *x, const struct top_k *s)
{
    return tensor_view(x, 3, (size_t[]){s->a.outer, s->k, s->a.inner});
}

static status top_k_forward(struct node *n)
{
    const struct top_k *s = n->attr;
    tensor y = chosen(&n->out[0]->value, s), index = chosen(&n->out[1]->value, s);
    return N_PRIM(n, top_k, &n->in[0]->value, s->a, s->k, &y, &index);
}

static status top_k_backward(struct node *n)
{
    const struct top_k *s = n->attr;
    tensor dy = chosen(&n->out[0]->grad, s), index = chosen(&n->out[1]->value, s);
    tensor *dx = var_grad(n->in[0]);
    return dx ? N_PRIM(n, top_k_grad, &index, &dy, s->a, s->k, dx) : tape_status(n->tape);
}

const struct op top_k_op = {.name = "top_k", .forward = top_k_forward, .backward = top_k_backward};

static var *top_k(tape *t, var *x, int axis, size_t k, bool drop, var **index)
{
    char shape[SHAPE_TEXT];
    size_t dim[MAX_RANK];
    int rank = 0;
    struct node *n = node_new(t, &top_k_op, 1, &x, &(struct top_k){.k = k}, sizeof(struct top_k));
    if (!n || !node_axis(n, &x->value, &axis)) return NULL;
    struct axis a = tensor_axis(&x->value, axis);
    if (!k || k > a.n)
        return node_fail(n, ST_USAGE, "k is %zu, but axis %d of shape %s allows 1 to %zu", k, axis,
                         tensor_shape_text(&x->value, shape), a.n);
    ((struct top_k *)n->attr)->a = a;
    for (int i = 0; i < x->value.rank; i++)
        if (i != axis || !drop) dim[rank++] = i == axis ? k : x->value.dim[i];
    NODE_TRY(n, node_out(n, rank, dim));
    NODE_TRY(n, node_out_index(n, rank, dim));
    if (!node_run(n)) return NULL;
    if (index) *index = n->out[1];
    return n->out[0];
}

var *op_top_k(tape *t, var *x, int axis, size_t k, var **index) { return top_k(t, x, axis, k, false, index); }
var *op_max(tape *t, var *x, int axis) { return top_k(t, x, axis, 1, true, NULL); }
