/* tape.h - a computation as it is written down: each op appends a record, runs at once, and returns a var.
 *
 * Failure is sticky. The first op that fails stores its status and sentence in the tape and returns NULL; an op given
 * NULL, or a tape that has failed, returns NULL at once. So a network reads as a list of calls and is checked once, with
 * tape_status. All memory comes from the tape's two arenas and is reset as a whole: steady-state steps allocate
 * nothing. An inference tape keeps no records for a backward pass. Read ops/op.h for how an op is made and ops/ops.h
 * for what ops there are. */
#ifndef OPS_TAPE_H
#define OPS_TAPE_H
#include "peers/peers.h"
#include "tensor/device.h"
#include "tensor/params.h"

typedef struct tape tape;
typedef struct var var;

struct var {
    tensor value;
    struct node *node; /* the record that made it; NULL for leaves */
    bool needs_grad;
    bool grad_is_written;     /* false: `grad` holds nothing yet */
    tensor grad;              /* data NULL until first asked for; use var_grad */
    struct param *param;      /* the trained parameter that it stands for; else NULL */
    struct conv_ready *ready; /* of a frozen parameter, on an inference tape; else NULL */
    size_t step;              /* on a traced tape: the step that gave it (ops/steps.h); 0: none did */
    const struct node *early; /* the record that put its gradient into `grad` ahead of backward (ops/walk_nll.c) */
    tape *tape;
};

enum tape_mode { TAPE_INFERENCE, TAPE_TRAINING };

status tape_new(struct device *d, enum tape_mode mode, tape **out);
void tape_free(tape *t);
/* Forgets all records and values, and a failure; keeps the memory. */
void tape_reset(tape *t, enum tape_mode mode);

struct device *tape_device(const tape *t);
enum tape_mode tape_get_mode(const tape *t);
/* OK, or the first failure, whose sentence becomes this thread's again. */
status tape_status(const tape *t);
/* Records a failure if there was none; always returns NULL, for `return tape_fail(...)`. */
var *tape_fail(tape *t, status st);

/* A leaf over existing device memory. With grad NULL it is a constant. */
enum leaf_grad { GRAD_ADDS, GRAD_OVERWRITES }; /* GRAD_OVERWRITES: what the buffer held before does not matter */
var *tape_leaf(tape *t, const tensor *value, const tensor *grad, enum leaf_grad how);
var *tape_constant(tape *t, const tensor *value);
var *tape_param(tape *t, struct param *p); /* its gradient adds to the parameter's own; a buffer is a constant */
/* A constant uploaded from host memory. */
var *tape_upload(tape *t, dtype type, int rank, const size_t *dim, const void *host);

/* From now on a batch of this tape lies on several processes, which all record the same: batch norms take its statistics
 * over all of them. NULL: it is all here. */
void tape_share(tape *t, struct peers *peers);
struct peers *tape_peers(const tape *t); /* NULL: it is all here */

/* From now on every op that runs is told to `to` as well (ops/steps.h); NULL: none is. */
struct steps;
void tape_trace(tape *t, struct steps *to);
struct steps *tape_traced(const tape *t); /* NULL: nobody listens */

/* During each backward pass `final` is told of every parameter to whose gradient nothing will be added any more; NULL:
 * nobody is. To be said before the recording begins, with every `pending` 0. */
void tape_watch(tape *t, void (*final)(void *context, struct param *p), void *context);

/* From a scalar var, fills the gradients of all leaves below it. OPs' backward functions run in reverse order. A leaf
 * with GRAD_OVERWRITES that nothing reached becomes zero. Once per recording. */
status tape_backward(tape *t, var *loss);
/* The same from any number of vars with given gradients. */
status tape_backward_from(tape *t, size_t count, var *const *of, const tensor *const *gradients);

/* Arena memory that lasts until the reset: uninitialised. */
status tape_tensor(tape *t, dtype type, int rank, const size_t *dim, tensor *out);
status tape_host(tape *t, size_t bytes, void **out);
/* Nobody reads this result of an op any more: on an inference tape later values may lie in its memory. Not for views and leaves,
 * which own none. A training tape keeps everything for the way back. */
void tape_release(tape *t, var *v);
void tape_release_tensor(tape *t, tensor *x); /* the same for what an op took by tape_tensor */
/* Device bytes that this recording uses and that the tape holds. */
size_t tape_bytes_used(const tape *t);
size_t tape_bytes_held(const tape *t);
#endif
