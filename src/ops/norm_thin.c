/* norm_thin - the end of a network's first residual block in inference: norm(x) + norm(pictures by w), a leaky activation and
 * 2x2 pooling.
 *
 * The shortcut of pictures has 64 numbers a pixel for 3 of the picture: where the block's end is bound by memory, it is
 * cheaper made again than stored and fetched. */
#include "ops/op.h"
#include "ops/ops.h"

enum { X, GAIN, BIAS, PICTURES, W, SIDE_GAIN, SIDE_BIAS, INPUTS, COLOURS = 3 };

struct attr {
    tensor mean[2], variance[2];
    double epsilon[2], slope;
};

static status norm_thin_forward(struct node *n)
{
    const struct attr *a = n->attr;
    struct norm_act_args args = {.slope = a->slope, .pool = true};
    for (int i = 0; i < 2; i++)
        args.of[i] = (struct norm_input){.x = &n->in[i ? PICTURES : X]->value,
                                         .w = i ? &n->in[W]->value : NULL,
                                         .mean = &a->mean[i],
                                         .variance = &a->variance[i],
                                         .gain = &n->in[i ? SIDE_GAIN : GAIN]->value,
                                         .bias = &n->in[i ? SIDE_BIAS : BIAS]->value,
                                         .epsilon = a->epsilon[i]};
    return N_PRIM(n, norm_act_pool, &args, &n->out[0]->value);
}

const struct op norm_thin_op = {
    .name = "norm_thin", .forward = norm_thin_forward, .backward = NULL, .takes_bf16 = true};

static bool is_vector(const tensor *v, size_t of) { return v->type == DT_F32 && v->rank == 1 && v->dim[0] == of; }

static const char *misfit(const struct node *n, const struct attr *a)
{
    const tensor *x = &n->in[X]->value, *p = &n->in[PICTURES]->value, *w = &n->in[W]->value;
    if (tape_get_mode(n->tape) != TAPE_INFERENCE) return "it has no way back; use an inference tape";
    if (x->type != DT_BF16 || p->type != DT_BF16) return "maps must be bf16";
    if (x->rank != 4 || p->rank != 4 || p->dim[3] != COLOURS)
        return "it needs maps [n, h, w, c] and pictures [n, h, w, 3]";
    for (int i = 0; i < 3; i++)
        if (p->dim[i] != x->dim[i]) return "the pictures do not have the map's size";
    if (x->dim[1] < 2 || x->dim[2] < 2) return "pooling needs h and w of at least 2";
    if (w->rank != 4 || w->dim[0] != x->dim[3] || w->dim[1] != COLOURS || w->dim[2] != 1 || w->dim[3] != 1)
        return "the filters must be [c, 3, 1, 1]";
    for (int i = 0; i < 2; i++)
        if (!is_vector(&n->in[i ? SIDE_GAIN : GAIN]->value, x->dim[3]) ||
            !is_vector(&n->in[i ? SIDE_BIAS : BIAS]->value, x->dim[3]) || !is_vector(&a->mean[i], x->dim[3]) ||
            !is_vector(&a->variance[i], x->dim[3]))
            return "a norm does not have one number for each channel";
    return a->slope >= 0 ? NULL : "the slope must not be negative";
}

var *op_norm_thin(tape *t, var *x, const struct batch_norm *bn, var *pictures, var *w,
                  const struct batch_norm *residual_bn, double slope)
{
    const struct batch_norm *norm[] = {bn, residual_bn};
    var *in[INPUTS] = {[X] = x, [PICTURES] = pictures, [W] = w};
    struct attr a = {.slope = slope};
    for (int i = 0; i < 2; i++) {
        in[i ? SIDE_GAIN : GAIN] = tape_param(t, norm[i]->gain);
        in[i ? SIDE_BIAS : BIAS] = tape_param(t, norm[i]->bias);
        if (!tape_param(t, norm[i]->mean) || !tape_param(t, norm[i]->variance)) return NULL;
        a.mean[i] = norm[i]->mean->value;
        a.variance[i] = norm[i]->variance->value;
        a.epsilon[i] = norm[i]->epsilon;
    }
    for (int i = 0; i < INPUTS; i++)
        if (!in[i]) return NULL;
    struct node *n = node_new(t, &norm_thin_op, INPUTS, in, &a, sizeof a);
    if (!n) return NULL;
    const char *why = misfit(n, &a);
    if (why) return node_fail(n, ST_SHAPE, "%s", why);
    const size_t *dim = x->value.dim;
    NODE_TRY(n, node_out_maps(n, 4, (size_t[]){dim[0], dim[1] / 2, dim[2] / 2, dim[3]}));
    return node_run(n);
}
