/* qr - a = q r, thin: a [m, n] with m >= n, q's columns orthonormal, r upper triangular with a diagonal >= 0.
 *
 * Backward needs r invertible. With M = r dr^T - dq^T q and copyltu(M) its lower triangle mirrored upwards,
 * da = (dq + q copyltu(M)) r^-T (Liao et al. 2019, "Differentiable programming tensor networks"). Entries of dr below
 * the diagonal do not take part. */
#include "ops/op.h"
#include "ops/ops.h"

/* An [n, n] mask on the device: 1 where the row is at least `below` under the column. */
static status lower_mask(struct node *n, size_t size, size_t below, tensor *out)
{
    void *host;
    status st = OK;
    TRY(tape_tensor(n->tape, n->type, 3, (size_t[]){1, size, size}, out));
    TRY(tape_host(n->tape, tensor_bytes(out), &host));
    for (size_t i = 0; i < size * size; i++) {
        const bool in = i / size >= i % size + below;
        if (n->type == DT_F32) ((float *)host)[i] = in;
        else ((double *)host)[i] = in;
    }
    TRY(n->dev->upload(n->dev, out->data, host, tensor_bytes(out)));
done:
    return st;
}

/* s = copyltu(m): the lower triangle, plus the strictly lower one transposed. m [batch, n, n]. */
static status mirror_lower(struct node *n, const tensor *m, tensor *s)
{
    static const int swap[3] = {0, 2, 1};
    tensor mask, part, flipped;
    status st = OK;
    TRY(tape_tensor(n->tape, n->type, 3, m->dim, s));
    TRY(tape_tensor(n->tape, n->type, 3, m->dim, &part));
    TRY(tape_tensor(n->tape, n->type, 3, m->dim, &flipped));
    TRY(lower_mask(n, m->dim[1], 0, &mask));
    TRY(N_PRIM(n, binary, BINARY_MUL, m, &mask, s));
    TRY(lower_mask(n, m->dim[1], 1, &mask));
    TRY(N_PRIM(n, binary, BINARY_MUL, m, &mask, &part));
    TRY(N_PRIM(n, permute, &part, swap, &flipped));
    TRY(N_PRIM(n, axpy, 1, &flipped, s));
done:
    return st;
}

/* x = b r^-T, from r x^T = b^T. */
static status divide_right(struct node *n, const tensor *b, const tensor *r, tensor *x)
{
    static const int swap[3] = {0, 2, 1};
    tensor flipped;
    status st = OK;
    TRY(tape_tensor(n->tape, n->type, 3, (size_t[]){b->dim[0], b->dim[2], b->dim[1]}, &flipped));
    TRY(N_PRIM(n, permute, b, swap, &flipped));
    TRY(N_PRIM(n, triangular_solve, true, false, r, &flipped, &flipped));
    TRY(tape_tensor(n->tape, n->type, 3, b->dim, x));
    TRY(N_PRIM(n, permute, &flipped, swap, x));
done:
    return st;
}

static status qr_forward(struct node *n)
{
    tensor a = tensor_matrices(&n->in[0]->value);
    tensor q = tensor_matrices(&n->out[0]->value), r = tensor_matrices(&n->out[1]->value);
    return N_PRIM(n, qr, &a, &q, &r);
}

static status qr_backward(struct node *n)
{
    const tensor *dqs = var_grad(n->out[0]), *drs = var_grad(n->out[1]); /* zero where nothing reached them */
    status st = OK;
    if (!dqs || !drs) return tape_status(n->tape);
    tensor q = tensor_matrices(&n->out[0]->value), r = tensor_matrices(&n->out[1]->value);
    tensor dq = tensor_matrices(dqs), dr = tensor_matrices(drs), m, s, sum, da;
    TRY(tape_tensor(n->tape, n->type, 3, r.dim, &m));
    TRY(N_PRIM(n, gemm, false, true, 1, &r, &dr, 0, &m));
    TRY(N_PRIM(n, gemm, true, false, -1, &dq, &q, 1, &m));
    TRY(mirror_lower(n, &m, &s));
    TRY(tape_tensor(n->tape, n->type, 3, q.dim, &sum));
    TRY(n->dev->copy(n->dev, sum.data, dq.data, tensor_bytes(&sum)));
    TRY(N_PRIM(n, gemm, false, false, 1, &q, &s, 1, &sum));
    TRY(divide_right(n, &sum, &r, &da));
    TRY(node_give(n, n->in[0], &da, 1));
done:
    return st;
}

const struct op qr_op = {.name = "qr", .forward = qr_forward, .backward = qr_backward};

var *op_qr(tape *t, var *a, var **r)
{
    char shape[SHAPE_TEXT];
    struct node *n = node_new(t, &qr_op, 1, &a, NULL, 0);
    if (!n) return NULL;
    const tensor *x = &a->value;
    if ((x->rank != 2 && x->rank != 3) || x->dim[x->rank - 2] < x->dim[x->rank - 1])
        return node_fail(n, ST_SHAPE, "the input has shape %s; it must be [m, n] with m >= n, or a batch of them",
                         tensor_shape_text(x, shape));
    tensor m = tensor_matrices(x);
    NODE_TRY(n, node_out_matrices(n, m.dim[0], m.dim[1], m.dim[2]));
    NODE_TRY(n, node_out_matrices(n, m.dim[0], m.dim[2], m.dim[2]));
    if (!node_run(n)) return NULL;
    *r = n->out[1];
    return n->out[0];
}
