/* walk - the mutual walk between a query's features and those of all classes: class masses and centralities.
 *
 * One op with a closed-form derivative (docs/mcl.md). Nothing is kept from the forward pass: the backward one computes the
 * walk again, query by query, which costs one matrix product of four and no memory. A loss on the class masses is
 * cheaper with walk_nll, which does both at once. */
#include "ops/walk_node.h"

static status walk_forward(struct node *n)
{
    struct walk_args w = walk_node_args(n, true);
    return N_PRIM(n, walk, &w);
}

/* Where the primitive may write a gradient: the input's own buffer when that is empty, else a temporary to be added. */
static status target(struct node *n, var *v, tensor *temporary, tensor **write, tensor **add_to)
{
    bool fresh;
    tensor *grad = var_grad_write(v, &fresh);
    *write = *add_to = NULL;
    if (!grad) return tape_status(n->tape);
    if (fresh) {
        *write = grad;
        return OK;
    }
    *add_to = grad;
    *write = temporary;
    return tape_tensor(n->tape, n->type, v->value.rank, v->value.dim, temporary);
}

static status walk_backward(struct node *n)
{
    status st = OK;
    struct walk_vars out;
    struct walk_args w = walk_node_args(n, false);
    tensor temporary[2], *add_to[2];
    walk_node_result(n, &out);
    const var *vars[] = {out.prob, out.log_prob, out.pi_support, out.pi_query};
    const tensor **gradients[] = {&w.d_prob, &w.d_log_prob, &w.d_pi_support, &w.d_pi_query};
    for (int i = 0; i < 4; i++)
        if (vars[i] && vars[i]->grad_is_written) *gradients[i] = &vars[i]->grad;
    TRY(target(n, n->in[0], &temporary[0], &w.d_proto, &add_to[0]));
    TRY(target(n, n->in[1], &temporary[1], &w.d_query, &add_to[1]));
    TRY(N_PRIM(n, walk, &w));
    for (int i = 0; i < 2; i++)
        if (add_to[i]) TRY(N_PRIM(n, axpy, 1, &temporary[i], add_to[i]));
done:
    return st;
}

const struct op walk_op = {.name = "walk", .forward = walk_forward, .backward = walk_backward};

bool op_walk(tape *t, var *proto, var *query, const struct walk *w, unsigned want, struct walk_vars *out)
{
    const struct walk_attr attr = {.walk = *w, .want = want};
    struct node *n = walk_node_new(t, &walk_op, proto, query, &attr);
    *out = (struct walk_vars){0};
    if (!n) return false;
    status st = walk_node_outputs(n);
    if (st != OK) return tape_fail(t, st);
    if (!node_run(n)) return false;
    walk_node_result(n, out);
    return true;
}
