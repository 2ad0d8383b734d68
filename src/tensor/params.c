/* params.c - the list of named parameters. Each entry is an allocation of its own, so that pointers to it stay valid
 * while the list grows. Gradients share a few blocks of memory, so that zeroing them all is a few calls. */
#include "tensor/params.h"
#include "base/size.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { GRAD_ALIGN = 256, GRAD_BLOCK_LEAST = 64 << 10, GRAD_BLOCK_MOST = 16 << 20 };

struct grad_block {
    void *memory; /* owned, of the device */
    size_t bytes, used;
    struct grad_block *previous;
};

struct params {
    struct device *dev;
    struct param **item; /* owned, and each of them with its name and the memory of its value */
    size_t count, capacity;
    struct grad_block *grads; /* owned; the newest */
    bool fixed;               /* nothing is trained */
};

struct params *params_new(struct device *d)
{
    struct params *p = calloc(1, sizeof *p);
    if (p) p->dev = d;
    return p;
}

struct params *params_new_fixed(struct device *d)
{
    struct params *p = params_new(d);
    if (p) p->fixed = true;
    return p;
}

struct device *params_device(const struct params *p) { return p->dev; }

static void param_free(struct device *d, struct param *e)
{
    if (!e) return;
    if (e->value.data) d->release(d, e->value.data);
    if (e->ready.memory) d->release(d, e->ready.memory);
    free((char *)e->name);
    free(e);
}

void params_free(struct params *p)
{
    if (!p) return;
    for (size_t i = 0; i < p->count; i++) param_free(p->dev, p->item[i]);
    for (struct grad_block *b = p->grads, *previous; b; b = previous) {
        previous = b->previous;
        p->dev->release(p->dev, b->memory);
        free(b);
    }
    free(p->item);
    free(p);
}

static status reserve(struct params *p)
{
    size_t bytes, capacity = size_max(16, 2 * p->capacity);
    if (p->count < p->capacity) return OK;
    if (!size_mul(capacity, sizeof(struct param *), &bytes)) return fail(ST_MEMORY, "no memory for more parameters");
    struct param **item = realloc(p->item, bytes);
    if (!item) return fail(ST_MEMORY, "no memory for more than %zu parameters", p->count);
    p->item = item;
    p->capacity = capacity;
    return OK;
}

static status make_zero(struct device *d, dtype type, int rank, const size_t *dim, tensor *out)
{
    status st = tensor_make(out, type, rank, dim, NULL);
    if (st == OK) st = d->alloc(d, tensor_bytes(out), &out->data);
    if (st == OK) st = d->zero(d, out->data, tensor_bytes(out));
    return st;
}

/* A block with room for `bytes`, all zero; each is twice the one before, within bounds. */
static status add_grad_block(struct params *p, size_t bytes)
{
    const size_t doubled = p->grads ? 2 * size_min(p->grads->bytes, GRAD_BLOCK_MOST / 2) : GRAD_BLOCK_LEAST;
    struct grad_block *b = calloc(1, sizeof *b);
    if (!b) return fail(ST_MEMORY, "no memory for gradients");
    *b = (struct grad_block){.bytes = size_max(bytes, doubled), .previous = p->grads};
    status st = p->dev->alloc(p->dev, b->bytes, &b->memory);
    if (st == OK) {
        p->grads = b; /* owns it from here */
        return p->dev->zero(p->dev, b->memory, b->bytes);
    }
    free(b);
    return st;
}

static status make_grad(struct params *p, const tensor *value, tensor *out)
{
    const size_t bytes = size_round_up(tensor_bytes(value), GRAD_ALIGN); /* at most PTRDIFF_MAX before: no overflow */
    if (!p->grads || p->grads->bytes - p->grads->used < bytes) {
        const status st = add_grad_block(p, bytes);
        if (st != OK) return st;
    }
    *out = *value;
    out->data = (char *)p->grads->memory + p->grads->used;
    p->grads->used += bytes;
    return OK;
}

static status add(struct params *p, const char *name, dtype type, int rank, const size_t *dim, bool trained,
                  struct param **out)
{
    status st = OK;
    if (params_find(p, name)) return fail(ST_USAGE, "there already is a parameter '%s'; names are unique", name);
    struct param *e = calloc(1, sizeof *e);
    if (!e || !(e->name = strdup(name))) {
        st = fail(ST_MEMORY, "no memory for parameter '%s'", name);
        goto done;
    }
    TRY(reserve(p));
    TRY(make_zero(p->dev, type, rank, dim, &e->value));
    if (trained) TRY(make_grad(p, &e->value, &e->grad));
    e->trained = trained;
    p->item[p->count++] = *out = e;
    e = NULL; /* the list owns it from here */
done:
    param_free(p->dev, e);
    return st;
}

status params_add(struct params *p, const char *name, dtype type, int rank, const size_t *dim, struct param **out)
{
    return add(p, name, type, rank, dim, !p->fixed, out);
}

status params_add_buffer(struct params *p, const char *name, dtype type, int rank, const size_t *dim,
                         struct param **out)
{
    return add(p, name, type, rank, dim, false, out);
}

struct param *params_find(struct params *p, const char *name)
{
    for (size_t i = 0; i < p->count; i++)
        if (!strcmp(p->item[i]->name, name)) return p->item[i];
    return NULL;
}

size_t params_count(const struct params *p) { return p->count; }

struct param *params_at(struct params *p, size_t i)
{
    assert(i < p->count);
    return p->item[i];
}

status params_zero_grad(struct params *p)
{
    status st = OK;
    for (const struct grad_block *b = p->grads; b && st == OK; b = b->previous)
        st = p->dev->zero(p->dev, b->memory, b->used);
    return st;
}

bool params_grad_block(const struct params *p, size_t i, void **memory, size_t *bytes)
{
    const struct grad_block *b = p->grads;
    while (b && i--) b = b->previous;
    if (!b) return false;
    *memory = b->memory;
    *bytes = b->used;
    return true;
}

void params_freeze(struct params *p)
{
    for (size_t i = 0; i < p->count; i++) p->item[i]->frozen = true;
}

void params_thaw(struct params *p)
{
    for (size_t i = 0; i < p->count; i++) {
        struct param *e = p->item[i];
        if (e->ready.memory) p->dev->release(p->dev, e->ready.memory);
        e->ready = (struct conv_ready){0};
        e->frozen = false;
    }
}
