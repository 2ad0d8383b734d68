/* params.c - the list of named parameters. Each entry is an allocation of its own, so that pointers to it stay valid
 * while the list grows. Gradients share a few blocks of memory, so that zeroing them all is a few calls; so do buffers. */
#include "tensor/params.h"
#include "base/size.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 256, BLOCK_LEAST = 64 << 10, BLOCK_MOST = 16 << 20 };

struct block {
    void *memory; /* owned, of the device */
    size_t bytes, used;
    struct block *previous;
};

struct params {
    struct device *dev;
    struct param **item; /* owned, and each of them with its name and the memory of its value */
    uint32_t *hash;      /* owned: of each name; a network asks for hundreds of them at every pass */
    size_t count, capacity;
    struct block *grads, *buffers; /* owned; the newest */
    bool fixed;                    /* nothing is trained */
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

void params_borrow(struct params *p, struct param *e, const void *values)
{
    assert(p->fixed && p->dev->on_host && !e->frozen);
    if (!e->in_block) p->dev->release(p->dev, e->value.data);
    e->value.data = (void *)values; /* nobody changes those of a list that is only used */
    e->in_block = true;
}

/* Fowler, Noll and Vo's, 1a, of 32 bits. */
static uint32_t hash_of(const char *name)
{
    uint32_t hash = 2166136261u;
    for (; *name; name++) hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash;
}

static void param_free(struct device *d, struct param *e)
{
    if (!e) return;
    if (e->value.data && !e->in_block) d->release(d, e->value.data);
    if (e->ready.memory) d->release(d, e->ready.memory);
    free((char *)e->name);
    free(e);
}

static void blocks_free(struct device *d, struct block *newest)
{
    for (struct block *b = newest, *previous; b; b = previous) {
        previous = b->previous;
        d->release(d, b->memory);
        free(b);
    }
}

void params_free(struct params *p)
{
    if (!p) return;
    for (size_t i = 0; i < p->count; i++) param_free(p->dev, p->item[i]);
    blocks_free(p->dev, p->grads);
    blocks_free(p->dev, p->buffers);
    free(p->item);
    free(p->hash);
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
    uint32_t *hash = realloc(p->hash, capacity * sizeof *hash);
    if (!hash) return fail(ST_MEMORY, "no memory for more than %zu parameters", p->count);
    p->hash = hash;
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
static status add_block(struct device *d, size_t bytes, struct block **newest)
{
    const size_t doubled = *newest ? 2 * size_min((*newest)->bytes, BLOCK_MOST / 2) : BLOCK_LEAST;
    struct block *b = calloc(1, sizeof *b);
    if (!b) return fail(ST_MEMORY, "no memory for parameters");
    *b = (struct block){.bytes = size_max(bytes, doubled), .previous = *newest};
    status st = d->alloc(d, b->bytes, &b->memory);
    if (st == OK) {
        *newest = b; /* the list owns it from here */
        return d->zero(d, b->memory, b->bytes);
    }
    free(b);
    return st;
}

/* Memory for `out`, whose shape is known, zero. */
static status take(struct device *d, struct block **newest, tensor *out)
{
    const size_t bytes = size_round_up(tensor_bytes(out), ALIGN); /* at most PTRDIFF_MAX before: no overflow */
    if (!*newest || (*newest)->bytes - (*newest)->used < bytes) {
        const status st = add_block(d, bytes, newest);
        if (st != OK) return st;
    }
    out->data = (char *)(*newest)->memory + (*newest)->used;
    (*newest)->used += bytes;
    return OK;
}

static status make_grad(struct params *p, const tensor *value, tensor *out)
{
    *out = *value;
    return take(p->dev, &p->grads, out);
}

/* Those of lists that are only used are the weights themselves, and have their own memory, so that none is left over. */
static status make_value(struct params *p, dtype type, int rank, const size_t *dim, bool trained, struct param *e)
{
    if (trained || p->fixed) return make_zero(p->dev, type, rank, dim, &e->value);
    const status st = tensor_make(&e->value, type, rank, dim, NULL);
    e->in_block = true;
    return st == OK ? take(p->dev, &p->buffers, &e->value) : st;
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
    TRY(make_value(p, type, rank, dim, trained, e));
    if (trained) TRY(make_grad(p, &e->value, &e->grad));
    e->trained = trained;
    p->hash[p->count] = hash_of(name);
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
    const uint32_t hash = hash_of(name);
    for (size_t i = 0; i < p->count; i++)
        if (p->hash[i] == hash && !strcmp(p->item[i]->name, name)) return p->item[i];
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
    for (const struct block *b = p->grads; b && st == OK; b = b->previous)
        st = p->dev->zero(p->dev, b->memory, b->used);
    return st;
}

static bool block_at(const struct block *b, size_t i, void **memory, size_t *bytes)
{
    while (b && i--) b = b->previous;
    if (!b) return false;
    *memory = b->memory;
    *bytes = b->used;
    return true;
}

bool params_grad_block(const struct params *p, size_t i, void **memory, size_t *bytes)
{
    return block_at(p->grads, i, memory, bytes);
}

bool params_buffer_block(const struct params *p, size_t i, void **memory, size_t *bytes)
{
    return block_at(p->buffers, i, memory, bytes);
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
