/* solve - x with a x = b, for square a, by LU with partial pivoting.
 *
 * With g = a^-T dx: db = g and da = -g x^T. The factors of the forward pass serve the backward one. */
#include "ops/op.h"
#include "ops/ops.h"

enum { LU, PIVOT };

static status solve_forward(struct node *n)
{
    tensor a = tensor_matrices(&n->in[0]->value), b = tensor_matrices(&n->in[1]->value);
    tensor x = tensor_matrices(&n->out[0]->value);
    status st = N_PRIM(n, lu, &a, &n->saved[LU], &n->saved[PIVOT]);
    return st == OK ? N_PRIM(n, lu_solve, &n->saved[LU], &n->saved[PIVOT], false, &b, &x) : st;
}

static status solve_backward(struct node *n)
{
    tensor x = tensor_matrices(&n->out[0]->value), dx = tensor_matrices(&n->out[0]->grad), g;
    status st = OK;
    TRY(tape_tensor(n->tape, n->type, 3, x.dim, &g));
    TRY(N_PRIM(n, lu_solve, &n->saved[LU], &n->saved[PIVOT], true, &dx, &g));
    TRY(node_give(n, n->in[1], &g, 1));
    TRY(node_give_product(n, n->in[0], false, true, -1, &g, &x));
done:
    return st;
}

const struct op solve_op = {.name = "solve", .forward = solve_forward, .backward = solve_backward};

var *op_solve(tape *t, var *a, var *b)
{
    struct node *n = node_new(t, &solve_op, 2, (var *[]){a, b}, NULL, 0);
    if (!n || !node_system(n)) return NULL;
    tensor m = tensor_matrices(&a->value);
    NODE_TRY(n, node_save(n, LU, n->type, 3, m.dim));
    NODE_TRY(n, node_save(n, PIVOT, DT_I32, 2, m.dim));
    return node_run(n);
}
