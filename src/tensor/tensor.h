/* tensor.h - an array of numbers on a device: type, shape, and where it lies.
 *
 * A tensor is always dense and row-major, so a reshape is a second tensor over the same memory and every other change
 * of layout is an operator that copies. The struct owns nothing; its memory belongs to an arena, a parameter list or
 * the caller. Only a device's primitives may follow `data`. Read tensor/device.h next. */
#ifndef TENSOR_TENSOR_H
#define TENSOR_TENSOR_H
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Primitives exist for the reals. DT_BF16, half of a float's bits, is how a device may store a network's maps beside
 * parameters in DT_F32; it has no primitives of its own (tensor/prims.def, "networks"). */
typedef enum dtype { DT_F32, DT_F64, DT_REALS, DT_I32 = DT_REALS, DT_BF16, DT_COUNT } dtype;

enum { MAX_RANK = 6 };

typedef struct tensor {
    dtype type;
    int rank; /* 0: a single number */
    size_t dim[MAX_RANK];
    void *data; /* device memory; borrowed */
} tensor;

size_t dtype_bytes(dtype t);
const char *dtype_name(dtype t); /* "f32" */

/* Number of elements; 1 for rank 0. Sizes were checked by tensor_make. */
size_t tensor_count(const tensor *x);
size_t tensor_bytes(const tensor *x);
/* A tensor over given memory. Fails when the rank or the product of the sizes is too large. */
status tensor_make(tensor *out, dtype type, int rank, const size_t *dim, void *data);
bool tensor_same_shape(const tensor *a, const tensor *b);
/* "[75, 64, 5, 5]" into `buffer`, which is returned. */
enum { SHAPE_TEXT = 160 };
const char *tensor_shape_text(const tensor *x, char buffer[SHAPE_TEXT]);
/* Product of dims [from, to). */
size_t tensor_span(const tensor *x, int from, int to);
/* Places [from, to) of the first axis, where they lie. */
tensor tensor_rows(const tensor *x, size_t from, size_t to);
#endif
