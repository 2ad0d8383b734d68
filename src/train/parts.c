/* parts.c - parts of a lesson, and the running statistics of a step in parts. */
#include "train/parts.h"
#include "base/size.h"
#include "peers/peers.h"
#include "tensor/params.h"
#include <stdlib.h>
#include <string.h>

static size_t units(const struct lesson *l) { return l->episodes ? l->episodes : l->queries; }

size_t lesson_parts(const struct lesson *whole, size_t parts) { return size_min(units(whole), parts); }

void lesson_part(const struct lesson *whole, size_t part, size_t parts, uint32_t *picture, struct lesson *out)
{
    const size_t all = units(whole), from = peers_first(all, part, parts), n = peers_first(all, part + 1, parts) - from;
    const size_t support = whole->support / all,
                 queries = whole->queries / all; /* of an episode; 0 and 1 of a picture */
    *out = (struct lesson){.epoch = whole->epoch,
                           .index = whole->index,
                           .episodes = whole->episodes ? n : 0,
                           .support = n * support,
                           .queries = n * queries,
                           .picture = picture,
                           .labels = whole->labels + from * queries,
                           .part = (unsigned)part,
                           .first_support = whole->first_support + from * support,
                           .first_query = whole->first_query + from * queries,
                           .weight = (double)n / (double)all};
    memcpy(picture, whole->picture + from * support, out->support * sizeof *picture);
    memcpy(picture + out->support, whole->picture + whole->support + from * queries, out->queries * sizeof *picture);
}

/* Running statistics */

struct running {
    struct params *params; /* borrowed */
    dtype type;
    size_t bytes;          /* of each of the two: the blocks of buffers, one behind the other */
    char *before, *change; /* owned, of the device */
    bool noted;            /* a part has been, since the step began */
};

/* A stretch of memory as a tensor of the buffers' type. */
static tensor stretch(const struct running *r, void *memory, size_t bytes)
{
    return (tensor){.type = r->type, .rank = 1, .dim = {bytes / dtype_bytes(r->type)}, .data = memory};
}

/* Calls `each` with every block of buffers and its place in the two. */
static status for_each(struct running *r, status (*each)(struct running *r, tensor *values, size_t at, double weight),
                       double weight)
{
    status st = OK;
    void *memory;
    size_t bytes, at = 0;
    for (size_t i = 0; st == OK && params_buffer_block(r->params, i, &memory, &bytes); i++, at += bytes) {
        tensor values = stretch(r, memory, bytes);
        st = each(r, &values, at, weight);
    }
    return st;
}

static status keep(struct running *r, tensor *values, size_t at, double weight)
{
    struct device *d = params_device(r->params);
    (void)weight;
    return d->copy(d, r->before + at, values->data, tensor_bytes(values));
}

/* The change first, alone: what did not change stays the same to the last bit. */
static status note(struct running *r, tensor *values, size_t at, double weight)
{
    status st = OK;
    struct device *d = params_device(r->params);
    const size_t bytes = tensor_bytes(values);
    const tensor before = stretch(r, r->before + at, bytes);
    tensor change = stretch(r, r->change + at, bytes);
    TRY(PRIM_CALL(d, r->type, axpy, (d, -1, &before, values)));
    if (r->noted) TRY(PRIM_CALL(d, r->type, axpy, (d, weight, values, &change)));
    else TRY(PRIM_CALL(d, r->type, affine, (d, values, weight, 0, &change)));
    TRY(d->copy(d, values->data, before.data, bytes));
done:
    return st;
}

static status apply(struct running *r, tensor *values, size_t at, double weight)
{
    struct device *d = params_device(r->params);
    const tensor change = stretch(r, r->change + at, tensor_bytes(values));
    return PRIM_CALL(d, r->type, axpy, (d, weight, &change, values));
}

static status find_type(struct running *r)
{
    bool first = true;
    for (size_t i = 0; i < params_count(r->params); i++) {
        const struct param *e = params_at(r->params, i);
        if (e->trained) continue;
        if (!first && e->value.type != r->type)
            return fail(ST_UNSUPPORTED, "buffers of two types cannot be averaged over parts of a step");
        r->type = e->value.type;
        first = false;
    }
    return OK;
}

status running_new(struct params *p, struct running **out)
{
    status st = OK;
    struct device *d = params_device(p);
    void *memory = NULL;
    size_t bytes;
    struct running *r = calloc(1, sizeof *r);
    if (!r) return fail(ST_MEMORY, "no memory for running statistics");
    *r = (struct running){.params = p, .type = DT_F32};
    TRY(find_type(r));
    for (size_t i = 0; params_buffer_block(p, i, &memory, &bytes); i++) r->bytes += bytes;
    TRY(d->alloc(d, size_max(1, r->bytes), &memory));
    r->before = memory;
    TRY(d->alloc(d, size_max(1, r->bytes), &memory));
    r->change = memory;
    *out = r;
    r = NULL;
done:
    running_free(r);
    return st;
}

void running_free(struct running *r)
{
    if (!r) return;
    struct device *d = params_device(r->params);
    if (r->before) d->release(d, r->before);
    if (r->change) d->release(d, r->change);
    free(r);
}

status running_begin(struct running *r)
{
    r->noted = false;
    return for_each(r, keep, 0);
}

status running_part(struct running *r, double weight)
{
    const status st = for_each(r, note, weight);
    r->noted = true;
    return st;
}

status running_end(struct running *r) { return for_each(r, apply, 1); }

status running_changes(struct running *r, void **memory, size_t *bytes)
{
    struct device *d = params_device(r->params);
    *memory = r->change;
    *bytes = r->bytes;
    return r->noted || !r->bytes ? OK : d->zero(d, r->change, r->bytes); /* no part was ours */
}
