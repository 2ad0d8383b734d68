/* class_distance - squared distances of pooled queries to the means of pooled classes in one call, for inference. */
#include "ops/op.h"
#include "ops/ops.h"

struct attr {
    tensor labels;
    double scale;
};

static status class_distance_forward(struct node *n)
{
    const struct attr *a = n->attr;
    const struct class_distance_args args = {&n->in[0]->value, &a->labels, &n->in[1]->value, a->scale};
    return N_PRIM(n, class_distance, &args, &n->out[0]->value);
}

const struct op class_distance_op = {.name = "class_distance", .forward = class_distance_forward};

bool op_class_distance_offered(const tape *t, const var *support, size_t way, const var *query)
{
    if (!maps_for_inference(support, query)) return false;
    return way <= CLASS_DISTANCE_WAY && tape_device(t)->prim[query->value.type].class_distance;
}

var *op_class_distance(tape *t, var *support, const tensor *labels, size_t way, var *query, double scale)
{
    struct node *n = node_new(t, &class_distance_op, 2, (var *[]){support, query}, NULL, 0);
    if (!n || !node_maps(n) || !node_labels(n, labels, support->value.dim[0])) return NULL;
    if (!way || way > support->value.dim[0])
        return node_fail(n, ST_USAGE, "%zu classes cannot each have one of %zu pictures", way, support->value.dim[0]);
    void *attr;
    NODE_TRY(n, tape_host(t, sizeof(struct attr), &attr));
    *(struct attr *)attr = (struct attr){*labels, scale};
    n->attr = attr;
    NODE_TRY(n, node_out(n, 2, (size_t[]){query->value.dim[0], way}));
    return node_run(n);
}
