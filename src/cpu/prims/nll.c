/* nll.c - the mean over rows of -log_probabilities[label], and its derivative. One number a row: not worth threads. */
#include "cpu/prims/prim.h"

status R(prim_nll)(struct device *d, const tensor *log_probabilities, const tensor *labels, tensor *loss)
{
    size_t n = tensor_count(labels), way = log_probabilities->dim[log_probabilities->rank - 1];
    const int *label = ints(labels);
    double total = 0;
    (void)d;
    for (size_t i = 0; i < n; i++) total -= (double)reals(log_probabilities)[i * way + (size_t)label[i]];
    *reals(loss) = (real)(total / (double)n);
    return OK;
}

status R(prim_nll_grad)(struct device *d, const tensor *labels, const tensor *dloss, tensor *dx)
{
    size_t n = tensor_count(labels), way = dx->dim[dx->rank - 1];
    const int *label = ints(labels);
    real share = *reals(dloss) / (real)n;
    (void)d;
    for (size_t i = 0; i < n; i++) reals(dx)[i * way + (size_t)label[i]] -= share;
    return OK;
}
