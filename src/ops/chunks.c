/* chunks - what is computed for each row of an input alone, some rows at a time, so that memory does not grow with their
 * number.
 *
 * The body runs on a second tape that is reset after every chunk: forward without records; backward once more, with them,
 * and back through them at once. So gradients cost one forward pass more. Chunks are cut by sizes alone. */
#include "base/size.h"
#include "ops/op.h"
#include "ops/ops.h"

/* Values alone; gradients need as much again or somewhat more. A device with memory of its own has much of it, and wants much
 * work at once. */
size_t chunks_rows(const tape *t, dtype type, size_t numbers)
{
    const size_t megabytes = tape_get_mode(t) == TAPE_TRAINING ? 24 : 16, more = tape_device(t)->on_host ? 1 : 16;
    return size_max(1, (megabytes * more << 20) / dtype_bytes(type) / size_max(1, numbers));
}

static const struct chunks *chunks_of(const struct node *n) { return n->attr; }

/* An input, or some rows of one, as a leaf of the second tape; `grad` is where its gradient adds up, or NULL. */
static var *leaf(tape *t, const tensor *value, const tensor *grad)
{
    return grad ? tape_leaf(t, value, grad, GRAD_ADDS) : tape_constant(t, value);
}

static var *run_body(struct node *n, tape *t, const tensor *const *grads, size_t from, size_t to)
{
    const struct chunks *c = chunks_of(n);
    const int last = n->n_in - 1;
    var *shared[NODE_MAX_IN];
    tensor grad_rows;
    const tensor rows = tensor_rows(&n->in[last]->value, from, to);
    for (int i = 0; i < last; i++) shared[i] = leaf(t, &n->in[i]->value, grads ? grads[i] : NULL);
    if (grads && grads[last]) grad_rows = tensor_rows(grads[last], from, to);
    return c->body(t, c->context, shared, leaf(t, &rows, grads && grads[last] ? &grad_rows : NULL), from);
}

static status check_shape(const struct node *n, const var *y, size_t rows)
{
    char shape[SHAPE_TEXT];
    if (y->value.rank == 2 && y->value.dim[0] == rows && y->value.dim[1] == chunks_of(n)->columns) return OK;
    return fail(ST_SHAPE, "a chunk of %zu rows became %s; it must become [%zu, %zu]", rows,
                tensor_shape_text(&y->value, shape), rows, chunks_of(n)->columns);
}

static status chunks_forward(struct node *n)
{
    status st = OK;
    tape *t = NULL;
    const size_t rows = n->in[n->n_in - 1]->value.dim[0], step = chunks_of(n)->rows;
    TRY(tape_new(n->dev, TAPE_INFERENCE, &t));
    for (size_t from = 0; from < rows; from += step) {
        const size_t to = size_min(rows, from + step);
        const tensor out = tensor_rows(&n->out[0]->value, from, to);
        tape_reset(t, TAPE_INFERENCE);
        const var *y = run_body(n, t, NULL, from, to);
        TRY(tape_status(t));
        TRY(check_shape(n, y, to - from));
        TRY(n->dev->copy(n->dev, out.data, y->value.data, tensor_bytes(&out)));
    }
done:
    tape_free(t);
    return st;
}

static status chunks_backward(struct node *n)
{
    status st = OK;
    tape *t = NULL;
    const tensor *grads[NODE_MAX_IN] = {NULL};
    const size_t rows = n->in[n->n_in - 1]->value.dim[0], step = chunks_of(n)->rows;
    for (int i = 0; i < n->n_in; i++) {
        grads[i] = var_grad(n->in[i]);
        TRY(tape_status(n->tape));
    }
    TRY(tape_new(n->dev, TAPE_TRAINING, &t));
    for (size_t from = 0; from < rows; from += step) {
        const size_t to = size_min(rows, from + step);
        const tensor dy = tensor_rows(&n->out[0]->grad, from, to);
        tape_reset(t, TAPE_TRAINING);
        var *y = run_body(n, t, grads, from, to);
        TRY(tape_status(t));
        TRY(tape_backward_from(t, 1, &y, (const tensor *[]){&dy}));
    }
done:
    tape_free(t);
    return st;
}

const struct op chunks_op = {.name = "chunks", .forward = chunks_forward, .backward = chunks_backward};

var *op_chunks(tape *t, const struct chunks *c, int count, var *const *shared, var *each)
{
    var *in[NODE_MAX_IN] = {NULL};
    if (!each || each->value.dim[0] <= c->rows) return each ? c->body(t, c->context, shared, each, 0) : NULL;
    for (int i = 0; i < count; i++) in[i] = shared[i];
    in[count] = each;
    struct chunks cut = *c;
    const size_t rows = each->value.dim[0];
    cut.rows = size_div_up(rows, size_div_up(rows, size_max(1, c->rows))); /* chunks of nearly the same size */
    struct node *n = node_new(t, &chunks_op, count + 1, in, &cut, sizeof cut);
    if (!n) return NULL;
    NODE_TRY(n, node_out(n, 2, (size_t[]){rows, c->columns}));
    return node_run(n);
}
