/* reconstruct - errors of ridge regression of a query's features on those of groups of pictures in one call, for inference. */
#include "ops/op.h"
#include "ops/ops.h"

enum { SUPPORT, QUERY, TERMS, FACTOR, INPUTS };

static status reconstruct_forward(struct node *n)
{
    const struct reconstruct *s = n->attr;
    const struct reconstruct_args args = {.support = &n->in[SUPPORT]->value,
                                          .query = &n->in[QUERY]->value,
                                          .groups = s->groups,
                                          .r = &n->in[TERMS]->value,
                                          .share = s->share,
                                          .ridge = s->ridge,
                                          .factor = &n->in[FACTOR]->value,
                                          .scale = s->scale};
    return N_PRIM(n, reconstruct, &args, &n->out[0]->value);
}

const struct op reconstruct_op = {.name = "reconstruct", .forward = reconstruct_forward};

/* Features of a group. */
static size_t rows_of(const var *support, size_t groups)
{
    return groups ? support->value.dim[0] / groups * support->value.dim[2] : 0;
}

static bool rows_fit(size_t rows, size_t channels) { return rows && rows <= RECONSTRUCT_ROWS && rows <= channels; }

bool op_reconstruct_offered(const tape *t, const var *support, const var *query, size_t groups)
{
    if (!maps_for_inference(support, query) || !tape_device(t)->prim[query->value.type].reconstruct) return false;
    return rows_fit(rows_of(support, groups), support->value.dim[1]);
}

var *op_reconstruct(tape *t, var *support, var *query, var *r, var *factor, const struct reconstruct *s)
{
    struct node *n = node_new(t, &reconstruct_op, INPUTS, (var *[]){support, query, r, factor}, s, sizeof *s);
    if (!n || !node_maps(n) || !node_groups(n, s->groups)) return NULL;
    const size_t rows = rows_of(support, s->groups), channels = support->value.dim[1];
    if (!rows_fit(rows, channels))
        return node_fail(n, ST_SHAPE,
                         "%zu features of a group and %zu channels; there may be at most %d, or as many as channels",
                         rows, channels, RECONSTRUCT_ROWS);
    if (tensor_count(&r->value) != 2 || tensor_count(&factor->value) != 1)
        return node_fail(n, ST_SHAPE, "the terms are %zu numbers and the factor %zu; they must be 2 and 1",
                         tensor_count(&r->value), tensor_count(&factor->value));
    NODE_TRY(n, node_out(n, 2, (size_t[]){query->value.dim[0], s->groups}));
    return node_run(n);
}
