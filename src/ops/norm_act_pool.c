/* norm_act_pool - batch norm, a residual with its own batch norm added, a leaky activation, 2x2 pooling: in one pass.
 *
 * Nothing but the statistics is kept for the way back: what is in between is computed again from the inputs. */
#include "ops/norm.h"
#include "ops/ops.h"
#include "ops/steps.h"

struct attr {
    struct norm_running of[2];
    double slope;
    bool pool;
};

/* Inputs: x, gain, bias, then the same of the residual. saved: mean and variance of each. */
static bool has_residual(const struct node *n) { return n->n_in > 3; }

static struct norm_act_args args_of(const struct node *n)
{
    const struct attr *a = n->attr;
    struct norm_act_args out = {.slope = a->slope, .pool = a->pool};
    for (int i = 0; i < (has_residual(n) ? 2 : 1); i++)
        out.of[i] = (struct norm_input){.x = &n->in[3 * i]->value,
                                        .mean = &n->saved[2 * i],
                                        .variance = &n->saved[2 * i + 1],
                                        .gain = &n->in[3 * i + 1]->value,
                                        .bias = &n->in[3 * i + 2]->value,
                                        .epsilon = a->of[i].epsilon};
    return out;
}

static status norm_act_pool_forward(struct node *n)
{
    struct attr *a = n->attr;
    status st = OK;
    for (int i = 0; i < (has_residual(n) ? 2 : 1) && st == OK; i++)
        st = norm_statistics(n, &n->in[3 * i]->value, &a->of[i], &n->saved[2 * i], &n->saved[2 * i + 1]);
    if (st != OK) return st;
    const struct norm_act_args args = args_of(n);
    return N_PRIM(n, norm_act_pool, &args, &n->out[0]->value);
}

/* The batch lies on several processes: the device takes the statistics for constants, and the rest comes after it. */
static status shared_backward(struct node *n, const struct norm_act_args *args, const struct norm_act_grads *to)
{
    struct norm_act_grads own = *to;
    tensor sums[4];
    status st = OK;
    const int norms = has_residual(n) ? 2 : 1;
    if (n->maps != n->type)
        return fail(ST_UNSUPPORTED, "batch norms over processes are not there for bf16; use --maths f32 or tf32");
    for (int i = 0; i < 2 * norms; i++) {
        TRY(tape_tensor(n->tape, n->type, 1, args->of[i / 2].gain->dim, &sums[i]));
        TRY(n->dev->zero(n->dev, sums[i].data, tensor_bytes(&sums[i])));
        *(i % 2 ? &own.of[i / 2].bias : &own.of[i / 2].gain) = &sums[i];
    }
    TRY(N_PRIM(n, norm_act_pool_grad, args, false, &n->out[0]->grad, &own));
    for (int i = 0; i < norms; i++) {
        TRY(norm_sync_gradient(n, &args->of[i], &sums[2 * i], &sums[2 * i + 1], to->of[i].x));
        if (to->of[i].gain) TRY(N_PRIM(n, axpy, 1, &sums[2 * i], to->of[i].gain));
        if (to->of[i].bias) TRY(N_PRIM(n, axpy, 1, &sums[2 * i + 1], to->of[i].bias));
    }
done:
    return st;
}

static status norm_act_pool_backward(struct node *n)
{
    const struct attr *a = n->attr;
    const struct norm_act_args args = args_of(n);
    struct norm_act_grads to = {0};
    for (int i = 0; i < (has_residual(n) ? 2 : 1); i++) {
        bool fresh = false;
        to.of[i].x = var_grad_write(n->in[3 * i], &fresh);
        to.of[i].add = !fresh;
        to.of[i].gain = var_grad(n->in[3 * i + 1]);
        to.of[i].bias = var_grad(n->in[3 * i + 2]);
    }
    const status st = tape_status(n->tape);
    if (st != OK) return st;
    if (a->of[0].batch && norm_shared(n)) return shared_backward(n, &args, &to);
    return N_PRIM(n, norm_act_pool_grad, &args, a->of[0].batch, &n->out[0]->grad, &to);
}

static size_t norm_act_pool_tell(const struct node *n, struct steps *to)
{
    const struct attr *a = n->attr;
    const struct norm_act_args args = args_of(n);
    size_t x = steps_norm(to, n->in[0]->step, &args.of[0]);
    if (has_residual(n)) x = steps_add(to, x, steps_norm(to, n->in[3]->step, &args.of[1]));
    x = steps_leaky_relu(to, x, a->slope);
    return a->pool ? steps_max_pool(to, x, &(struct pool_shape){.size = 2, .stride = 2}) : x;
}

const struct op norm_act_pool_op = {.name = "norm_act_pool",
                                    .forward = norm_act_pool_forward,
                                    .backward = norm_act_pool_backward,
                                    .takes_bf16 = true,
                                    .tell = norm_act_pool_tell};

static struct norm_running running_of(const struct batch_norm *bn, bool batch)
{
    return (struct norm_running){bn->mean->value, bn->variance->value, bn->momentum, bn->epsilon, batch};
}

/* gain and bias as inputs; false when a parameter is missing. */
static bool add_norm(tape *t, const struct batch_norm *bn, var *x, var **in)
{
    in[0] = x;
    in[1] = tape_param(t, bn->gain);
    in[2] = tape_param(t, bn->bias);
    return x && in[1] && in[2] && tape_param(t, bn->mean) && tape_param(t, bn->variance);
}

static bool fits(struct node *n, const struct attr *a)
{
    char one[SHAPE_TEXT], other[SHAPE_TEXT];
    const tensor *x = &n->in[0]->value;
    const char *why = NULL;
    if (!norm_fits(n, 0, &a->of[0]) || (has_residual(n) && !norm_fits(n, 3, &a->of[1]))) return false;
    if (has_residual(n) && (!tensor_same_shape(x, &n->in[3]->value) || x->type != n->in[3]->value.type)) {
        node_fail(n, ST_SHAPE, "the input is %s %s and the residual %s %s; they must be alike", dtype_name(x->type),
                  tensor_shape_text(x, one), dtype_name(n->in[3]->value.type),
                  tensor_shape_text(&n->in[3]->value, other));
        return false;
    }
    if (!(a->slope >= 0)) why = "the slope must not be negative";
    if (a->pool && (x->rank != 4 || x->dim[1] < 2 || x->dim[2] < 2))
        why = "pooling needs [n, h, w, c] with h and w at least 2";
    if (!why) return true;
    node_fail(n, ST_SHAPE, "the input has shape %s, the slope is %g: %s", tensor_shape_text(x, one), a->slope, why);
    return false;
}

var *op_norm_act_pool(tape *t, var *x, const struct batch_norm *bn, var *residual, const struct batch_norm *residual_bn,
                      const struct norm_act *how)
{
    var *in[6];
    const int inputs = residual_bn ? 6 : 3;
    if (!add_norm(t, bn, x, in) || (residual_bn && !add_norm(t, residual_bn, residual, in + 3))) return NULL;
    struct attr a = {{running_of(bn, how->batch_statistics)}, how->slope, how->pool};
    if (residual_bn) a.of[1] = running_of(residual_bn, how->batch_statistics);
    struct node *n = node_new(t, &norm_act_pool_op, inputs, in, &a, sizeof a);
    if (!n || !fits(n, &a)) return NULL;
    const tensor *v = &x->value;
    const size_t channels = v->dim[v->rank - 1];
    if (how->pool) NODE_TRY(n, node_out_maps(n, 4, (size_t[]){v->dim[0], v->dim[1] / 2, v->dim[2] / 2, channels}));
    else NODE_TRY(n, node_out_maps(n, v->rank, v->dim));
    for (int i = 0; i < (residual_bn ? 4 : 2); i++) NODE_TRY(n, node_save(n, i, n->type, 1, &channels));
    return node_run(n);
}
