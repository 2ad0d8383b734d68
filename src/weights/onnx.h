/* onnx.h - a network as an ONNX file: nodes, constants, inputs and outputs are added one by one, then written at once.
 *
 * Failure is sticky, so that a network is added without looking and onnx_write tells the first failure. What the numbers
 * of fields and types mean stands in onnx.proto of the ONNX project (IR version 8, opset 17). Who adds what: api/onnx.c. */
#ifndef WEIGHTS_ONNX_H
#define WEIGHTS_ONNX_H
#include "base/status.h"
#include <stddef.h>
#include <stdint.h>

enum { ONNX_OPSET = 17, ONNX_MOST_INTS = 4 };

struct onnx; /* a model that is being made */

status onnx_new(struct onnx **out);
void onnx_free(struct onnx *m);

/* Memory for the numbers of a constant, to be filled before onnx_write; NULL after a failure. Rank 0: a single number. */
float *onnx_constant(struct onnx *m, const char *name, int rank, const size_t *dim);

struct onnx_attribute {
    const char *name;
    size_t count;                 /* of ints; 0: a number */
    int64_t ints[ONNX_MOST_INTS]; /* as a list, also where it has one; see onnx_int */
    double number;
    int single; /* the first of ints by itself */
};
struct onnx_attribute onnx_int(const char *name, int64_t value);
struct onnx_attribute onnx_ints(const char *name, size_t count, const int64_t *values);
struct onnx_attribute onnx_number(const char *name, double value);

struct onnx_node {
    const char *type, *output; /* "Conv"; the node is called like its output */
    const char *input[5];      /* as many as are not NULL */
    size_t attributes;
    struct onnx_attribute attribute[5];
};
void onnx_add(struct onnx *m, const struct onnx_node *node);

/* A float tensor [n, ...] for any n: the sizes behind the first. */
enum onnx_end { ONNX_INPUT, ONNX_OUTPUT };
void onnx_end(struct onnx *m, enum onnx_end which, const char *name, int rank, const size_t *dim);
void onnx_meta(struct onnx *m, const char *key, const char *value);
/* Writes atomically. `name` is that of the graph, `version` that of this library. Refuses more than 2 GB, the limit of the format. */
status onnx_write(struct onnx *m, const char *name, const char *version, const char *path);
#endif
