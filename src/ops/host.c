/* host.c - tensors as doubles on the host, and back. */
#include "ops/host.h"
#include "base/size.h"
#include <string.h>

status host_zeros(tape *t, size_t count, double **out)
{
    void *memory;
    size_t bytes;
    *out = NULL;
    if (!size_mul(size_max(1, count), sizeof(double), &bytes))
        return fail(ST_MEMORY, "%zu numbers are more than memory can hold", count);
    const status st = tape_host(t, bytes, &memory);
    if (st == OK) *out = memset(memory, 0, bytes);
    return st;
}

status host_read(tape *t, const tensor *x, double **out)
{
    status st = OK;
    void *raw;
    struct device *d = tape_device(t);
    const size_t n = tensor_count(x);
    TRY(host_zeros(t, n, out));
    if (x->type == DT_F64) return d->download(d, *out, x->data, tensor_bytes(x));
    TRY(tape_host(t, tensor_bytes(x), &raw));
    TRY(d->download(d, raw, x->data, tensor_bytes(x)));
    for (size_t i = 0; i < n; i++) (*out)[i] = (double)((const float *)raw)[i];
done:
    return st;
}

status host_put(tape *t, const double *numbers, tensor *to)
{
    status st = OK;
    void *raw;
    struct device *d = tape_device(t);
    const size_t n = tensor_count(to);
    if (to->type == DT_F64) return d->upload(d, to->data, numbers, tensor_bytes(to));
    TRY(tape_host(t, tensor_bytes(to), &raw)); /* the upload may still read it when this returns */
    for (size_t i = 0; i < n; i++) ((float *)raw)[i] = (float)numbers[i];
    TRY(d->upload(d, to->data, raw, tensor_bytes(to)));
done:
    return st;
}

status host_write(tape *t, dtype type, int rank, const size_t *dim, const double *numbers, tensor *out)
{
    const status st = tape_tensor(t, type, rank, dim, out);
    return st == OK ? host_put(t, numbers, out) : st;
}
