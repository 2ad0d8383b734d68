/* norm.h - what the ops with batch norms share (ops/batch_norm.c). */
#ifndef OPS_NORM_H
#define OPS_NORM_H
#include "ops/op.h"

struct norm_running {
    tensor mean, variance; /* the running statistics */
    double momentum, epsilon;
    bool batch; /* normalise by the batch */
};

/* What x is normalised by, into mean and variance; moves the running statistics with those of a batch. */
status norm_statistics(struct node *n, const tensor *x, struct norm_running *a, tensor *mean, tensor *variance);
/* Input `first` of n has channels; the next two, gain and bias, and the statistics have one number for each of them. */
bool norm_fits(struct node *n, int first, const struct norm_running *a);

/* ops/norm_fold.c: the norm whose gain and bias are inputs `first` and `first` + 1, with running statistics, as x scale +
 * shift: in the memory that the two tensors have, or where the gain is frozen in what is kept with it. */
status norm_fold(struct node *n, int first, const struct norm_running *of, tensor *scale, tensor *shift);
/* The tape does not train, and the norm has a number for each channel. */
/* The norm as a step. */
size_t norm_steps(struct steps *to, size_t x, const struct node *n, int first, const struct norm_running *of);
bool norm_folds(struct node *n, int first, const struct norm_running *of, size_t channels);

/* ops/norm_sync.c: whether the batch of this tape lies on several processes. */
static inline bool norm_shared(const struct node *n) { return tape_peers(n->tape) != NULL; }
/* Our statistics become those of all processes; *total: numbers of a channel in the whole batch. */
status norm_sync_statistics(struct node *n, const tensor *x, tensor *mean, tensor *variance, double *total);
/* Adds to dx, which may be NULL, what is missing there when the statistics were taken for constants. dgain and dbias are
 * our sums. */
status norm_sync_gradient(struct node *n, const struct norm_input *in, const tensor *dgain, const tensor *dbias,
                          tensor *dx);
#endif
