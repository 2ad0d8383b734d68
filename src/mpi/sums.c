/* sums.c - arrays added up over all ranks, several on their way at once.
 *
 * MPI may add in any order, which is the fastest. In the order of the ranks, each rank is sent everybody's numbers for its
 * part of the array, adds them itself, and sends the sums round: as many bytes as the fastest way, and the same bits
 * every time. */
#include "mpi/mpi.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NUMBERS = 1 << 28 }; /* in one call of MPI, which counts in int */

static MPI_Datatype type_of(enum peers_type t) { return t == PEERS_F32 ? MPI_FLOAT : MPI_DOUBLE; }
static size_t bytes_of(enum peers_type t) { return t == PEERS_F32 ? sizeof(float) : sizeof(double); }

static void sum_free(struct sum *s)
{
    free(s->pieces);
    free(s->plan);
}

void mpi_sums_free(struct mpi *m)
{
    for (size_t i = 0; i < m->sum_count; i++) sum_free(&m->sums[i]);
    free(m->sums);
}

static status reserve(struct mpi *m)
{
    if (m->sum_count < m->sum_room) return OK;
    const size_t room = m->sum_room ? 2 * m->sum_room : 16;
    struct sum *more = realloc(m->sums, room * sizeof *more);
    if (!more) return m->explain(ST_MEMORY, "no memory for %zu sums over all ranks", room);
    m->sums = more;
    m->sum_room = room;
    return OK;
}

/* Numbers of our part of the array. */
static size_t own_count(const struct mpi *m, size_t count)
{
    const size_t rank = (size_t)m->peers.rank, size = (size_t)m->peers.size;
    return peers_first(count, rank + 1, size) - peers_first(count, rank, size);
}

static status deal(struct mpi *m, struct sum *s)
{
    const size_t size = (size_t)m->peers.size, own = own_count(m, s->count);
    s->pieces = malloc(size * own * bytes_of(s->type) + 1);
    s->plan = calloc(4 * size, sizeof *s->plan);
    if (!s->pieces || !s->plan) return m->explain(ST_MEMORY, "no memory to add %zu numbers of all ranks", s->count);
    int *given = s->plan, *from = given + size, *taken = from + size, *to = taken + size;
    for (size_t r = 0; r < size; r++) {
        from[r] = (int)peers_first(s->count, r, size);
        given[r] = (int)peers_first(s->count, r + 1, size) - from[r];
        taken[r] = (int)own;
        to[r] = (int)(r * own);
    }
    const MPI_Datatype type = type_of(s->type);
    return mpi_status(m, MPI_Ialltoallv(s->data, given, from, type, s->pieces, taken, to, type, m->comm, &s->request),
                      "adding");
}

#define ADD(type) \
    do { \
        type *to = (type *)s->data + peers_first(s->count, (size_t)m->peers.rank, size); \
        const type *theirs = (const type *)s->pieces; \
        for (size_t i = 0; i < own; i++) { \
            type x = theirs[i]; \
            for (size_t r = 1; r < size; r++) x += theirs[r * own + i]; \
            to[i] = x; \
        } \
    } while (0)

/* Everybody's numbers are here: adds, and sends the sums round. */
static status add_in_order(struct mpi *m, struct sum *s)
{
    const size_t size = (size_t)m->peers.size, own = own_count(m, s->count);
    const int *given = s->plan, *from = given + size;
    if (s->type == PEERS_F32) ADD(float);
    else ADD(double);
    return mpi_status(m,
                      MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, s->data, given, from, type_of(s->type),
                                      m->comm, &s->request),
                      "adding");
}

static status begin(struct mpi *m, enum peers_type type, size_t count, void *data)
{
    status st = reserve(m);
    if (st != OK) return st;
    struct sum *s = &m->sums[m->sum_count++];
    *s = (struct sum){.type = type, .count = count, .data = data, .request = MPI_REQUEST_NULL};
    if (m->peers.in_order) return deal(m, s);
    return mpi_status(m, MPI_Iallreduce(MPI_IN_PLACE, data, (int)count, type_of(type), MPI_SUM, m->comm, &s->request),
                      "adding");
}

/* Lets those that are on their way go on: this MPI moves them only while it is called. */
static void push(struct mpi *m)
{
    int done;
    for (size_t i = 0; i < m->sum_count; i++) (void)MPI_Test(&m->sums[i].request, &done, MPI_STATUS_IGNORE);
}

status mpi_sum(struct peers *p, enum peers_type type, size_t count, void *data)
{
    struct mpi *m = (struct mpi *)p;
    status st = OK;
    push(m);
    for (size_t at = 0; at < count && st == OK;) {
        const size_t n = count - at < MOST_NUMBERS ? count - at : MOST_NUMBERS;
        st = begin(m, type, n, (char *)data + at * bytes_of(type));
        at += n;
    }
    return st;
}

status mpi_finish(struct peers *p)
{
    struct mpi *m = (struct mpi *)p;
    status st = OK;
    for (size_t i = 0; i < m->sum_count && st == OK; i++) st = mpi_settle(m, &m->sums[i].request, "adding");
    for (size_t i = 0; i < m->sum_count && st == OK; i++)
        if (m->sums[i].pieces) st = add_in_order(m, &m->sums[i]);
    for (size_t i = 0; i < m->sum_count && st == OK; i++) st = mpi_settle(m, &m->sums[i].request, "adding");
    if (st != OK) return st; /* buffers may still be in use */
    for (size_t i = 0; i < m->sum_count; i++) sum_free(&m->sums[i]);
    m->sum_count = 0;
    return OK;
}
