/* cholesky_solve - x with a x = b, for symmetric positive definite a, by its Cholesky factor.
 *
 * With g = a^-1 dx: db = g and da = -(g x^T + x g^T) / 2. Only a's lower half is read; da is the symmetric gradient,
 * right for every change of a that keeps it symmetric. */
#include "ops/op.h"
#include "ops/ops.h"

static status cholesky_solve_forward(struct node *n)
{
    tensor a = tensor_matrices(&n->in[0]->value), b = tensor_matrices(&n->in[1]->value);
    tensor x = tensor_matrices(&n->out[0]->value);
    status st = N_PRIM(n, cholesky, &a, &n->saved[0]);
    return st == OK ? N_PRIM(n, cholesky_solve, &n->saved[0], &b, &x) : st;
}

static status cholesky_solve_backward(struct node *n)
{
    tensor x = tensor_matrices(&n->out[0]->value), dx = tensor_matrices(&n->out[0]->grad), g;
    status st = OK;
    TRY(tape_tensor(n->tape, n->type, 3, x.dim, &g));
    TRY(N_PRIM(n, cholesky_solve, &n->saved[0], &dx, &g));
    TRY(node_give(n, n->in[1], &g, 1));
    TRY(node_give_product(n, n->in[0], false, true, -0.5, &g, &x));
    TRY(node_give_product(n, n->in[0], false, true, -0.5, &x, &g));
done:
    return st;
}

const struct op cholesky_solve_op = {
    .name = "cholesky_solve", .forward = cholesky_solve_forward, .backward = cholesky_solve_backward};

var *op_cholesky_solve(tape *t, var *a, var *b)
{
    struct node *n = node_new(t, &cholesky_solve_op, 2, (var *[]){a, b}, NULL, 0);
    if (!n || !node_system(n)) return NULL;
    tensor m = tensor_matrices(&a->value);
    NODE_TRY(n, node_save(n, 0, n->type, 3, m.dim));
    return node_run(n);
}
