/* rgb_norm - a first layer in training: convolution of pictures, batch norm, a leaky activation and 2x2 pooling as one.
 *
 * The convolution's results are the largest map of a network, and the cheapest to make. Their statistics follow from those of
 * the pictures, so that the way forward writes nothing but what is pooled, and the way back makes them again, a few rows at a
 * time. The scale of the norm is multiplied into the filters, for both ways alike. */
#include "ops/norm.h"
#include "ops/ops.h"

struct attr {
    struct norm_running of;
    size_t pad;
    double slope;
};

enum { MOMENTS, MEAN, VARIANCE, SCALED, SHIFT, SCALE }; /* saved */

bool op_rgb_norm_offered(const tape *t, const var *x, const tensor *weight)
{
    const tensor *v = &x->value;
    if (v->type >= DT_REALS || v->type != weight->type || v->rank != 4 || x->needs_grad || tape_peers(t)) return false;
    if (weight->rank != 4 || weight->dim[1] != 3 || weight->dim[2] != 3 || weight->dim[3] != 3) return false;
    return tape_device(t)->prim[v->type].rgb_norm_grad != NULL;
}

/* Filters times the norm's scale, and its shift. */
static status fold(struct node *n, const struct attr *a)
{
    status st = OK;
    tensor *scale = &n->saved[SCALE];
    const tensor column = tensor_view(scale, 4, (size_t[]){scale->dim[0], 1, 1, 1});
    TRY(N_PRIM(n, batch_fold, &n->saved[MEAN], &n->saved[VARIANCE], &n->in[2]->value, &n->in[3]->value, a->of.epsilon,
               scale, &n->saved[SHIFT]));
    TRY(N_PRIM(n, binary, BINARY_MUL, &n->in[1]->value, &column, &n->saved[SCALED]));
    TRY(N_PRIM(n, fill, 1, scale)); /* there is nothing left of it */
done:
    return st;
}

static status rgb_norm_forward(struct node *n)
{
    struct attr *a = n->attr;
    status st = OK;
    const tensor *x = &n->in[0]->value;
    const double m = (double)(x->dim[0] * (x->dim[1] + 2 * a->pad - 2) * (x->dim[2] + 2 * a->pad - 2));
    const struct conv_affine_args args = {.x = x,
                                          .w = &n->saved[SCALED],
                                          .shape = {1, a->pad},
                                          .scale = &n->saved[SCALE],
                                          .shift = &n->saved[SHIFT],
                                          .slope = a->slope,
                                          .pool = true};
    TRY(N_PRIM(n, rgb_stats, x, &n->in[1]->value, a->pad, &n->saved[MOMENTS], &n->saved[MEAN], &n->saved[VARIANCE]));
    TRY(N_PRIM(n, batch_running, &n->saved[MEAN], &n->saved[VARIANCE], a->of.momentum, m / (m - 1), &a->of.mean,
               &a->of.variance));
    TRY(fold(n, a));
    TRY(N_PRIM(n, conv2d_affine, &args, &n->out[0]->value));
done:
    return st;
}

static status rgb_norm_backward(struct node *n)
{
    const struct attr *a = n->attr;
    const struct rgb_norm_args args = {.x = &n->in[0]->value,
                                       .w = &n->in[1]->value,
                                       .pad = a->pad,
                                       .moments = &n->saved[MOMENTS],
                                       .mean = &n->saved[MEAN],
                                       .variance = &n->saved[VARIANCE],
                                       .gain = &n->in[2]->value,
                                       .scaled = &n->saved[SCALED],
                                       .shift = &n->saved[SHIFT],
                                       .epsilon = a->of.epsilon,
                                       .slope = a->slope};
    const struct rgb_norm_grads to = {var_grad(n->in[1]), var_grad(n->in[2]), var_grad(n->in[3])};
    const status st = tape_status(n->tape);
    return st == OK ? N_PRIM(n, rgb_norm_grad, &args, &n->out[0]->grad, &to) : st;
}

const struct op rgb_norm_op = {.name = "rgb_norm", .forward = rgb_norm_forward, .backward = rgb_norm_backward};

static bool fits(struct node *n, const struct attr *a, const size_t dim[4])
{
    char text[SHAPE_TEXT];
    const tensor *of[] = {&n->in[2]->value, &n->in[3]->value, &a->of.mean, &a->of.variance};
    static const char *const names[] = {"gain", "bias", "running mean", "running variance"};
    for (int i = 0; i < 4; i++) {
        if (of[i]->type == n->type && of[i]->rank == 1 && of[i]->dim[0] == dim[3]) continue;
        node_fail(n, ST_SHAPE, "the %s is %s %s; there are %zu channels of %s", names[i], dtype_name(of[i]->type),
                  tensor_shape_text(of[i], text), dim[3], dtype_name(n->type));
        return false;
    }
    if (dim[0] && dim[1] >= 2 && dim[2] >= 2 && a->slope >= 0) return true;
    node_fail(n, ST_SHAPE, "%zu maps of %zu x %zu and slope %g; pooling needs 2 x 2, and no slope is negative", dim[0],
              dim[1], dim[2], a->slope);
    return false;
}

var *op_rgb_norm(tape *t, var *x, var *weight, const struct batch_norm *bn, size_t pad, double slope)
{
    size_t dim[4];
    var *gain = tape_param(t, bn->gain), *bias = tape_param(t, bn->bias);
    if (!x || !weight || !gain || !bias || !tape_param(t, bn->mean) || !tape_param(t, bn->variance)) return NULL;
    const struct attr a = {{bn->mean->value, bn->variance->value, bn->momentum, bn->epsilon, true}, pad, slope};
    struct node *n = node_new(t, &rgb_norm_op, 4, (var *[]){x, weight, gain, bias}, &a, sizeof a);
    if (!n) return NULL;
    if (!op_rgb_norm_offered(t, x, &weight->value))
        return node_fail(n, ST_USAGE,
                         "it is for constant pictures and 3x3 filters of three colours; use the convolution and "
                         "norm_act_pool");
    if (!conv_fits(n, &x->value, (struct conv_shape){1, pad}, dim) || !fits(n, &a, dim)) return NULL;
    NODE_TRY(n, node_out(n, 4, (size_t[]){dim[0], dim[1] / 2, dim[2] / 2, dim[3]}));
    NODE_TRY(n, node_save(n, MOMENTS, DT_F64, 2, (size_t[]){RGB_PATCH + 1, RGB_PATCH}));
    NODE_TRY(n, node_save(n, SCALED, n->type, 4, weight->value.dim));
    for (int i = MEAN; i <= VARIANCE; i++) NODE_TRY(n, node_save(n, i, n->type, 1, &dim[3]));
    for (int i = SHIFT; i <= SCALE; i++) NODE_TRY(n, node_save(n, i, n->type, 1, &dim[3]));
    return node_run(n);
}
