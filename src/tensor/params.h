/* params.h - named parameters: the tensors that training changes, with a gradient beside each; and buffers, such as
 * running statistics, which belong to a network and its files but have no gradient.
 *
 * Heads and networks list theirs as data; files, optimisers and the tape meet them here by name. The list owns the
 * device memory. */
#ifndef TENSOR_PARAMS_H
#define TENSOR_PARAMS_H
#include "tensor/device.h"

struct param {
    const char *name; /* owned by the list: "head.fc1.weight" */
    tensor value, grad;
    bool trained; /* false: a buffer (running statistics), which no optimiser touches; its grad has no memory */
    bool frozen;
    bool in_block; /* the value's memory is part of a block, or somebody else's */
    unsigned
        pending; /* records of a tape that have yet to add to the gradient; for whoever watches that (ops/tape.h) */
    struct conv_ready ready; /* owned; of a frozen parameter that convolutions, or norms folded into them, have met */
};

struct params;

struct params *params_new(struct device *d); /* NULL when memory is out */
/* A list in which everything is a buffer: for networks that are only used, without memory for gradients. */
struct params *params_new_fixed(struct device *d);
void params_free(struct params *p);
/* Lets a parameter of such a list lie in memory that the caller keeps longer than the list, and gives its own back; only
 * where the device's memory is the host's. */
void params_borrow(struct params *p, struct param *e, const void *values);
struct device *params_device(const struct params *p); /* where its memory lies */
/* Adds a parameter, value and gradient zero. The pointer stays valid until params_free. Names are unique. */
status params_add(struct params *p, const char *name, dtype type, int rank, const size_t *dim, struct param **out);
/* The same for a buffer: value zero, no gradient. */
status params_add_buffer(struct params *p, const char *name, dtype type, int rank, const size_t *dim,
                         struct param **out);
struct param *params_find(struct params *p, const char *name); /* NULL: no such name */
size_t params_count(const struct params *p);
struct param *params_at(struct params *p, size_t i); /* in order of addition */
status params_zero_grad(struct params *p);           /* buffers have none */
/* Gradients lie in a few blocks of memory, gaps zero, those added last first: block i, or false behind the last. */
bool params_grad_block(const struct params *p, size_t i, void **memory, size_t *bytes);
/* The same for the values of buffers; a list that is only used has no such blocks. */
bool params_buffer_block(const struct params *p, size_t i, void **memory, size_t *bytes);
/* From here on values stay what they are, so that inference may keep weights in the device's own form, once made. That
 * takes memory, and time at first: it pays after about PARAMS_FREEZE_PAYS batches. While a list is frozen, it serves one
 * tape at a time. Whoever writes values thaws first: optimisers and loaders do. */
enum { PARAMS_FREEZE_PAYS = 8 };
void params_freeze(struct params *p);
/* Values may change again; forms that were made are given back. Nothing happens when nothing is frozen. */
void params_thaw(struct params *p);
#endif
