/* matmul - matrix products, batched, either factor transposed: c = op(a) op(b).
 *
 * When every matrix of a (not transposed) meets the same b, the batch is folded into a's rows: one large product
 * forward, and one without a sum over the batch backward. Where a is transposed, backward turns it around for the same. */
#include "ops/op.h"
#include "ops/ops.h"

struct matmul {
    bool ta, tb;
};

/* The factors as the primitive sees them, and c or dc likewise. */
static void matmul_views(const struct node *n, const tensor *out, tensor *a, tensor *b, tensor *c)
{
    const struct matmul *m = n->attr;
    *a = tensor_matrices(&n->in[0]->value);
    *b = tensor_matrices(&n->in[1]->value);
    *c = tensor_matrices(out);
    if (m->ta || b->dim[0] != 1) return;
    *a = tensor_fold_rows(a);
    *c = tensor_fold_rows(c);
}

static status matmul_forward(struct node *n)
{
    const struct matmul *m = n->attr;
    tensor a, b, c;
    matmul_views(n, &n->out[0]->value, &a, &b, &c);
    return N_PRIM(n, gemm, m->ta, m->tb, 1, &a, &b, 0, &c);
}

/* A b that all transposed a share: the sum over the batch is one product of a's columns as rows. */
static status give_shared(struct node *n, const tensor *a, const tensor *dc)
{
    const struct matmul *m = n->attr;
    tensor rows, d = tensor_fold_rows(dc);
    status st = OK;
    if (!n->in[1]->needs_grad) return OK;
    TRY(tape_tensor(n->tape, n->type, 3, (size_t[]){a->dim[0], a->dim[2], a->dim[1]}, &rows));
    TRY(N_PRIM(n, permute, a, (int[]){0, 2, 1}, &rows));
    rows = tensor_fold_rows(&rows);
    TRY(m->tb ? node_give_product(n, n->in[1], true, false, 1, &d, &rows)
              : node_give_product(n, n->in[1], true, false, 1, &rows, &d));
done:
    return st;
}

static status matmul_backward(struct node *n)
{
    const struct matmul *m = n->attr;
    tensor a, b, dc;
    status st = OK;
    matmul_views(n, &n->out[0]->grad, &a, &b, &dc);
    if (m->ta) TRY(node_give_product(n, n->in[0], m->tb, true, 1, &b, &dc));
    else TRY(node_give_product(n, n->in[0], false, !m->tb, 1, &dc, &b));
    if (m->ta && a.dim[0] > 1 && b.dim[0] == 1) TRY(give_shared(n, &a, &dc));
    else if (m->tb) TRY(node_give_product(n, n->in[1], true, m->ta, 1, &dc, &a));
    else TRY(node_give_product(n, n->in[1], !m->ta, false, 1, &a, &dc));
done:
    return st;
}

const struct op matmul_op = {.name = "matmul", .forward = matmul_forward, .backward = matmul_backward};

var *op_matmul(tape *t, var *a, bool ta, var *b, bool tb)
{
    char p[SHAPE_TEXT], q[SHAPE_TEXT];
    size_t batch;
    struct node *n = node_new(t, &matmul_op, 2, (var *[]){a, b}, &(struct matmul){ta, tb}, sizeof(struct matmul));
    if (!n || !node_batch(n, &batch)) return NULL;
    tensor x = tensor_matrices(&a->value), y = tensor_matrices(&b->value);
    if (x.dim[ta ? 1 : 2] != y.dim[tb ? 2 : 1])
        return node_fail(n, ST_SHAPE, "shapes %s%s and %s%s do not multiply: the inner sizes are %zu and %zu",
                         tensor_shape_text(&a->value, p), ta ? " transposed" : "", tensor_shape_text(&b->value, q),
                         tb ? " transposed" : "", x.dim[ta ? 1 : 2], y.dim[tb ? 2 : 1]);
    NODE_TRY(n, node_out_matrices(n, batch, x.dim[ta ? 2 : 1], y.dim[tb ? 1 : 2]));
    return node_run(n);
}
