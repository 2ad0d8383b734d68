/* npy_header.h - the header of a NumPy array file: a Python dictionary as text. Only npy.c needs it. */
#ifndef BASE_NPY_HEADER_H
#define BASE_NPY_HEADER_H
#include "base/npy.h"
#include "base/text.h"

struct npy_header {
    char kind;         /* 'f' real, 'i' integer, 'u' without sign, 'b' bool */
    size_t item_bytes; /* 1, 2, 4 or 8 */
    bool big_endian, fortran;
    int rank;
    size_t dim[NPY_MAX_RANK];
    size_t count;   /* product of dim; count * item_bytes fits a size_t */
    size_t data_at; /* bytes before the numbers */
};

/* Reads the header at the start of a file's `n` bytes. */
status npy_header_parse(const char *name, const void *bytes, size_t n, struct npy_header *out);
/* Adds a header of version 1.0 for little-endian numbers in C order; the numbers follow at a multiple of 64. */
void npy_header_write(text *to, enum npy_type type, int rank, const size_t *dim);
#endif
