/* sqdist - squared Euclidean distance of every row of a to every row of b, from the differences, so that near points
 * keep their digits.
 *
 * The primitive wants equal batches. Where b serves all, the batch is folded into a's rows; where a serves all, a is
 * copied for each (kept in saved[0]). */
#include "ops/op.h"
#include "ops/ops.h"

static void sqdist_views(const struct node *n, const tensor *out, tensor *a, tensor *b, tensor *y)
{
    *a = tensor_matrices(&n->in[0]->value);
    *b = tensor_matrices(&n->in[1]->value);
    *y = tensor_matrices(out);
    if (n->saved[0].data) *a = n->saved[0];
    if (b->dim[0] != 1) return;
    *a = tensor_fold_rows(a);
    *y = tensor_fold_rows(y);
}

static status sqdist_forward(struct node *n)
{
    tensor a, b, y, *copies = &n->saved[0];
    status st = OK;
    if (copies->data) {
        a = tensor_matrices(&n->in[0]->value);
        TRY(n->dev->zero(n->dev, copies->data, tensor_bytes(copies)));
        TRY(N_PRIM(n, expand_add, &a, 1, copies));
    }
    sqdist_views(n, &n->out[0]->value, &a, &b, &y);
    TRY(N_PRIM(n, sqdist, &a, &b, &y));
done:
    return st;
}

static status sqdist_backward(struct node *n)
{
    tensor a, b, dy, each;
    status st = OK;
    sqdist_views(n, &n->out[0]->grad, &a, &b, &dy);
    for (int i = 0; i < 2; i++) {
        var *v = n->in[i];
        const tensor *like = i ? &b : &a;
        if (!v->needs_grad) continue;
        if (tensor_count(like) == tensor_count(&v->value)) {
            tensor *grad = var_grad(v);
            if (!grad) return tape_status(n->tape);
            each = tensor_view(grad, 3, like->dim);
            TRY(N_PRIM(n, sqdist_grad, &a, &b, &dy, i == 1, &each));
        } else {
            TRY(tape_tensor(n->tape, n->type, 3, like->dim, &each));
            TRY(n->dev->zero(n->dev, each.data, tensor_bytes(&each)));
            TRY(N_PRIM(n, sqdist_grad, &a, &b, &dy, false, &each)); /* only a is ever copied */
            TRY(node_give(n, v, &each, 1));
        }
    }
done:
    return st;
}

const struct op sqdist_op = {.name = "sqdist", .forward = sqdist_forward, .backward = sqdist_backward};

var *op_sqdist(tape *t, var *a, var *b)
{
    char p[SHAPE_TEXT], q[SHAPE_TEXT];
    size_t batch;
    struct node *n = node_new(t, &sqdist_op, 2, (var *[]){a, b}, NULL, 0);
    if (!n || !node_batch(n, &batch)) return NULL;
    tensor x = tensor_matrices(&a->value), y = tensor_matrices(&b->value);
    if (x.dim[2] != y.dim[2])
        return node_fail(n, ST_SHAPE, "rows of %s and %s have %zu and %zu numbers; they must be equally long",
                         tensor_shape_text(&a->value, p), tensor_shape_text(&b->value, q), x.dim[2], y.dim[2]);
    if (x.dim[0] == 1 && y.dim[0] > 1) NODE_TRY(n, node_save(n, 0, n->type, 3, (size_t[]){batch, x.dim[1], x.dim[2]}));
    NODE_TRY(n, node_out_matrices(n, batch, x.dim[1], y.dim[1]));
    return node_run(n);
}
