/* op.h - for files that implement an op; others need ops/ops.h only.
 *
 * An op is one file: shape rule, forward, backward, and one line in ops.def. Forward and backward reach the device
 * through N_PRIM, so an op never knows which device it runs on. */
#ifndef OPS_OP_H
#define OPS_OP_H
#include "ops/tape.h"

struct node;
struct steps;

struct op {
    const char *name;
    status (*forward)(struct node *n);
    status (*backward)(
        struct node *n); /* adds to the gradients of the inputs that need one; NULL: not differentiable */
    bool takes_bf16;     /* its maps may be bf16; its other inputs are f32 then */
    size_t (*tell)(const struct node *n,
                   struct steps *to); /* what it did, as steps; returns that of out[0]. NULL: cannot be told */
};

enum { NODE_MAX_IN = 10, NODE_MAX_OUT = 5, NODE_MAX_SAVED = 6 };

struct node {
    const struct op *op;
    tape *tape;
    struct device *dev;
    dtype type; /* of the real tensors of this op; f32 when its maps are bf16 */
    dtype maps; /* of the first input, and of the maps that come out */
    int n_in, n_out;
    var *in[NODE_MAX_IN];
    var *out[NODE_MAX_OUT];
    tensor saved[NODE_MAX_SAVED]; /* what forward keeps for backward */
    void *attr;                   /* the op's own settings, copied into the tape */
    struct node *previous;
};

/* A record with its inputs; NULL when the tape has failed or any input is NULL. `attr` is copied. */
struct node *node_new(tape *t, const struct op *op, int n_in, var *const *in, const void *attr, size_t attr_bytes);
/* Declares the next output. It needs a gradient when the tape trains and any input does and the op has a backward. */
status node_out(struct node *n, int rank, const size_t *dim);
status node_out_like(struct node *n, const tensor *like);
status node_out_maps(struct node *n, int rank, const size_t *dim);  /* of the type that the first input has */
status node_out_index(struct node *n, int rank, const size_t *dim); /* an i32 output, never differentiable */
status node_out_view(struct node *n, const tensor *value);          /* over memory that an input already has */
/* Memory in n->saved[i]. */
status node_save(struct node *n, int i, dtype type, int rank, const size_t *dim);
/* Runs forward and, when training, keeps the record. Returns out[0], or NULL after a failure. */
var *node_run(struct node *n);
/* For shape rules: stores the sentence in the tape and returns NULL. "op concat: ..." is put in front. */
var *node_fail(struct node *n, status st, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same for a primitive's failure: the op's name, and `pass` unless NULL, are put before its sentence. */
var *node_fail_in(struct node *n, const char *pass, status st);
/* For shape rules: a step that fails ends the op. */
#define NODE_TRY(n, call) \
    do { \
        status node_st_ = (call); \
        if (node_st_ != OK) return tape_fail((n)->tape, node_st_); \
    } while (0)

/* The gradient to add to: zeroed on first use; NULL when this var needs none. */
tensor *var_grad(var *v);
/* The gradient to write to. *fresh tells that it holds nothing yet and must be overwritten whole; false: add. */
tensor *var_grad_write(var *v, bool *fresh);
/* Adds scale * g to the gradient of an input, summed over the axes along which the input was stretched to g's shape. */
status node_give(struct node *n, var *v, const tensor *g, double scale);

/* For tape.c and node.c: a bare var, and a record joining the tape. */
status tape_var(tape *t, const tensor *value, var **out);
void tape_record(struct node *n);

/* ops/shape.c: rules that several ops share. Those that return bool fail the node in words and return false. */
/* A view of x with another shape of the same count. */
tensor tensor_view(const tensor *x, int rank, const size_t *dim);
/* x seen along one of its axes. */
struct axis tensor_axis(const tensor *x, int axis);
/* Makes a negative axis positive; fails when `x` has no such axis. */
bool node_axis(struct node *n, const tensor *x, int *axis);
/* ops/labels.c: labels or indices are there, i32 [rows]. */
bool node_labels(struct node *n, const tensor *labels, size_t rows);
/* The same for a loss: the input is [n, way], and there is a label for each row. */
bool node_scores(struct node *n, const tensor *labels);

/* ops/maps.c: support and query are maps, none of them wants a gradient, and there is something in them. */
bool maps_for_inference(const var *support, const var *query);
/* The first two inputs, support and query, are [pictures, C, locations] with the same C, not empty. */
bool node_maps(struct node *n);
/* The support's pictures can be cut into so many equal groups. */
bool node_groups(struct node *n, size_t groups);

enum { MOST_PAD = 1 << 16 }; /* zeros on a side of a map: sums of sizes stay small */

/* ops/conv2d.c: maps, and weights, the second input, fit each other; the shape of the result. */
bool conv_fits(struct node *n, const tensor *maps, struct conv_shape s, size_t dim[4]);
/* The weights of a frozen parameter in the device's form, made at their first use; NULL: there is none. */
status conv_ready(struct node *n, const tensor *maps, struct conv_shape s, const struct conv_ready **out);

/* ops/depthwise.c: the same two for filters of one channel each, and the convolution as a step (ops/steps.h). */
bool depthwise_fits(struct node *n, const struct depthwise_shape *s, size_t dim[4]);
status depthwise_ready(struct node *n, const struct conv_ready **out);
size_t depthwise_steps(struct steps *to, size_t x, const tensor *weight, const struct depthwise_shape *s);

/* ops/matrices.c: [m, k] or [batch, m, k]. */
/* [m, k] as [1, m, k]. */
tensor tensor_matrices(const tensor *x);
/* [batch, m, k] as [1, batch * m, k]. */
tensor tensor_fold_rows(const tensor *x);
/* Both inputs of n have rank 2 or 3 and batches that are equal or 1; *batch is the larger. */
bool node_batch(struct node *n, size_t *batch);
/* Declares an output [m, k], or [batch, m, k] when any input has rank 3. */
status node_out_matrices(struct node *n, size_t batch, size_t m, size_t k);
/* For a x = b: inputs a [n, n] and b [n, k], batched or not; declares the output x. */
bool node_system(struct node *n);
/* Adds alpha * a b to the gradient of an input, summed over the batch when the input has a batch of 1. */
status node_give_product(struct node *n, var *v, bool ta, bool tb, double alpha, const tensor *a, const tensor *b);

/* Every op of ops.def, sorted, NULL-terminated (ops/ops.c). */
extern const struct op *const op_table[];

#define N_PRIM(n, name, ...) PRIM_CALL((n)->dev, (n)->type, name, ((n)->dev, __VA_ARGS__))
#endif
