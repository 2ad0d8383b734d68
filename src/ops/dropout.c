/* dropout.c - dropout and DropBlock: a mask drawn on the host by counter, so that it is the same on every device, and a
 * product with it. */
#include "ops/op.h"
#include "ops/ops.h"
#include <string.h>

/* A constant like x from the host's bytes: `scale` where they are not 0. */
static var *mask_of(tape *t, const var *x, const unsigned char *keep, double scale)
{
    const size_t count = tensor_count(&x->value);
    void *host;
    const status st = tape_host(t, tensor_bytes(&x->value), &host);
    if (st != OK) return tape_fail(t, st);
    for (size_t i = 0; i < count; i++) {
        if (x->value.type == DT_F32) ((float *)host)[i] = keep[i] ? (float)scale : 0;
        else ((double *)host)[i] = keep[i] ? scale : 0;
    }
    return tape_upload(t, x->value.type, x->value.rank, x->value.dim, host);
}

static bool may_drop(tape *t, const char *op, const var *x, double rate, double most)
{
    if (tape_status(t) != OK) return false;
    status st = OK;
    if (!x) st = fail(ST_USAGE, "op %s: input 1 is missing", op);
    else if (x->value.type >= DT_REALS)
        st = fail(ST_USAGE, "op %s: input 1 is %s; it must be f32 or f64", op, dtype_name(x->value.type));
    else if (!(rate >= 0 && rate <= most))
        st = fail(ST_USAGE, "op %s: the rate is %g, but must lie between 0 and %g", op, rate, most);
    if (st != OK) tape_fail(t, st);
    return st == OK;
}

var *op_dropout(tape *t, var *x, double rate, struct random *r)
{
    void *keep;
    if (!may_drop(t, "dropout", x, rate, 0.999)) return NULL;
    const size_t count = tensor_count(&x->value);
    const status st = tape_host(t, count, &keep);
    if (st != OK) return tape_fail(t, st);
    for (size_t i = 0; i < count; i++) ((unsigned char *)keep)[i] = random_unit(r) >= rate;
    return op_mul(t, x, mask_of(t, x, keep, 1 / (1 - rate)));
}

/* Clears a square of keep [h, w, c] in one channel; `at` is its corner. */
static void erase(unsigned char *at, size_t block, size_t w, size_t c)
{
    for (size_t y = 0; y < block; y++)
        for (size_t x = 0; x < block; x++) at[(y * w + x) * c] = 0;
}

static bool block_fits(tape *t, const tensor *x, size_t block)
{
    char shape[SHAPE_TEXT];
    if (x->rank == 4 && block && x->dim[1] >= block && x->dim[2] >= block) return true;
    tape_fail(t,
              fail(ST_SHAPE, "op drop_block: a square of %zu does not fit maps of shape %s; they must be [n, h, w, c]",
                   block, tensor_shape_text(x, shape)));
    return false;
}

var *op_drop_block_at(tape *t, var *x, const unsigned char *seeds, size_t block)
{
    void *memory;
    if (!may_drop(t, "drop_block", x, 0, 1) || !block_fits(t, &x->value, block)) return NULL;
    const size_t count = tensor_count(&x->value), h = x->value.dim[1], w = x->value.dim[2], c = x->value.dim[3];
    const size_t sh = h - block + 1, sw = w - block + 1;
    const status st = tape_host(t, count, &memory);
    if (st != OK) return tape_fail(t, st);
    unsigned char *keep = memory;
    memset(keep, 1, count);
    for (size_t i = 0; i < x->value.dim[0] * sh * sw * c; i++) {
        const size_t column = i / c % sw, row = i / c / sw % sh, picture = i / c / sw / sh;
        if (seeds[i]) erase(keep + ((picture * h + row) * w + column) * c + i % c, block, w, c);
    }
    size_t left = 0;
    for (size_t i = 0; i < count; i++) left += keep[i];
    /* with nothing left the map is 0, whatever the scale */
    return op_mul(t, x, mask_of(t, x, keep, left ? (double)count / (double)left : 1));
}

var *op_drop_block(tape *t, var *x, double seed_rate, size_t block, struct random *r)
{
    void *memory;
    if (!may_drop(t, "drop_block", x, seed_rate, 1) || !block_fits(t, &x->value, block)) return NULL;
    const tensor *v = &x->value;
    const size_t count = v->dim[0] * (v->dim[1] - block + 1) * (v->dim[2] - block + 1) * v->dim[3];
    const status st = tape_host(t, count, &memory);
    if (st != OK) return tape_fail(t, st);
    unsigned char *seeds = memory;
    for (size_t i = 0; i < count; i++) seeds[i] = random_unit(r) < seed_rate;
    return op_drop_block_at(t, x, seeds, block);
}
