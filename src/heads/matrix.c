/* matrix.c - constant matrices: filled on the host, then uploaded. */
#include "heads/matrix.h"
#include <string.h>

/* Zeros in host memory of the tape; NULL after a failure. */
static void *zeros(tape *t, dtype type, size_t n)
{
    void *host;
    const status st = tape_host(t, n * dtype_bytes(type), &host);
    if (st != OK) return tape_fail(t, st);
    return memset(host, 0, n * dtype_bytes(type));
}

static void put(void *host, dtype type, size_t i, double v)
{
    if (type == DT_F32) ((float *)host)[i] = (float)v;
    else ((double *)host)[i] = v;
}

var *matrix_identity(tape *t, dtype type, size_t n)
{
    void *host = zeros(t, type, n * n);
    if (!host) return NULL;
    for (size_t i = 0; i < n; i++) put(host, type, i * n + i, 1);
    return tape_upload(t, type, 2, (size_t[]){n, n}, host);
}

var *matrix_one_hot(tape *t, dtype type, const size_t *first, size_t way)
{
    const size_t rows = first[way];
    void *host = zeros(t, type, rows * way);
    if (!host) return NULL;
    for (size_t c = 0; c < way; c++)
        for (size_t i = first[c]; i < first[c + 1]; i++) put(host, type, i * way + c, 1);
    return tape_upload(t, type, 2, (size_t[]){rows, way}, host);
}

var *matrix_filled(tape *t, dtype type, int rank, const size_t *dim, double value)
{
    size_t n = 1;
    for (int i = 0; i < rank; i++) n *= dim[i];
    void *host = zeros(t, type, n);
    if (!host) return NULL;
    for (size_t i = 0; i < n; i++) put(host, type, i, value);
    return tape_upload(t, type, rank, dim, host);
}
