/* pad - zeros around maps: [..., h, w] to [..., top + h + bottom, left + w + right]. */
#include "ops/op.h"
#include "ops/ops.h"
#include "ops/steps.h"

struct sizes {
    size_t planes, h, w, high, wide; /* before and after */
};

static struct sizes sizes_of(const struct node *n)
{
    const tensor *x = &n->in[0]->value, *y = &n->out[0]->value;
    const int rank = x->rank;
    return (struct sizes){tensor_span(x, 0, rank - 2), x->dim[rank - 2], x->dim[rank - 1], y->dim[rank - 2],
                          y->dim[rank - 1]};
}

/* Rows first get their ends, [planes * h, wide]; then the planes theirs. */
static status pad_forward(struct node *n)
{
    const struct pad *p = n->attr;
    const struct sizes s = sizes_of(n);
    tensor *y = &n->out[0]->value, *rows = &n->saved[0];
    status st = OK;
    TRY(N_PRIM(n, fill, 0, rows));
    TRY(N_PRIM(n, copy_slices, &n->in[0]->value, 0, s.w, s.planes * s.h, s.w, s.wide, p->left, false, rows));
    TRY(N_PRIM(n, fill, 0, y));
    TRY(N_PRIM(n, copy_slices, rows, 0, s.h * s.wide, s.planes, s.h * s.wide, s.high * s.wide, p->top * s.wide, false,
               y));
done:
    return st;
}

static status pad_backward(struct node *n)
{
    const struct pad *p = n->attr;
    const struct sizes s = sizes_of(n);
    tensor *rows = &n->saved[0], *dx = var_grad(n->in[0]);
    status st = tape_status(n->tape);
    if (!dx || st != OK) return st;
    TRY(N_PRIM(n, copy_slices, &n->out[0]->grad, p->top * s.wide, s.high * s.wide, s.planes, s.h * s.wide, s.h * s.wide,
               0, false, rows));
    TRY(N_PRIM(n, copy_slices, rows, p->left, s.wide, s.planes * s.h, s.w, s.w, 0, true, dx));
done:
    return st;
}

static size_t pad_tell(const struct node *n, struct steps *to)
{
    const struct pad *p = n->attr;
    if (n->in[0]->value.rank != 4) return steps_fail(to, "only maps [n, c, h, w] can be padded");
    return steps_pad(to, n->in[0]->step, (size_t[]){p->top, p->left, p->bottom, p->right});
}

const struct op pad_op = {.name = "pad", .forward = pad_forward, .backward = pad_backward, .tell = pad_tell};

var *op_pad(tape *t, var *x, const struct pad *p)
{
    char shape[SHAPE_TEXT];
    size_t dim[MAX_RANK];
    struct node *n = node_new(t, &pad_op, 1, &x, p, sizeof *p);
    if (!n) return NULL;
    const tensor *v = &x->value;
    if (v->rank < 2 || !tensor_count(v) || p->top > MOST_PAD || p->left > MOST_PAD || p->bottom > MOST_PAD ||
        p->right > MOST_PAD)
        return node_fail(n, ST_SHAPE,
                         "the input has shape %s; it must be [..., h, w], not empty, and borders at most %d",
                         tensor_shape_text(v, shape), MOST_PAD);
    for (int i = 0; i < v->rank; i++) dim[i] = v->dim[i];
    dim[v->rank - 1] += p->left + p->right;
    NODE_TRY(n, node_save(n, 0, n->type, v->rank, dim));
    dim[v->rank - 2] += p->top + p->bottom;
    NODE_TRY(n, node_out(n, v->rank, dim));
    return node_run(n);
}
