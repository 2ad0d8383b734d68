/* norm_act_pool - batch norm, a residual with its own batch norm added, a leaky activation, 2x2 pooling: in one pass.
 *
 * Nothing but the statistics is kept for the way back: what is in between is computed again from the inputs. A batch in two
 * parts, each with statistics of its own, goes part by part, where it lies. */
#include "ops/norm.h"
#include "ops/ops.h"
#include "ops/steps.h"

struct attr {
    struct norm_running of[2];
    double slope;
    bool pool;
    size_t first; /* pictures of the first of two parts; 0: one part */
};

/* Inputs: x, gain, bias, then the same of the residual. saved: mean and variance of each, [parts, channels]. */
static int inputs_of(const struct node *n) { return n->n_in > 3 ? 2 : 1; }

static int parts_of(const struct attr *a) { return a->first ? 2 : 1; }

/* The pictures of a part. */
static tensor pictures_of(const struct attr *a, const tensor *x, int part)
{
    return tensor_rows(x, part ? a->first : 0, part || !a->first ? x->dim[0] : a->first);
}

static tensor vector_of(const tensor *saved, int part)
{
    const tensor row = tensor_rows(saved, (size_t)part, (size_t)part + 1);
    return tensor_view(&row, 1, &saved->dim[1]);
}

struct part {
    struct norm_act_args args; /* of the tensors below */
    tensor x[2], mean[2], variance[2];
};

static void part_make(const struct node *n, int which, struct part *out)
{
    const struct attr *a = n->attr;
    *out = (struct part){.args = {.slope = a->slope, .pool = a->pool}};
    for (int i = 0; i < inputs_of(n); i++) {
        out->x[i] = pictures_of(a, &n->in[3 * i]->value, which);
        out->mean[i] = vector_of(&n->saved[2 * i], which);
        out->variance[i] = vector_of(&n->saved[2 * i + 1], which);
        out->args.of[i] = (struct norm_input){.x = &out->x[i],
                                              .mean = &out->mean[i],
                                              .variance = &out->variance[i],
                                              .gain = &n->in[3 * i + 1]->value,
                                              .bias = &n->in[3 * i + 2]->value,
                                              .epsilon = a->of[i].epsilon};
    }
}

static status part_forward(struct node *n, int which)
{
    struct attr *a = n->attr;
    struct part p;
    status st = OK;
    part_make(n, which, &p);
    for (int i = 0; i < inputs_of(n); i++) TRY(norm_statistics(n, &p.x[i], &a->of[i], &p.mean[i], &p.variance[i]));
    tensor y = pictures_of(a, &n->out[0]->value, which);
    TRY(N_PRIM(n, norm_act_pool, &p.args, &y));
done:
    return st;
}

static status norm_act_pool_forward(struct node *n)
{
    status st = OK;
    for (int i = 0; i < parts_of(n->attr) && st == OK; i++) st = part_forward(n, i);
    return st;
}

/* The batch lies on several processes: the device takes the statistics for constants, and the rest comes after it. */
static status shared_backward(struct node *n, const struct norm_act_args *args, const tensor *dy,
                              const struct norm_act_grads *to)
{
    struct norm_act_grads own = *to;
    tensor sums[4];
    status st = OK;
    const int norms = inputs_of(n);
    if (n->maps != n->type)
        return fail(ST_UNSUPPORTED, "batch norms over processes are not there for bf16; use --maths f32 or tf32");
    for (int i = 0; i < 2 * norms; i++) {
        TRY(tape_tensor(n->tape, n->type, 1, args->of[i / 2].gain->dim, &sums[i]));
        TRY(n->dev->zero(n->dev, sums[i].data, tensor_bytes(&sums[i])));
        *(i % 2 ? &own.of[i / 2].bias : &own.of[i / 2].gain) = &sums[i];
    }
    TRY(N_PRIM(n, norm_act_pool_grad, args, false, dy, &own));
    for (int i = 0; i < norms; i++) {
        TRY(norm_sync_gradient(n, &args->of[i], &sums[2 * i], &sums[2 * i + 1], to->of[i].x));
        if (to->of[i].gain) TRY(N_PRIM(n, axpy, 1, &sums[2 * i], to->of[i].gain));
        if (to->of[i].bias) TRY(N_PRIM(n, axpy, 1, &sums[2 * i + 1], to->of[i].bias));
    }
done:
    return st;
}

/* `to`: the gradients of all pictures. */
static status part_backward(struct node *n, int which, const struct norm_act_grads *to)
{
    const struct attr *a = n->attr;
    const tensor dy = pictures_of(a, &n->out[0]->grad, which);
    struct norm_act_grads own = *to;
    struct part p;
    tensor dx[2];
    part_make(n, which, &p);
    for (int i = 0; i < inputs_of(n); i++) {
        if (!to->of[i].x) continue;
        dx[i] = pictures_of(a, to->of[i].x, which);
        own.of[i].x = &dx[i];
    }
    if (a->of[0].batch && norm_shared(n)) return shared_backward(n, &p.args, &dy, &own);
    return N_PRIM(n, norm_act_pool_grad, &p.args, a->of[0].batch, &dy, &own);
}

static status norm_act_pool_backward(struct node *n)
{
    struct norm_act_grads to = {0};
    for (int i = 0; i < inputs_of(n); i++) {
        bool fresh = false;
        to.of[i].x = var_grad_write(n->in[3 * i], &fresh);
        to.of[i].add = !fresh;
        to.of[i].gain = var_grad(n->in[3 * i + 1]);
        to.of[i].bias = var_grad(n->in[3 * i + 2]);
    }
    status st = tape_status(n->tape);
    for (int i = 0; i < parts_of(n->attr) && st == OK; i++) st = part_backward(n, i, &to);
    return st;
}

static size_t norm_act_pool_tell(const struct node *n, struct steps *to)
{
    const struct attr *a = n->attr;
    struct part p;
    part_make(n, 0, &p);
    size_t x = steps_norm(to, n->in[0]->step, &p.args.of[0]);
    if (inputs_of(n) > 1) x = steps_add(to, x, steps_norm(to, n->in[3]->step, &p.args.of[1]));
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

/* Each of two parts has numbers enough for statistics. */
static bool parts_fit(struct node *n, const struct attr *a)
{
    char shape[SHAPE_TEXT];
    const tensor *x = &n->in[0]->value;
    const size_t each = tensor_span(x, 1, x->rank - 1);
    if (!a->first || (a->first < x->dim[0] && a->first * each > 1 && (x->dim[0] - a->first) * each > 1)) return true;
    node_fail(n, ST_SHAPE, "shape %s is cut after %zu of its first axis; each part needs 2 numbers a channel",
              tensor_shape_text(x, shape), a->first);
    return false;
}

static bool fits(struct node *n, const struct attr *a)
{
    char one[SHAPE_TEXT], other[SHAPE_TEXT];
    const tensor *x = &n->in[0]->value;
    const char *why = NULL;
    if (!norm_fits(n, 0, &a->of[0]) || (inputs_of(n) > 1 && !norm_fits(n, 3, &a->of[1])) || !parts_fit(n, a))
        return false;
    if (inputs_of(n) > 1 && (!tensor_same_shape(x, &n->in[3]->value) || x->type != n->in[3]->value.type)) {
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
    struct attr a = {{running_of(bn, how->batch_statistics)}, how->slope, how->pool, 0};
    if (how->batch_statistics) a.first = how->first;
    if (residual_bn) a.of[1] = running_of(residual_bn, how->batch_statistics);
    struct node *n = node_new(t, &norm_act_pool_op, inputs, in, &a, sizeof a);
    if (!n || !fits(n, &a)) return NULL;
    const tensor *v = &x->value;
    const size_t channels = v->dim[v->rank - 1];
    if (how->pool) NODE_TRY(n, node_out_maps(n, 4, (size_t[]){v->dim[0], v->dim[1] / 2, v->dim[2] / 2, channels}));
    else NODE_TRY(n, node_out_maps(n, v->rank, v->dim));
    const size_t saved[] = {(size_t)parts_of(&a), channels};
    for (int i = 0; i < (residual_bn ? 4 : 2); i++) NODE_TRY(n, node_save(n, i, n->type, 2, saved));
    return node_run(n);
}
