/* featurewise.c - random gains and biases behind the norms of a residual block. */
#include "nets/featurewise.h"
#include "ops/host.h"
#include <math.h>

static double softplus(double x) { return x > 1 ? x : log1p(exp(100 * x)) / 100; } /* above 1 they agree to rounding */

/* [C]: from + spread times a standard normal number */
static var *draw(const struct layer_pass *l, const var *x, double from, double spread)
{
    double *numbers;
    tensor v;
    const size_t channels = x->value.dim[3];
    status st = host_zeros(l->t, channels, &numbers);
    for (size_t i = 0; st == OK && i < channels; i++) numbers[i] = from + spread * random_normal(&l->pass->random);
    if (st == OK) st = host_write(l->t, x->value.type, 1, &channels, numbers, &v);
    return st == OK ? tape_constant(l->t, &v) : tape_fail(l->t, st);
}

static var *transformed(const struct layer_pass *l, const struct featurewise *f, const char *name, var *x,
                        const struct layer_after *after)
{
    const struct layer_after nothing = {.momentum = after->momentum, .slope = 1};
    var *y = layer_norm(l, name, x, &nothing);
    if (!y) return NULL;
    var *gain = draw(l, y, 1, softplus(f->gain)), *bias = draw(l, y, 0, softplus(f->bias));
    return op_add(l->t, op_mul(l->t, y, gain), bias);
}

var *featurewise_norm_both(const struct layer_pass *l, const struct featurewise *f, const char *name, var *x,
                           const char *residual_name, var *residual, const struct layer_after *after)
{
    if (!f->on || l->pass->mode == NET_EVAL) return layer_norm_both(l, name, x, residual_name, residual, after);
    var *main = transformed(l, f, name, x, after), *side = transformed(l, f, residual_name, residual, after);
    var *y = op_leaky_relu(l->t, op_add(l->t, main, side), after->slope);
    return after->pool ? op_max_pool2(l->t, y) : y;
}
