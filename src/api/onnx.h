/* onnx.h - what the files that turn steps into ONNX nodes share (api/onnx.c, api/onnx_pool.c). */
#ifndef API_ONNX_H
#define API_ONNX_H
#include "api/net.h"
#include "ops/steps.h"
#include "weights/onnx.h"

enum { ONNX_NAME = 96 };

struct onnx_value { /* what a step gave */
    char name[ONNX_NAME];
    bool turned;   /* [n, h, w, c] on the tape */
    size_t pad[4]; /* zeros around it that the convolution which takes it has to add */
};

struct onnx_writer {
    centra_net *net;
    const struct steps *steps;
    struct onnx *model;
    struct onnx_value *value; /* one for each step */
    size_t result;            /* the step that is called "features" */
};

/* Writes the file of all steps, of which `last` gives the features. The writer has its network and its steps. */
status onnx_write_steps(struct onnx_writer *w, size_t last, const char *path);
/* The step of adaptive pooling under the name `output`. */
status onnx_adaptive_pool(struct onnx_writer *w, const struct step *step, const char *output);
#endif
