/* netfile.h - files of weights as others would have them: a network with start values, whole or spoilt. */
#ifndef TESTS_API_NETFILE_H
#define TESTS_API_NETFILE_H
#include "weights/names.h"
#include "weights/weights.h"

struct netfile {
    const char *net;                                       /* "conv4" */
    const char *options;                                   /* "net.width=4"; NULL: none */
    const char *prefix;                                    /* before each name; NULL: none */
    void (*rename)(const char *ours, char out[NAME_TEXT]); /* NULL: as they are */
    const char *without;                                   /* this array is left out */
    const char *also;                                      /* a matrix of that name is added */
    const char *turned;                                    /* this array has another shape */
    const char *sick;                                      /* its first number is not a number */
    size_t metas;
    const struct meta *meta;
};
/* Safetensors at `path`; false after a failed expectation. */
bool netfile_write(const char *path, const struct netfile *f);
#endif
