/* peers.c - a process that is alone, and what is made of the calls of any implementation. */
#include "peers/peers.h"
#include "base/plain.h"
#include "base/sha256.h"
#include <stdlib.h>
#include <string.h>

/* Alone */

static status alone_sum(struct peers *p, enum peers_type type, size_t count, void *data)
{
    (void)p, (void)type, (void)count, (void)data;
    return OK;
}

static status alone_finish(struct peers *p)
{
    (void)p;
    return OK;
}

static status alone_gather(struct peers *p, const size_t *bytes, const void *mine, void *all)
{
    (void)p;
    if (all != mine && bytes[0]) memcpy(all, mine, bytes[0]);
    return OK;
}

static status alone_broadcast(struct peers *p, size_t bytes, void *data)
{
    (void)p, (void)bytes, (void)data;
    return OK;
}

static void alone_end(struct peers *p, const char *sentence) { (void)p, (void)sentence; } /* the caller tells */

static void alone_close(struct peers *p) { (void)p; }

struct peers *peers_alone(void)
{
    static struct peers alone = {.abi = PEERS_ABI,
                                 .bytes = sizeof(struct peers),
                                 .size = 1,
                                 .sum = alone_sum,
                                 .finish = alone_finish,
                                 .gather = alone_gather,
                                 .broadcast = alone_broadcast,
                                 .end = alone_end,
                                 .close = alone_close};
    return &alone;
}

/* Of any */

status peers_total(struct peers *p, size_t count, double *numbers)
{
    const status st = p->sum(p, PEERS_F64, count, numbers);
    return st == OK ? p->finish(p) : st;
}

/* Agreement */

enum { SHOWN_BYTES = 63 };

struct card { /* what travels of a fact */
    char hash[65];
    char shown[SHOWN_BYTES];
};

static struct card card_of(const struct peers_fact *f)
{
    struct card c = {{0}, {0}};
    struct sha256 s;
    sha256_begin(&s);
    sha256_add(&s, f->value, strlen(f->value));
    sha256_end(&s, c.hash);
    if (f->shown) plain_snprintf(c.shown, sizeof c.shown, "%s", f->value);
    return c;
}

static status differs(int rank, const struct peers_fact *f, const struct card *theirs, const struct card *first)
{
    if (!f->shown) return fail(ST_VALUE, "rank %d has another %s than rank 0; all must have the same", rank, f->name);
    return fail(ST_VALUE, "rank %d has %s %.60s, but rank 0 has %.60s; all must have the same", rank, f->name,
                theirs->shown, first->shown);
}

static status compare(const struct peers *p, size_t count, const struct peers_fact *facts, const struct card *all)
{
    for (int r = 1; r < p->size; r++)
        for (size_t i = 0; i < count; i++) {
            const struct card *theirs = &all[(size_t)r * count + i];
            if (memcmp(theirs->hash, all[i].hash, sizeof theirs->hash)) return differs(r, &facts[i], theirs, &all[i]);
        }
    return OK;
}

status peers_agree(struct peers *p, size_t count, const struct peers_fact *facts)
{
    status st = OK;
    const size_t n = (size_t)p->size;
    struct card *mine = calloc(count, sizeof *mine), *all = calloc(n * count, sizeof *all);
    size_t *bytes = calloc(n, sizeof *bytes);
    if (!mine || !all || !bytes) TRY(fail(ST_MEMORY, "no memory to compare %zu processes", n));
    for (size_t i = 0; i < count; i++) mine[i] = card_of(&facts[i]);
    for (size_t i = 0; i < n; i++) bytes[i] = count * sizeof *mine;
    TRY(p->gather(p, bytes, mine, all));
    TRY(compare(p, count, facts, all));
done:
    free(mine);
    free(all);
    free(bytes);
    return st;
}
