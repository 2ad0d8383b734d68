/* walk_nll - the mutual walk's training loss: mean negative log likelihood of the labels' class masses.
 *
 * The loss is a single number, so its derivative is known before anything downstream runs, up to one factor. When
 * training, the forward sweep writes the features' gradients early, while each query's matrices are in the cache: straight
 * into the inputs' gradient buffers, which count as unwritten until backward multiplies them by that factor. If
 * somebody else needed a buffer meanwhile, backward computes the sweep again. */
#include "ops/walk_node.h"

/* The input's gradient buffer, if nobody uses it yet; *possible becomes false when the input needs one that is taken. */
static status claim(struct node *n, var *v, tensor **grad, bool *possible)
{
    status st = OK;
    *grad = NULL;
    if (!v->needs_grad) return OK;
    if (v->grad_is_written || v->early) {
        *possible = false;
        return OK;
    }
    if (!v->grad.data) st = tape_tensor(n->tape, v->value.type, v->value.rank, v->value.dim, &v->grad);
    *grad = &v->grad;
    return st;
}

static status walk_nll_forward(struct node *n)
{
    status st = OK;
    const struct walk_attr *a = n->attr;
    struct walk_args w = walk_node_args(n, true);
    bool possible = n->out[0]->needs_grad && n->in[0] != n->in[1]; /* two gradients cannot share a buffer */
    w.labels = &a->labels;
    w.loss = &n->out[0]->value;
    if (possible) {
        TRY(claim(n, n->in[0], &w.d_proto, &possible));
        TRY(claim(n, n->in[1], &w.d_query, &possible));
    }
    if (!possible) w.d_proto = w.d_query = NULL;
    TRY(N_PRIM(n, walk, &w));
    for (int i = 0; i < 2; i++)
        if (possible && n->in[i]->needs_grad) n->in[i]->early = n;
done:
    return st;
}

static bool still_early(const struct node *n)
{
    for (int i = 0; i < 2; i++)
        if (n->in[i]->needs_grad && (n->in[i]->early != n || n->in[i]->grad_is_written)) return false;
    return true;
}

static status scale_early(struct node *n)
{
    status st = OK;
    for (int i = 0; i < 2; i++) {
        bool fresh;
        tensor *grad = var_grad_write(n->in[i], &fresh);
        if (grad) TRY(N_PRIM(n, scale_by, &n->out[0]->grad, grad));
    }
done:
    return st;
}

static status walk_nll_backward(struct node *n)
{
    status st = OK;
    const struct walk_attr *a = n->attr;
    struct walk_args w = walk_node_args(n, false);
    tensor d[2];
    if (still_early(n)) return scale_early(n);
    w.labels = &a->labels;
    for (int i = 0; i < 2; i++)
        if (n->in[i]->needs_grad) TRY(tape_tensor(n->tape, n->type, 3, n->in[i]->value.dim, &d[i]));
    w.d_proto = n->in[0]->needs_grad ? &d[0] : NULL;
    w.d_query = n->in[1]->needs_grad ? &d[1] : NULL;
    TRY(N_PRIM(n, walk, &w));
    for (int i = 0; i < 2; i++) {
        tensor *grad = var_grad(n->in[i]);
        if (grad) TRY(N_PRIM(n, axpy_by, &n->out[0]->grad, &d[i], grad));
    }
    st = tape_status(n->tape);
done:
    return st;
}

const struct op walk_nll_op = {.name = "walk_nll", .forward = walk_nll_forward, .backward = walk_nll_backward};

var *op_walk_nll(tape *t, var *proto, var *query, const tensor *labels, const struct walk *w, unsigned want,
                 struct walk_vars *out)
{
    struct walk_attr attr = {.walk = *w, .want = want};
    *out = (struct walk_vars){0};
    if (labels) attr.labels = *labels;
    struct node *n = walk_node_new(t, &walk_nll_op, proto, query, &attr);
    if (!n || !node_labels(n, labels, query->value.dim[0])) return NULL;
    NODE_TRY(n, node_out(n, 0, NULL));
    NODE_TRY(n, walk_node_outputs(n));
    for (int i = 1; i < n->n_out; i++) n->out[i]->needs_grad = false; /* values only: differentiate op_walk's */
    if (!node_run(n)) return NULL;
    walk_node_result(n, out);
    return n->out[0];
}
