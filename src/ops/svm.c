/* svm - the dual variables [rows, way] of a Crammer-Singer machine with the kernel x x^T, x [rows, C].
 *
 * Kernel and solution are made on the host in double (svm_solve.c): the solution is sensitive to the kernel. Backward is
 * the implicit derivative at the point that forward gave. */
#include "base/dense.h"
#include "ops/host.h"
#include "ops/op.h"
#include "ops/ops.h"
#include "ops/svm_solve.h"
#include <string.h>

struct svm_attr {
    struct svm_problem problem;
    struct svm_point point;
    size_t channels;
    double *x;
};

/* [rows, way] and [way, rows] into each other */
static void turn(const double *x, size_t rows, size_t columns, double *y)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) y[j * rows + i] = x[i * columns + j];
}

static status svm_forward(struct node *n)
{
    status st = OK;
    struct svm_attr *a = n->attr;
    const size_t rows = a->problem.rows;
    double *kernel, *x;
    TRY(host_read(n->tape, &n->in[0]->value, &a->x));
    TRY(host_zeros(n->tape, rows * rows, &kernel));
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j <= i; j++)
            kernel[i * rows + j] = kernel[j * rows + i] = dense_dot(a->x + i * a->channels, a->x + j * a->channels,
                                                                    a->channels);
    a->problem.kernel = kernel;
    TRY(svm_solve(n->tape, &a->problem, &a->point));
    TRY(host_zeros(n->tape, rows * a->problem.way, &x));
    turn(a->point.x, a->problem.way, a->problem.rows, x);
    TRY(host_put(n->tape, x, &n->out[0]->value));
done:
    return st;
}

/* With D the kernel's derivative, 1/2 sum_m (d_m a_m^T + a_m d_m^T), x has 2 D x. */
static status svm_backward(struct node *n)
{
    status st = OK;
    const struct svm_attr *a = n->attr;
    const size_t rows = a->problem.rows, way = a->problem.way;
    double *g, *turned, *d, *dx;
    tensor given;
    TRY(host_read(n->tape, &n->out[0]->grad, &g));
    TRY(host_zeros(n->tape, rows * way, &turned));
    turn(g, rows, way, turned);
    TRY(svm_derivative(n->tape, &a->problem, &a->point, turned, &d));
    TRY(host_zeros(n->tape, rows * a->channels, &dx));
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < rows; j++) {
            double sum = 0;
            for (size_t k = 0; k < way * rows; k += rows)
                sum += d[k + i] * a->point.x[k + j] + a->point.x[k + i] * d[k + j];
            dense_add(sum, a->x + j * a->channels, a->channels, dx + i * a->channels);
        }
    TRY(host_write(n->tape, n->type, 2, n->in[0]->value.dim, dx, &given));
    TRY(node_give(n, n->in[0], &given, 1));
done:
    return st;
}

const struct op svm_op = {.name = "svm", .forward = svm_forward, .backward = svm_backward};

var *op_svm(tape *t, var *x, const size_t *first, size_t way, const struct svm *s)
{
    char shape[SHAPE_TEXT];
    void *copy;
    const size_t rows = first[way];
    if (!x) return NULL;
    const status st = tape_host(t, (way + 1) * sizeof *first, &copy);
    if (st != OK) return tape_fail(t, st);
    memcpy(copy, first, (way + 1) * sizeof *first);
    const struct svm_attr a = {.problem = {.rows = rows, .way = way, .first = copy, .settings = *s},
                               .channels = x->value.dim[1]};
    struct node *n = node_new(t, &svm_op, 1, &x, &a, sizeof a);
    if (!n) return NULL;
    if (x->value.rank != 2 || x->value.dim[0] != rows)
        return node_fail(n, ST_SHAPE, "the input has shape %s, but must be [%zu, C]",
                         tensor_shape_text(&x->value, shape), rows);
    NODE_TRY(n, node_out(n, 2, (size_t[]){rows, way}));
    return node_run(n);
}
