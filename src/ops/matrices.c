/* matrices.c - the shape rules and gradients that the matrix ops share: a missing or unit batch stretches. */
#include "ops/op.h"

tensor tensor_matrices(const tensor *x)
{
    return x->rank == 3 ? *x : tensor_view(x, 3, (size_t[]){1, x->dim[0], x->dim[1]});
}

tensor tensor_fold_rows(const tensor *x) { return tensor_view(x, 3, (size_t[]){1, x->dim[0] * x->dim[1], x->dim[2]}); }

/* Of two batches that are equal or 1. */
static size_t common_batch(size_t a, size_t b) { return a == 1 ? b : a; }

bool node_batch(struct node *n, size_t *batch)
{
    char a[SHAPE_TEXT], b[SHAPE_TEXT];
    size_t size[2];
    for (int i = 0; i < 2; i++) {
        const tensor *x = &n->in[i]->value;
        if (x->rank != 2 && x->rank != 3) {
            node_fail(n, ST_SHAPE, "input %d has shape %s; it must be a matrix or a batch of them", i + 1,
                      tensor_shape_text(x, a));
            return false;
        }
        size[i] = x->rank == 3 ? x->dim[0] : 1;
    }
    if (size[0] != size[1] && size[0] != 1 && size[1] != 1) {
        node_fail(n, ST_SHAPE, "the batches of %s and %s differ; they must be equal or 1",
                  tensor_shape_text(&n->in[0]->value, a), tensor_shape_text(&n->in[1]->value, b));
        return false;
    }
    *batch = common_batch(size[0], size[1]);
    return true;
}

status node_out_matrices(struct node *n, size_t batch, size_t m, size_t k)
{
    size_t dim[3] = {batch, m, k};
    int rank = 2;
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i]->value.rank == 3) rank = 3;
    return node_out(n, rank, dim + 3 - rank);
}

bool node_system(struct node *n)
{
    char p[SHAPE_TEXT], q[SHAPE_TEXT];
    size_t batch;
    if (!node_batch(n, &batch)) return false;
    tensor a = tensor_matrices(&n->in[0]->value), b = tensor_matrices(&n->in[1]->value);
    if (a.dim[1] != a.dim[2] || b.dim[1] != a.dim[1]) {
        node_fail(n, ST_SHAPE, "shapes %s and %s are no system of equations; they must be [n, n] and [n, k]",
                  tensor_shape_text(&n->in[0]->value, p), tensor_shape_text(&n->in[1]->value, q));
        return false;
    }
    status st = node_out_matrices(n, batch, b.dim[1], b.dim[2]);
    if (st != OK) tape_fail(n->tape, st);
    return st == OK;
}

status node_give_product(struct node *n, var *v, bool ta, bool tb, double alpha, const tensor *a, const tensor *b)
{
    if (!v->needs_grad) return OK;
    size_t dim[3] = {common_batch(a->dim[0], b->dim[0]), a->dim[ta ? 2 : 1], b->dim[tb ? 1 : 2]};
    if (dim[0] * dim[1] * dim[2] == tensor_count(&v->value)) {
        bool fresh;
        tensor *grad = var_grad_write(v, &fresh);
        if (!grad) return tape_status(n->tape);
        tensor to = tensor_view(grad, 3, dim);
        return N_PRIM(n, gemm, ta, tb, alpha, a, b, fresh ? 0 : 1, &to);
    }
    tensor each;
    status st = tape_tensor(n->tape, n->type, 3, dim, &each);
    if (st == OK) st = N_PRIM(n, gemm, ta, tb, alpha, a, b, 0, &each);
    return st == OK ? node_give(n, v, &each, 1) : st;
}
