/* walk_node.h - what the two ops of the mutual walk share: checks, outputs, and the primitive's arguments. */
#ifndef OPS_WALK_NODE_H
#define OPS_WALK_NODE_H
#include "ops/op.h"
#include "ops/ops.h"

struct walk_attr {
    struct walk walk;
    unsigned want; /* WALK_* */
    int first;     /* out[first] is the first wanted output */
    tensor labels; /* walk_nll */
};

/* A record over proto [way, C, rs] and query [nq, C, rq] with the settings checked; NULL after a failure. */
struct node *walk_node_new(tape *t, const struct op *op, var *proto, var *query, const struct walk_attr *attr);
/* Declares the wanted outputs behind those that are there already. */
status walk_node_outputs(struct node *n);
/* The wanted outputs by name. */
void walk_node_result(const struct node *n, struct walk_vars *out);
/* The primitive's arguments: the episode, the settings and, with `values`, the outputs. */
struct walk_args walk_node_args(const struct node *n, bool values);
#endif
