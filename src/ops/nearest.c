/* nearest - sums of the largest cosines of a query's features with those of groups of pictures in one call, for inference. */
#include "ops/op.h"
#include "ops/ops.h"

struct attr {
    size_t groups, k;
    double scale;
};

static status nearest_forward(struct node *n)
{
    const struct attr *a = n->attr;
    const struct nearest_args args = {&n->in[0]->value, &n->in[1]->value, a->groups, a->k, a->scale};
    return N_PRIM(n, nearest, &args, &n->out[0]->value);
}

const struct op nearest_op = {.name = "nearest", .forward = nearest_forward};

bool op_nearest_offered(const tape *t, const var *support, const var *query, size_t k)
{
    return maps_for_inference(support, query) && k <= NEAREST_K && tape_device(t)->prim[query->value.type].nearest;
}

var *op_nearest(tape *t, var *support, size_t groups, var *query, size_t k, double scale)
{
    const struct attr attr = {groups, k, scale};
    struct node *n = node_new(t, &nearest_op, 2, (var *[]){support, query}, &attr, sizeof attr);
    if (!n || !node_maps(n) || !node_groups(n, groups)) return NULL;
    const size_t features = support->value.dim[0] / groups * support->value.dim[2];
    if (!k || k > NEAREST_K || k > features)
        return node_fail(n, ST_USAGE, "the %zu nearest of %zu features are asked for; at most %d can be", k, features,
                         NEAREST_K);
    NODE_TRY(n, node_out(n, 2, (size_t[]){query->value.dim[0], groups}));
    return node_run(n);
}
