/* conv2d - cross-correlation of channels-last maps [n, h, w, in] with weights [out, in, kh, kw], zeros around the map:
 * [n, (h + 2 pad - kh) / stride + 1, ..., out]. */
#include "base/size.h"
#include "ops/op.h"
#include "ops/ops.h"
#include "ops/steps.h"

struct attr {
    struct conv_shape s;
    struct conv_ready kept; /* what forward made of the weights for the way back; its memory is the tape's */
};

status conv_ready(struct node *n, const tensor *maps, struct conv_shape s, const struct conv_ready **out)
{
    const var *weight = n->in[1];
    status st = OK;
    *out = NULL;
    if (!weight->ready) return OK;
    if (!weight->ready->made) st = N_PRIM(n, conv2d_prepare, maps, &weight->value, s, weight->ready);
    if (st == OK && weight->ready->memory) *out = weight->ready;
    return st;
}

/* Whether the weights' form is of use twice. */
static bool keeps(const struct node *n)
{
    return n->maps == DT_BF16 && n->in[0]->needs_grad && tape_get_mode(n->tape) == TAPE_TRAINING;
}

static status keep(struct node *n, struct conv_shape s, struct conv_ready *kept, const struct conv_ready **out)
{
    *kept = (struct conv_ready){.memory = n->saved[0].data};
    const status st = N_PRIM(n, conv2d_prepare, &n->in[0]->value, &n->in[1]->value, s, kept);
    *out = kept->memory ? kept : NULL;
    return st;
}

static status conv2d_forward(struct node *n)
{
    struct attr *a = n->attr;
    struct conv_affine_args ready = {.x = &n->in[0]->value, .w = &n->in[1]->value, .shape = a->s};
    const status st = keeps(n) ? keep(n, a->s, &a->kept, &ready.ready) : conv_ready(n, ready.x, a->s, &ready.ready);
    if (st != OK) return st;
    if (ready.ready) return N_PRIM(n, conv2d_affine, &ready, &n->out[0]->value);
    return N_PRIM(n, conv2d, &n->in[0]->value, &n->in[1]->value, a->s, &n->out[0]->value);
}

static status conv2d_backward(struct node *n)
{
    const struct attr *a = n->attr;
    const struct conv_ready *kept = a->kept.memory ? &a->kept : NULL;
    const tensor *dy = &n->out[0]->grad;
    bool fresh = false;
    tensor *dx = var_grad_write(n->in[0], &fresh), *dw = var_grad(n->in[1]);
    status st = tape_status(n->tape);
    if (st == OK && dw) st = N_PRIM(n, conv2d_grad_w, &n->in[0]->value, dy, a->s, dw);
    if (st == OK && dx) st = N_PRIM(n, conv2d_grad_x, &n->in[1]->value, kept, dy, a->s, !fresh, dx);
    return st;
}

static size_t conv2d_tell(const struct node *n, struct steps *to)
{
    const struct attr *a = n->attr;
    const struct step_conv conv = {
        .weight = n->in[1]->value, .stride = a->s.stride, .pad = {a->s.pad, a->s.pad, a->s.pad, a->s.pad}, .groups = 1};
    return steps_conv(to, n->in[0]->step, &conv);
}

const struct op conv2d_op = {
    .name = "conv2d", .forward = conv2d_forward, .backward = conv2d_backward, .takes_bf16 = true, .tell = conv2d_tell};

/* NULL, or why x and weight do not fit; rank 4 is known. */
static const char *misfit(const tensor *x, const tensor *weight, struct conv_shape s)
{
    for (int i = 0; i < 4; i++)
        if (!weight->dim[i]) return "the weights are empty";
    if (x->dim[3] != weight->dim[1]) return "the numbers of channels differ";
    if (x->dim[1] + 2 * s.pad < weight->dim[2] || x->dim[2] + 2 * s.pad < weight->dim[3])
        return "the filter is larger than the map with its border";
    return NULL;
}

bool conv_fits(struct node *n, const tensor *maps, struct conv_shape s, size_t dim[4])
{
    char a[SHAPE_TEXT], b[SHAPE_TEXT];
    const tensor *v = maps, *w = &n->in[1]->value;
    if (!s.stride || s.pad > MOST_PAD) {
        node_fail(n, ST_USAGE, "stride %zu and border %zu; the stride must be at least 1, the border at most %d",
                  s.stride, s.pad, MOST_PAD);
        return false;
    }
    if (v->rank != 4 || w->rank != 4) {
        node_fail(n, ST_SHAPE, "shapes %s and %s; they must be [n, h, w, in] and [out, in, kh, kw]",
                  tensor_shape_text(v, a), tensor_shape_text(w, b));
        return false;
    }
    const char *why = w->type == n->type ? misfit(v, w, s) : "only maps may be bf16";
    if (why) {
        node_fail(n, ST_SHAPE, "maps %s and weights %s do not fit: %s", tensor_shape_text(v, a),
                  tensor_shape_text(w, b), why);
        return false;
    }
    dim[0] = v->dim[0];
    dim[1] = (v->dim[1] + 2 * s.pad - w->dim[2]) / s.stride + 1;
    dim[2] = (v->dim[2] + 2 * s.pad - w->dim[3]) / s.stride + 1;
    dim[3] = w->dim[0];
    return true;
}

var *op_conv2d(tape *t, var *x, var *weight, size_t stride, size_t pad)
{
    size_t dim[4];
    const struct attr a = {.s = {stride, pad}};
    struct node *n = node_new(t, &conv2d_op, 2, (var *[]){x, weight}, &a, sizeof a);
    if (!n || !conv_fits(n, &x->value, a.s, dim)) return NULL;
    NODE_TRY(n, node_out_maps(n, 4, dim));
    const size_t *w = weight->value.dim, form[4] = {w[0], w[2], w[3], size_round_up(w[1], 8)};
    if (keeps(n)) NODE_TRY(n, node_save(n, 0, DT_BF16, 4, form));
    return node_run(n);
}
