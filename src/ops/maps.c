/* maps.c - for ops on the support's and the query's maps, the first two inputs: their shapes, and whether a head may be
 * computed in one call. */
#include "ops/op.h"

bool maps_for_inference(const var *support, const var *query)
{
    if (!support || !query || support->needs_grad || query->needs_grad) return false;
    const tensor *s = &support->value, *q = &query->value;
    return s->type < DT_REALS && q->type == s->type && s->rank == 3 && q->rank == 3 && s->dim[1] == q->dim[1] &&
           tensor_count(s) && tensor_count(q);
}

bool node_maps(struct node *n)
{
    char a[SHAPE_TEXT], b[SHAPE_TEXT];
    const tensor *s = &n->in[0]->value, *q = &n->in[1]->value;
    if (s->rank == 3 && q->rank == 3 && s->dim[1] == q->dim[1] && tensor_count(s) && tensor_count(q)) return true;
    node_fail(n, ST_SHAPE, "support %s and query %s; both must be [pictures, C, locations], not empty, with the same C",
              tensor_shape_text(s, a), tensor_shape_text(q, b));
    return false;
}

bool node_groups(struct node *n, size_t groups)
{
    const size_t pictures = n->in[0]->value.dim[0];
    if (groups && pictures % groups == 0) return true;
    node_fail(n, ST_SHAPE, "%zu support pictures are not %zu equal groups", pictures, groups);
    return false;
}
