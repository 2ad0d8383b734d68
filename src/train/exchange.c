/* exchange.c - gradients added up over all processes. */
#include "train/exchange.h"
#include "base/size.h"
#include <stdlib.h>

/* Fewer bytes of gradients are added up by devices in less time than it would cost them that their step is not recorded. */
enum { ALONG_BYTES = 512 << 10 };

struct block {
    char *memory; /* of the device */
    size_t bytes;
    char *host;               /* where it travels: the same memory, or a copy */
    size_t params, unsettled; /* trained parameters in it; those whose gradient may still change */
};

struct exchange {
    struct peers *peers;   /* borrowed */
    struct params *params; /* borrowed */
    struct device *device;
    enum peers_type type;
    struct block *block; /* owned, those that settle first come first */
    size_t count, sent;
    size_t bytes;       /* of all blocks */
    char *copy;         /* owned; NULL where the device's memory is the host's */
    bool among_devices; /* they add up themselves */
    status st;          /* of what set out during a backward pass */
};

bool exchange_wanted(const struct peers *peers) { return peers->size > 1 || getenv("CENTRA_EXCHANGE"); }

static struct block *block_of(struct exchange *e, const struct param *p)
{
    const char *at = p->grad.data;
    for (size_t i = 0; i < e->count; i++)
        if (at >= e->block[i].memory && at < e->block[i].memory + e->block[i].bytes) return &e->block[i];
    return NULL;
}

static status find_type(struct exchange *e)
{
    dtype type = DT_F32;
    bool first = true;
    for (size_t i = 0; i < params_count(e->params); i++) {
        const struct param *p = params_at(e->params, i);
        if (!p->trained) continue;
        if (!first && p->grad.type != type) return fail(ST_UNSUPPORTED, "parameters of two types cannot be exchanged");
        type = p->grad.type;
        first = false;
    }
    e->type = type == DT_F32 ? PEERS_F32 : PEERS_F64;
    return OK;
}

static status find_blocks(struct exchange *e)
{
    void *memory;
    size_t bytes;
    while (params_grad_block(e->params, e->count, &memory, &bytes)) e->count++;
    e->block = calloc(size_max(1, e->count), sizeof *e->block);
    if (!e->block) return fail(ST_MEMORY, "no memory for the exchange of gradients");
    for (size_t i = 0; i < e->count; i++) {
        struct block *b = &e->block[i];
        params_grad_block(e->params, i, &memory, &b->bytes);
        b->memory = b->host = memory;
        e->bytes += b->bytes;
    }
    for (size_t i = 0; i < params_count(e->params); i++) {
        struct block *b = params_at(e->params, i)->trained ? block_of(e, params_at(e->params, i)) : NULL;
        if (b) b->params++;
    }
    return OK;
}

/* Host memory for all blocks at once, where theirs is not. */
static status make_copies(struct exchange *e)
{
    if (e->device->on_host) return OK;
    e->copy = malloc(size_max(1, e->bytes));
    if (!e->copy) return fail(ST_MEMORY, "no memory for the exchange of %zu bytes", e->bytes);
    for (size_t i = 0, at = 0; i < e->count; at += e->block[i++].bytes) e->block[i].host = e->copy + at;
    return OK;
}

/* The devices learn of each other; in a fixed order the host adds, since theirs is their own affair. */
static status join_devices(struct exchange *e)
{
    status st = OK;
    struct device *d = e->device;
    char id[DEVICE_PEERS_ID_BYTES] = {0};
    if (!d->peers_sum || e->peers->in_order || !exchange_wanted(e->peers)) return OK;
    if (e->peers->rank == 0) TRY(d->peers_id(d, id));
    TRY(e->peers->broadcast(e->peers, sizeof id, id));
    TRY(d->peers_join(d, id, e->peers->rank, e->peers->size));
    e->among_devices = true;
done:
    return st;
}

status exchange_new(struct peers *peers, struct params *params, struct exchange **out)
{
    status st = OK;
    struct exchange *e = calloc(1, sizeof *e);
    if (!e) return fail(ST_MEMORY, "no memory for the exchange of gradients");
    *e = (struct exchange){.peers = peers, .params = params, .device = params_device(params)};
    TRY(find_type(e));
    TRY(find_blocks(e));
    TRY(join_devices(e));
    if (peers->size > 1 && !e->among_devices) TRY(make_copies(e));
    *out = e;
    e = NULL;
done:
    exchange_free(e);
    return st;
}

void exchange_free(struct exchange *e)
{
    if (!e) return;
    free(e->block);
    free(e->copy);
    free(e);
}

/* Gradients */

static size_t number_bytes(const struct exchange *e) { return e->type == PEERS_F32 ? sizeof(float) : sizeof(double); }

static status sum_there(struct exchange *e, void *memory, size_t bytes)
{
    const dtype type = e->type == PEERS_F32 ? DT_F32 : DT_F64;
    return e->device->peers_sum(e->device, type, bytes / number_bytes(e), memory);
}

static status send(struct exchange *e, const struct block *b)
{
    status st = OK;
    if (e->among_devices) return sum_there(e, b->memory, b->bytes);
    if (b->host != b->memory) TRY(e->device->download(e->device, b->host, b->memory, b->bytes));
    TRY(e->peers->sum(e->peers, e->type, b->bytes / number_bytes(e), b->host));
done:
    return st;
}

/* All processes send the blocks in the same order, whatever settles when. */
static void on_final(void *context, struct param *p)
{
    struct exchange *e = context;
    struct block *b = block_of(e, p);
    if (b && b->unsettled) b->unsettled--;
    while (e->st == OK && e->sent < e->count && !e->block[e->sent].unsettled) e->st = send(e, &e->block[e->sent++]);
}

bool exchange_overlaps(const struct exchange *e)
{
    if (e->among_devices) return e->bytes >= ALONG_BYTES;
    return e->peers->size > 1 && e->device->on_host; /* another device would be waited for */
}

void exchange_watch(struct exchange *e, tape *t)
{
    if (!exchange_overlaps(e)) return;
    for (size_t i = 0; i < params_count(e->params); i++) params_at(e->params, i)->pending = 0;
    for (size_t i = 0; i < e->count; i++) e->block[i].unsettled = e->block[i].params;
    tape_watch(t, on_final, e);
}

static status take_back(struct exchange *e)
{
    status st = OK;
    for (size_t i = 0; i < e->count && e->copy; i++)
        TRY(e->device->upload(e->device, e->block[i].memory, e->block[i].host, e->block[i].bytes));
done:
    return st;
}

/* `bytes` on the device; the copy, where there is one, lives until the sum is done. */
static status send_more(struct exchange *e, void *more, size_t bytes, char **copy)
{
    status st = OK;
    void *from = more;
    if (e->among_devices) return sum_there(e, more, bytes);
    if (!e->device->on_host) {
        from = *copy = malloc(size_max(1, bytes));
        if (!from) return fail(ST_MEMORY, "no memory for the exchange of %zu bytes", bytes);
        TRY(e->device->download(e->device, from, more, bytes));
    }
    TRY(e->peers->sum(e->peers, e->type, bytes / number_bytes(e), from));
done:
    return st;
}

status exchange_end(struct exchange *e, void *more, size_t more_bytes, double *numbers, size_t count)
{
    char *copy = NULL;
    status st = e->st;
    e->st = OK;
    if (st != OK || (e->peers->size == 1 && !e->among_devices)) return st;
    while (e->sent < e->count) TRY(send(e, &e->block[e->sent++]));
    e->sent = 0;
    if (more_bytes) TRY(send_more(e, more, more_bytes, &copy));
    if (e->among_devices) TRY(e->device->peers_wait(e->device));
    if (count) TRY(e->peers->sum(e->peers, PEERS_F64, count, numbers));
    TRY(e->peers->finish(e->peers));
    TRY(take_back(e));
    if (copy) TRY(e->device->upload(e->device, more, copy, more_bytes));
done:
    free(copy);
    return st;
}

/* Values */

static status spread(struct peers *peers, struct device *d, const tensor *x)
{
    status st = OK;
    const size_t bytes = tensor_bytes(x);
    if (d->on_host) return peers->broadcast(peers, bytes, x->data);
    char *copy = malloc(size_max(1, bytes));
    if (!copy) return fail(ST_MEMORY, "no memory for the exchange of %zu bytes", bytes);
    TRY(d->download(d, copy, x->data, bytes));
    TRY(peers->broadcast(peers, bytes, copy));
    TRY(d->upload(d, x->data, copy, bytes));
    TRY(d->sync(d));
done:
    free(copy);
    return st;
}

status exchange_spread(struct peers *peers, struct params *params)
{
    status st = OK;
    if (peers->size == 1) return OK;
    params_thaw(params);
    for (size_t i = 0; i < params_count(params) && st == OK; i++)
        st = spread(peers, params_device(params), &params_at(params, i)->value);
    return st;
}
