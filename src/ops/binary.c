/* binary - sum, difference, product and quotient, with numpy broadcasting.
 *
 * The gradient of a stretched input is the sum over the places it was stretched to (node_give). */
#include "ops/op.h"
#include "ops/ops.h"
#include "ops/steps.h"

static status binary_forward(struct node *n)
{
    const enum binary_kind *kind = n->attr;
    return N_PRIM(n, binary, *kind, &n->in[0]->value, &n->in[1]->value, &n->out[0]->value);
}

/* Gives x * y or x / y, made in a temporary of the output's shape. */
static status give_made(struct node *n, var *v, enum binary_kind kind, const tensor *x, const tensor *y)
{
    tensor g;
    const tensor *like = &n->out[0]->value;
    if (!v->needs_grad) return OK;
    status st = tape_tensor(n->tape, n->type, like->rank, like->dim, &g);
    if (st == OK) st = N_PRIM(n, binary, kind, x, y, &g);
    return st == OK ? node_give(n, v, &g, 1) : st;
}

/* d(a / b)/db = -(a / b) / b. */
static status give_divisor(struct node *n)
{
    tensor g, h;
    const tensor *y = &n->out[0]->value;
    status st = OK;
    if (!n->in[1]->needs_grad) return OK;
    TRY(tape_tensor(n->tape, n->type, y->rank, y->dim, &g));
    TRY(tape_tensor(n->tape, n->type, y->rank, y->dim, &h));
    TRY(N_PRIM(n, binary, BINARY_MUL, &n->out[0]->grad, y, &g));
    TRY(N_PRIM(n, binary, BINARY_DIV, &g, &n->in[1]->value, &h));
    TRY(node_give(n, n->in[1], &h, -1));
done:
    return st;
}

static status binary_backward(struct node *n)
{
    const enum binary_kind kind = *(const enum binary_kind *)n->attr;
    const tensor *dy = &n->out[0]->grad, *a = &n->in[0]->value, *b = &n->in[1]->value;
    status st = OK;
    switch (kind) {
    case BINARY_ADD:
    case BINARY_SUB:
        TRY(node_give(n, n->in[0], dy, 1));
        TRY(node_give(n, n->in[1], dy, kind == BINARY_ADD ? 1 : -1));
        break;
    case BINARY_MUL:
        TRY(give_made(n, n->in[0], BINARY_MUL, dy, b));
        TRY(give_made(n, n->in[1], BINARY_MUL, dy, a));
        break;
    case BINARY_DIV:
        TRY(give_made(n, n->in[0], BINARY_DIV, dy, b));
        TRY(give_divisor(n));
        break;
    }
done:
    return st;
}

static size_t binary_tell(const struct node *n, struct steps *to)
{
    const bool alike = tensor_same_shape(&n->in[0]->value, &n->in[1]->value);
    if (*(const enum binary_kind *)n->attr != BINARY_ADD || !alike)
        return steps_fail(to, "only the sum of two maps of one shape can");
    return steps_add(to, n->in[0]->step, n->in[1]->step);
}

const struct op binary_op = {
    .name = "binary", .forward = binary_forward, .backward = binary_backward, .tell = binary_tell};

/* The common shape of a and b, aligned at their last axes; false when two sizes differ and neither is 1. */
static bool stretched_shape(const tensor *a, const tensor *b, int *rank, size_t dim[MAX_RANK])
{
    *rank = a->rank > b->rank ? a->rank : b->rank;
    for (int i = 1; i <= *rank; i++) {
        size_t p = i <= a->rank ? a->dim[a->rank - i] : 1, q = i <= b->rank ? b->dim[b->rank - i] : 1;
        if (p != q && p != 1 && q != 1) return false;
        dim[*rank - i] = p == 1 ? q : p;
    }
    return true;
}

static var *binary(tape *t, enum binary_kind kind, var *a, var *b)
{
    static const char *const verb[] = {"add", "subtract", "multiply", "divide"};
    char p[SHAPE_TEXT], q[SHAPE_TEXT];
    size_t dim[MAX_RANK];
    int rank;
    struct node *n = node_new(t, &binary_op, 2, (var *[]){a, b}, &kind, sizeof kind);
    if (!n) return NULL;
    if (!stretched_shape(&a->value, &b->value, &rank, dim))
        return node_fail(n, ST_SHAPE, "cannot %s shapes %s and %s: sizes must be equal or 1, counted from the last",
                         verb[kind], tensor_shape_text(&a->value, p), tensor_shape_text(&b->value, q));
    NODE_TRY(n, node_out(n, rank, dim));
    return node_run(n);
}

var *op_add(tape *t, var *a, var *b) { return binary(t, BINARY_ADD, a, b); }
var *op_sub(tape *t, var *a, var *b) { return binary(t, BINARY_SUB, a, b); }
var *op_mul(tape *t, var *a, var *b) { return binary(t, BINARY_MUL, a, b); }
var *op_div(tape *t, var *a, var *b) { return binary(t, BINARY_DIV, a, b); }
