/* tensor.c - types, shapes and sizes; nothing here follows a tensor's data. */
#include "tensor/tensor.h"
#include "base/size.h"
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

size_t dtype_bytes(dtype t)
{
    static const size_t bytes[DT_COUNT] = {[DT_F32] = 4, [DT_F64] = 8, [DT_I32] = 4, [DT_BF16] = 2};
    assert(t < DT_COUNT);
    return bytes[t];
}

const char *dtype_name(dtype t)
{
    static const char *const names[DT_COUNT] = {
        [DT_F32] = "f32", [DT_F64] = "f64", [DT_I32] = "i32", [DT_BF16] = "bf16"};
    assert(t < DT_COUNT);
    return names[t];
}

size_t tensor_span(const tensor *x, int from, int to)
{
    size_t n = 1;
    for (int i = from; i < to; i++) n *= x->dim[i];
    return n;
}

size_t tensor_count(const tensor *x) { return tensor_span(x, 0, x->rank); }

size_t tensor_bytes(const tensor *x) { return tensor_count(x) * dtype_bytes(x->type); }

status tensor_make(tensor *out, dtype type, int rank, const size_t *dim, void *data)
{
    tensor x = {.type = type, .rank = rank, .data = data};
    if (rank < 0 || rank > MAX_RANK)
        return fail(ST_SHAPE, "a tensor of rank %d is not possible; the rank may be 0 to %d", rank, MAX_RANK);
    /* A size of 0 counts as 1, so that the product of any part of the sizes fits too (tensor_span). */
    size_t bytes = dtype_bytes(type);
    for (int i = 0; i < rank; i++) {
        x.dim[i] = dim[i];
        if (!size_mul(bytes, size_max(dim[i], 1), &bytes) || bytes > PTRDIFF_MAX) {
            memcpy(x.dim, dim, (size_t)rank * sizeof *dim);
            char shape[SHAPE_TEXT];
            return fail(ST_SHAPE, "a tensor of shape %s is too large to address", tensor_shape_text(&x, shape));
        }
    }
    *out = x;
    return OK;
}

bool tensor_same_shape(const tensor *a, const tensor *b)
{
    if (a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i] != b->dim[i]) return false;
    return true;
}

const char *tensor_shape_text(const tensor *x, char buffer[SHAPE_TEXT])
{
    int at = snprintf(buffer, SHAPE_TEXT, "[");
    for (int i = 0; i < x->rank; i++) /* at most 6 sizes of 20 digits: always fits */
        at += snprintf(buffer + at, SHAPE_TEXT - (size_t)at, i ? ", %zu" : "%zu", x->dim[i]);
    snprintf(buffer + at, SHAPE_TEXT - (size_t)at, "]");
    return buffer;
}

tensor tensor_rows(const tensor *x, size_t from, size_t to)
{
    tensor rows = *x;
    assert(from <= to && to <= x->dim[0]);
    rows.dim[0] = to - from;
    rows.data = (char *)x->data + from * tensor_span(x, 1, x->rank) * dtype_bytes(x->type);
    return rows;
}
