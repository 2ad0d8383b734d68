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

enum { ALIGN = 256 };

struct running {
    struct params *params; /* borrowed */
    size_t bytes;          /* of each of the two: all buffers, one behind the other, aligned */
    char *before, *change; /* owned, of the device */
};

/* Calls `each` with every buffer and its place in the two blocks. */
static status for_each(struct running *r, status (*each)(struct running *r, struct param *e, size_t at, double weight),
                       double weight)
{
    status st = OK;
    size_t at = 0;
    for (size_t i = 0; i < params_count(r->params) && st == OK; i++) {
        struct param *e = params_at(r->params, i);
        if (e->trained) continue;
        st = each(r, e, at, weight);
        at += size_round_up(tensor_bytes(&e->value), ALIGN);
    }
    return st;
}

static tensor seen_at(const struct param *e, char *memory)
{
    tensor x = e->value;
    x.data = memory;
    return x;
}

static status keep(struct running *r, struct param *e, size_t at, double weight)
{
    struct device *d = params_device(r->params);
    (void)weight;
    return d->copy(d, r->before + at, e->value.data, tensor_bytes(&e->value));
}

/* The change first, alone: what did not change stays the same to the last bit. */
static status note(struct running *r, struct param *e, size_t at, double weight)
{
    status st = OK;
    struct device *d = params_device(r->params);
    const tensor before = seen_at(e, r->before + at), change = seen_at(e, r->change + at);
    tensor sum = change;
    TRY(PRIM_CALL(d, e->value.type, axpy, (d, -1, &before, &e->value)));
    TRY(PRIM_CALL(d, e->value.type, axpy, (d, weight, &e->value, &sum)));
    TRY(d->copy(d, e->value.data, before.data, tensor_bytes(&before)));
done:
    return st;
}

static status apply(struct running *r, struct param *e, size_t at, double weight)
{
    struct device *d = params_device(r->params);
    const tensor change = seen_at(e, r->change + at);
    return PRIM_CALL(d, e->value.type, axpy, (d, weight, &change, &e->value));
}

status running_new(struct params *p, struct running **out)
{
    status st = OK;
    struct device *d = params_device(p);
    void *memory = NULL;
    struct running *r = calloc(1, sizeof *r);
    if (!r) return fail(ST_MEMORY, "no memory for running statistics");
    r->params = p;
    for (size_t i = 0; i < params_count(p); i++)
        if (!params_at(p, i)->trained) r->bytes += size_round_up(tensor_bytes(&params_at(p, i)->value), ALIGN);
    TRY(d->alloc(d, size_max(ALIGN, r->bytes), &memory));
    r->before = memory;
    TRY(d->alloc(d, size_max(ALIGN, r->bytes), &memory));
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
    struct device *d = params_device(r->params);
    const status st = r->bytes ? d->zero(d, r->change, r->bytes) : OK;
    return st == OK ? for_each(r, keep, 0) : st;
}

status running_part(struct running *r, double weight) { return for_each(r, note, weight); }
status running_end(struct running *r) { return for_each(r, apply, 1); }

void running_changes(const struct running *r, void **memory, size_t *bytes)
{
    *memory = r->change;
    *bytes = r->bytes;
}
