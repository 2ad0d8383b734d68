/* walk_node.c - checks and arguments of the mutual walk; read ops/walk.c for what it computes. */
#include "ops/walk_node.h"
#include <math.h>

static bool settings_fit(struct node *n, const struct walk *w)
{
    const bool stationary = w->solver == WALK_QR || w->solver == WALK_PINV;
    const bool needs_damping = w->solver == WALK_FULL || w->solver == WALK_BLOCK || w->solver == WALK_REDUCED;
    if (!(w->gamma > 0) || !isfinite(w->gamma))
        node_fail(n, ST_VALUE, "gamma is %g; it must be a positive number", w->gamma);
    else if (!(w->beta > 0) || !isfinite(w->beta))
        node_fail(n, ST_VALUE, "beta is %g; it must be a positive number", w->beta);
    else if (!(w->alpha >= 0 && w->alpha <= 1))
        node_fail(n, ST_VALUE, "alpha is %g; it must lie between 0 and 1", w->alpha);
    else if (stationary && w->alpha < 1)
        node_fail(n, ST_VALUE,
                  "the solvers qr and pinv find the stationary distribution only; alpha is %g, they need 1", w->alpha);
    else if (needs_damping && w->alpha >= 1)
        node_fail(n, ST_VALUE, "the solvers full, block and reduced need alpha below 1; use deflated, qr or auto");
    else return true;
    return false;
}

static bool shapes_fit(struct node *n)
{
    const tensor *p = &n->in[0]->value, *q = &n->in[1]->value;
    char a[SHAPE_TEXT], b[SHAPE_TEXT];
    tensor_shape_text(p, a);
    tensor_shape_text(q, b);
    if (p->rank != 3 || q->rank != 3)
        node_fail(n, ST_SHAPE, "class maps are %s and queries %s; both must be [n, channels, locations]", a, b);
    else if (p->dim[1] != q->dim[1])
        node_fail(n, ST_SHAPE, "class maps are %s and queries %s; their channels differ", a, b);
    else if (!tensor_count(p) || !tensor_count(q))
        node_fail(n, ST_SHAPE, "class maps are %s and queries %s; nothing may be empty", a, b);
    else return true;
    return false;
}

struct node *walk_node_new(tape *t, const struct op *op, var *proto, var *query, const struct walk_attr *attr)
{
    struct node *n = node_new(t, op, 2, (var *[]){proto, query}, attr, sizeof *attr);
    return n && settings_fit(n, &attr->walk) && shapes_fit(n) ? n : NULL;
}

status walk_node_outputs(struct node *n)
{
    struct walk_attr *a = n->attr;
    const tensor *p = &n->in[0]->value, *q = &n->in[1]->value;
    const size_t columns[] = {p->dim[0], p->dim[0], p->dim[0] * p->dim[2], q->dim[2]};
    status st = OK;
    a->first = n->n_out;
    for (int i = 0; i < 4 && st == OK; i++)
        if (a->want & (1u << i)) st = node_out(n, 2, (size_t[]){q->dim[0], columns[i]});
    return st;
}

void walk_node_result(const struct node *n, struct walk_vars *out)
{
    const struct walk_attr *a = n->attr;
    var **to[] = {&out->prob, &out->log_prob, &out->pi_support, &out->pi_query};
    int next = a->first;
    for (int i = 0; i < 4; i++) *to[i] = a->want & (1u << i) ? n->out[next++] : NULL;
}

struct walk_args walk_node_args(const struct node *n, bool values)
{
    const struct walk_attr *a = n->attr;
    struct walk_args w = {.proto = &n->in[0]->value,
                          .query = &n->in[1]->value,
                          .gamma = a->walk.gamma,
                          .beta = a->walk.beta,
                          .alpha = a->walk.alpha,
                          .solver = a->walk.solver};
    tensor **to[] = {&w.prob, &w.log_prob, &w.pi_support, &w.pi_query};
    int next = a->first;
    for (int i = 0; i < 4; i++)
        if (a->want & (1u << i)) *to[i] = values ? &n->out[next++]->value : NULL;
    return w;
}
