/* mirror.c - pictures and their mirror images. */
#include "heads/mirror.h"

bool mirror_wanted(const struct head *h, size_t shot) { return h && h->mirrors && shot == 1; }

/* [n] numbers from a rule, as an index on the device */
static const tensor *index_of(tape *t, size_t n, size_t half, size_t (*rule)(size_t i, size_t n, size_t half))
{
    void *host;
    const status st = tape_host(t, n * sizeof(int32_t), &host);
    if (st != OK) return tape_fail(t, st), NULL;
    for (size_t i = 0; i < n; i++) ((int32_t *)host)[i] = (int32_t)rule(i, n, half);
    const var *v = tape_upload(t, DT_I32, 1, &n, host);
    return v ? &v->value : NULL;
}

static size_t from_the_end(size_t i, size_t n, size_t half) { return (void)half, n - 1 - i; }
static size_t in_turns(size_t i, size_t n, size_t half) { return (void)n, i / 2 + i % 2 * half; }

var *mirror_images(tape *t, var *x)
{
    if (!x) return NULL;
    const tensor *index = index_of(t, x->value.dim[3], 0, from_the_end);
    return index ? op_gather(t, x, 3, index) : NULL;
}

var *mirror_beside(tape *t, var *x)
{
    var *mirrored = mirror_images(t, x);
    if (!mirrored) return NULL;
    const size_t n = x->value.dim[0];
    const tensor *index = index_of(t, 2 * n, n, in_turns);
    return index ? op_gather(t, op_concat(t, 2, (var *[]){x, mirrored}, 0), 0, index) : NULL;
}
