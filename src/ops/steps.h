/* steps.h - an inference written down in words that other programs know: convolution, norm, sum, activation, pooling.
 *
 * A tape with tape_trace tells every op that runs to a list of steps: the op's `tell` says what it did, a fused op in
 * several steps. An op without a `tell` cannot be told, and then the pass fails with its name. So whoever writes a network
 * for another program (api/onnx.c) knows the steps below and nothing of ops or networks: a new network needs no line
 * there, a new op only its `tell`. Shapes are those of the tape: maps are [n, h, w, c]. */
#ifndef OPS_STEPS_H
#define OPS_STEPS_H
#include "ops/op.h"

enum step_kind {
    STEP_INPUT,
    STEP_CONV,          /* of [n, h, w, c] */
    STEP_NORM,          /* of the last axis, by fixed statistics */
    STEP_ADD,           /* of two results of one shape */
    STEP_LEAKY_RELU,    /* of each number, as the next */
    STEP_CLIP,          /* into [low, high]: relu6 is 0 to 6 */
    STEP_MAX_POOL,      /* of [n, h, w, c], as op_max_pool */
    STEP_PAD,           /* zeros around maps [n, c, h, w], as op_pad */
    STEP_ADAPTIVE_POOL, /* of [n, c, h, w], as op_adaptive_pool */
    STEP_PERMUTE
};

struct step {
    enum step_kind kind;
    size_t in[2];         /* earlier steps; 0: none */
    size_t users;         /* later steps that take its result */
    int rank;             /* of the result */
    size_t dim[MAX_RANK]; /* likewise */
    union {
        struct step_conv {
            tensor weight;         /* [out, in / groups, kh, kw]; memory of the device, as below */
            tensor bias;           /* [out]; data NULL: none */
            size_t stride, pad[4]; /* zeros above, left, below, right */
            size_t groups;         /* 1, or c for a depthwise one */
        } conv;
        struct {
            tensor mean, variance, gain, bias; /* [c] */
            double epsilon;
        } norm;
        double slope; /* below 0 */
        struct {
            double low, high;
        } clip;
        struct pool_shape pool;
        size_t pad[4];       /* as of a convolution */
        int order[MAX_RANK]; /* axis i of the result is axis order[i] */
    };
};

struct steps {
    struct step *at; /* owned; steps have the numbers 1 to count, at[0] is none */
    size_t count, room;
    status st;       /* the first failure, whose sentence is this thread's */
    const char *why; /* of an op that cannot be told as it was called; else NULL */
};

void steps_free(struct steps *s);
const struct step *steps_at(const struct steps *s, size_t number);
/* A var that is the input of what follows. */
status steps_input(struct steps *s, var *x);

/* For node_run: adds what the node did. */
status steps_take(struct steps *s, struct node *n);

/* For the `tell` of ops. Each returns the number of its step, or 0 after a failure; given 0, they fail. Tensors are
 * copied as handles: their memory must last as long as the list. */
size_t steps_conv(struct steps *s, size_t x, const struct step_conv *conv);
size_t steps_norm(struct steps *s, size_t x, const struct norm_input *by); /* by->x is not looked at */
size_t steps_add(struct steps *s, size_t a, size_t b);
size_t steps_leaky_relu(struct steps *s, size_t x, double slope); /* 1: no step at all */
size_t steps_clip(struct steps *s, size_t x, double low, double high);
size_t steps_max_pool(struct steps *s, size_t x, const struct pool_shape *pool);
size_t steps_pad(struct steps *s, size_t x, const size_t pad[4]);
size_t steps_adaptive_pool(struct steps *s, size_t x, size_t height, size_t width);
size_t steps_permute(struct steps *s, size_t x, const int *order);
/* "only relu can": the op is known, but not with these settings. Returns 0. */
size_t steps_fail(struct steps *s, const char *why);
#endif
