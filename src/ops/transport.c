/* transport - the least cost of carrying a supply to a demand, for many small problems at once.
 *
 * The flow that is best stays best for a small change of the costs, so that the derivative by a cost is its flow; that
 * by a weight is its price. Prices are known up to a constant that is added to one side and taken from the other: sums
 * of supply and demand must stay equal, as they do when both are divided by their sums. */
#include "ops/op.h"
#include "ops/ops.h"

enum { COST, SUPPLY, DEMAND };
enum { FLOW, SUPPLY_PRICE, DEMAND_PRICE };

static tensor *kept(struct node *n, int i) { return n->saved[i].data ? &n->saved[i] : NULL; }

static status transport_forward(struct node *n)
{
    const struct transport_args a = {&n->in[COST]->value,  &n->in[SUPPLY]->value, &n->in[DEMAND]->value,
                                     &n->out[0]->value,    kept(n, FLOW),         kept(n, SUPPLY_PRICE),
                                     kept(n, DEMAND_PRICE)};
    return N_PRIM(n, transport, &a);
}

/* dx = saved * dy, where dy [b, g] is seen with the rank of x. */
static status give(struct node *n, int input, const size_t *dy_dim)
{
    status st = OK;
    bool fresh = false;
    const tensor *x = &n->saved[input];
    const tensor dy = tensor_view(&n->out[0]->grad, x->rank, dy_dim);
    tensor product, *dx = var_grad_write(n->in[input], &fresh);
    if (!dx) return tape_status(n->tape);
    if (fresh) return N_PRIM(n, binary, BINARY_MUL, x, &dy, dx);
    TRY(tape_tensor(n->tape, n->type, x->rank, x->dim, &product));
    TRY(N_PRIM(n, binary, BINARY_MUL, x, &dy, &product));
    TRY(N_PRIM(n, axpy, 1, &product, dx));
done:
    return st;
}

static status transport_backward(struct node *n)
{
    status st = OK;
    const size_t b = n->out[0]->value.dim[0], g = n->out[0]->value.dim[1];
    if (n->in[COST]->needs_grad) TRY(give(n, COST, (size_t[]){b, 1, g, 1}));
    if (n->in[SUPPLY]->needs_grad) TRY(give(n, SUPPLY, (size_t[]){b, g, 1}));
    if (n->in[DEMAND]->needs_grad) TRY(give(n, DEMAND, (size_t[]){b, g, 1}));
done:
    return st;
}

const struct op transport_op = {.name = "transport", .forward = transport_forward, .backward = transport_backward};

static bool shapes_fit(struct node *n)
{
    enum { MOST = 4096 }; /* places of one side */
    const tensor *c = &n->in[COST]->value, *s = &n->in[SUPPLY]->value, *d = &n->in[DEMAND]->value;
    char text[3][SHAPE_TEXT];
    const bool fit = c->rank == 4 && s->rank == 3 && d->rank == 3 && s->dim[0] == c->dim[0] && d->dim[0] == c->dim[0] &&
                     s->dim[1] == c->dim[2] && d->dim[1] == c->dim[2] && s->dim[2] == c->dim[1] &&
                     d->dim[2] == c->dim[3];
    if (!fit)
        node_fail(n, ST_SHAPE,
                  "costs are %s, supplies %s and demands %s; they must be [b, m, g, n], [b, g, m] and [b, g, n]",
                  tensor_shape_text(c, text[0]), tensor_shape_text(s, text[1]), tensor_shape_text(d, text[2]));
    else if (!tensor_count(c) || c->dim[1] > MOST || c->dim[3] > MOST)
        node_fail(n, ST_SHAPE, "costs are %s; a problem may have 1 to %d places of supply and of demand",
                  tensor_shape_text(c, text[0]), MOST);
    else return true;
    return false;
}

var *op_transport(tape *t, var *cost, var *supply, var *demand)
{
    struct node *n = node_new(t, &transport_op, 3, (var *[]){cost, supply, demand}, NULL, 0);
    if (!n || !shapes_fit(n)) return NULL;
    const bool trains = tape_get_mode(t) == TAPE_TRAINING;
    for (int i = 0; i < 3; i++) {
        const tensor *x = &n->in[i]->value;
        if (trains && n->in[i]->needs_grad) NODE_TRY(n, node_save(n, i, n->type, x->rank, x->dim));
    }
    NODE_TRY(n, node_out(n, 2, (size_t[]){cost->value.dim[0], cost->value.dim[2]}));
    return node_run(n);
}
