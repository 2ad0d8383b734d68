/* peers.h - the seam to the other processes of a run: who we are among them, and what is exchanged.
 *
 * All ranks make the same calls in the same order, each from one thread. Who has to wait sleeps. One implementation is
 * here, for a process that is alone; the other is the plug-in centra-mpi.so (src/mpi), which src/api opens when the
 * process was started by mpirun or srun. A plug-in has no error slot of its own and is given `fail`, like a device's. */
#ifndef PEERS_PEERS_H
#define PEERS_PEERS_H
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PEERS_ABI = 1 }; /* raise when this file changes */

enum peers_type { PEERS_F32, PEERS_F64 };

struct peers {
    uint32_t abi, bytes; /* PEERS_ABI and sizeof(struct peers): a plug-in with others is refused */
    int rank, size;
    bool in_order; /* set by the caller, alike on all ranks: sums are added in the order of the ranks */
    /* Adds up the arrays of all ranks, element by element, into each of them. Returns at once: the array is lent until
     * `finish`. */
    status (*sum)(struct peers *p, enum peers_type type, size_t count, void *data);
    status (*finish)(struct peers *p); /* waits for every sum that was begun */
    /* Everybody's piece on every rank: rank r gives bytes[r], and `all` has them one behind the other.
     * `mine` may lie in `all`. */
    status (*gather)(struct peers *p, const size_t *bytes, const void *mine, void *all);
    status (*broadcast)(struct peers *p, size_t bytes, void *data); /* what rank 0 has */
    /* Says the sentence on standard error, with our rank before it, and ends all ranks. Does not return. */
    void (*end)(struct peers *p, const char *sentence);
    void (*close)(struct peers *p); /* when all is done; waits for the others */
    void *state;                    /* owned by the implementation */
};

typedef status (*peers_fail)(status st, const char *format, ...);
/* What a plug-in exports, under PEERS_SYMBOL. */
struct peers_plugin {
    uint32_t abi, bytes; /* PEERS_ABI and sizeof(struct peers) of the headers it was made from */
    status (*open)(peers_fail fail, struct peers **out);
};
#define PEERS_SYMBOL "centra_peers"

/* A process that is alone; never NULL, and `close` does nothing. */
struct peers *peers_alone(void);

/* The part of `count` things that rank `rank` of `size` has: from peers_first(count, rank, size) to that of rank + 1. */
static inline size_t peers_first(size_t count, size_t rank, size_t size)
{
    return count / size * rank + (count % size < rank ? count % size : rank); /* the first ones have one more */
}
/* Adds a few numbers up over all ranks, and waits. */
status peers_total(struct peers *p, size_t count, double *numbers);

struct peers_fact {
    const char *name, *value; /* "recipe" */
    bool shown;               /* the value is short and goes into the sentence */
};
/* Whether all ranks have the same values; all of them get the same failure, which names the first rank that has another
 * than rank 0. */
status peers_agree(struct peers *p, size_t count, const struct peers_fact *facts);
#endif
