/* depthwise - convolution of channels-last maps [n, h, w, c], each channel by a filter of its own, [c, 1, kh, kw], zeros
 * around the map: [n, (h + top + bottom - kh) / stride + 1, ..., c]. */
#include "ops/op.h"
#include "ops/ops.h"
#include "ops/steps.h"

status depthwise_ready(struct node *n, const struct conv_ready **out)
{
    const var *weight = n->in[1];
    status st = OK;
    *out = NULL;
    if (!weight->ready) return OK;
    if (!weight->ready->made) st = N_PRIM(n, depthwise_prepare, &weight->value, weight->ready);
    if (st == OK && weight->ready->memory) *out = weight->ready;
    return st;
}

static status depthwise_forward(struct node *n)
{
    struct depthwise_args a = {.x = &n->in[0]->value, .w = &n->in[1]->value};
    a.shape = *(const struct depthwise_shape *)n->attr;
    const status st = depthwise_ready(n, &a.ready);
    return st == OK ? N_PRIM(n, depthwise, &a, &n->out[0]->value) : st;
}

static status depthwise_backward(struct node *n)
{
    const struct depthwise_shape *s = n->attr;
    const tensor *dy = &n->out[0]->grad;
    tensor *dx = var_grad(n->in[0]), *dw = var_grad(n->in[1]);
    status st = tape_status(n->tape);
    if (st == OK && dw) st = N_PRIM(n, depthwise_grad_w, &n->in[0]->value, dy, *s, dw);
    if (st == OK && dx) st = N_PRIM(n, depthwise_grad_x, &n->in[1]->value, dy, *s, dx);
    return st;
}

size_t depthwise_steps(struct steps *to, size_t x, const tensor *weight, const struct depthwise_shape *s)
{
    const struct step_conv conv = {.weight = *weight,
                                   .stride = s->stride,
                                   .pad = {s->top, s->left, s->bottom, s->right},
                                   .groups = weight->dim[0]};
    return steps_conv(to, x, &conv);
}

static size_t depthwise_tell(const struct node *n, struct steps *to)
{
    return depthwise_steps(to, n->in[0]->step, &n->in[1]->value, n->attr);
}

const struct op depthwise_op = {
    .name = "depthwise", .forward = depthwise_forward, .backward = depthwise_backward, .tell = depthwise_tell};

/* NULL, or why x, weight and shape do not fit; rank 4 is known. */
static const char *misfit(const tensor *x, const tensor *w, const struct depthwise_shape *s)
{
    if (!s->stride) return "the stride must be at least 1";
    if (!w->dim[2] || !w->dim[3] || !x->dim[1] || !x->dim[2]) return "there is nothing to meet";
    if (w->dim[1] != 1 || x->dim[3] != w->dim[0]) return "there must be one filter for each channel";
    if (s->top >= w->dim[2] || s->bottom >= w->dim[2] || s->left >= w->dim[3] || s->right >= w->dim[3])
        return "a border must be narrower than the filter";
    if (x->dim[1] + s->top + s->bottom < w->dim[2] || x->dim[2] + s->left + s->right < w->dim[3])
        return "the filter is larger than the map with its border";
    return NULL;
}

bool depthwise_fits(struct node *n, const struct depthwise_shape *s, size_t dim[4])
{
    char a[SHAPE_TEXT], b[SHAPE_TEXT];
    const tensor *x = &n->in[0]->value, *w = &n->in[1]->value;
    const char *why = x->rank == 4 && w->rank == 4 ? misfit(x, w, s) : "they must be [n, h, w, c] and [c, 1, kh, kw]";
    if (why) {
        node_fail(n, ST_SHAPE, "maps %s and weights %s do not fit: %s", tensor_shape_text(x, a),
                  tensor_shape_text(w, b), why);
        return false;
    }
    dim[0] = x->dim[0];
    dim[1] = (x->dim[1] + s->top + s->bottom - w->dim[2]) / s->stride + 1;
    dim[2] = (x->dim[2] + s->left + s->right - w->dim[3]) / s->stride + 1;
    dim[3] = x->dim[3];
    return true;
}

var *op_depthwise(tape *t, var *x, var *weight, const struct depthwise_shape *s)
{
    size_t dim[4];
    struct node *n = node_new(t, &depthwise_op, 2, (var *[]){x, weight}, s, sizeof *s);
    if (!n || !depthwise_fits(n, s, dim)) return NULL;
    NODE_TRY(n, node_out(n, 4, dim));
    return node_run(n);
}
