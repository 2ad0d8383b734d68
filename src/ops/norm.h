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
#endif
