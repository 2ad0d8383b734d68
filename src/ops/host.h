/* host.h - tensors as doubles on the host, for work that is too small and too branched for a device.
 *
 * Reading waits for the device. The numbers lie in memory of the tape until its reset. */
#ifndef OPS_HOST_H
#define OPS_HOST_H
#include "ops/tape.h"

/* `count` zeros. */
status host_zeros(tape *t, size_t count, double **out);
/* The numbers of a real tensor. */
status host_read(tape *t, const tensor *x, double **out);
/* A new tensor of the type and shape with the given numbers. */
status host_write(tape *t, dtype type, int rank, const size_t *dim, const double *numbers, tensor *out);
/* The same into a tensor that is there. */
status host_put(tape *t, const double *numbers, tensor *to);
#endif
