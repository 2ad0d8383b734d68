/* clip - x, but not below one bound or above another: relu6 is op_clip(t, x, 0, 6). */
#include "ops/op.h"
#include "ops/ops.h"
#include "ops/steps.h"

struct bounds {
    double low, high;
};

static status clip_forward(struct node *n)
{
    const struct bounds *b = n->attr;
    return N_PRIM(n, clip, &n->in[0]->value, b->low, b->high, &n->out[0]->value);
}

static status clip_backward(struct node *n)
{
    const struct bounds *b = n->attr;
    tensor *dx = var_grad(n->in[0]);
    return dx ? N_PRIM(n, clip_grad, &n->in[0]->value, &n->out[0]->grad, b->low, b->high, dx) : tape_status(n->tape);
}

static size_t clip_tell(const struct node *n, struct steps *to)
{
    const struct bounds *b = n->attr;
    return steps_clip(to, n->in[0]->step, b->low, b->high);
}

const struct op clip_op = {.name = "clip", .forward = clip_forward, .backward = clip_backward, .tell = clip_tell};

var *op_clip(tape *t, var *x, double low, double high)
{
    const struct bounds b = {low, high};
    struct node *n = node_new(t, &clip_op, 1, &x, &b, sizeof b);
    if (!n) return NULL;
    if (!(low <= high))
        return node_fail(n, ST_USAGE, "the bounds are %g and %g; the first must not be above", low, high);
    NODE_TRY(n, node_out_like(n, &x->value));
    return node_run(n);
}
