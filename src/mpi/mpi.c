/* mpi.c - the plug-in centra-mpi.so: the processes that mpirun or srun started together, over MPI.
 *
 * Nothing here spins: a call that has to wait is begun, asked for now and then, and slept upon in between. Only this folder
 * knows MPI; the program opens the object when it finds itself started by such a command (api/peers.c). */
#include "mpi/mpi.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    AT_ONCE = 16,
    REST_PART = 32,
    LEAST_NS = 10000,
    MOST_NS = 1000000,
    PIECE_BYTES = 1 << 30,
    BEHIND_NS = 500000000,
    LAST_SECONDS = 5
};

status mpi_status(struct mpi *m, int code, const char *doing)
{
    char words[MPI_MAX_ERROR_STRING] = "";
    int n = 0;
    if (code == MPI_SUCCESS) return OK;
    MPI_Error_string(code, words, &n);
    return m->explain(ST_IO, "rank %d, %s: %.200s", m->peers.rank, doing, words);
}

static void rest(long ns)
{
    const struct timespec t = {.tv_nsec = ns};
    nanosleep(&t, NULL);
}

/* A sum over R ranks goes on in 2 (R - 1) rounds, and only while somebody asks: each round may find both neighbours asleep.
 * So a rest is a part of what was waited already, which cannot make the wait much longer and still is a rest. */
status mpi_settle(struct mpi *m, MPI_Request *request, const char *doing)
{
    double began = 0;
    for (size_t asked = 0;; asked++) {
        int done = 0;
        const int code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS) return mpi_status(m, code, doing);
        if (done) return OK;
        if (asked == 0) began = MPI_Wtime();
        if (asked < AT_ONCE) continue;
        const double ns = (MPI_Wtime() - began) * 1e9 / REST_PART;
        rest(ns < LEAST_NS ? LEAST_NS : ns > MOST_NS ? MOST_NS : (long)ns);
    }
}

/* MPI counts in int: large arrays go in pieces. */
static status send_from(struct mpi *m, int root, size_t bytes, char *data)
{
    status st = OK;
    for (size_t at = 0; at < bytes && st == OK;) {
        MPI_Request request;
        const size_t n = bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES;
        st = mpi_status(m, MPI_Ibcast(data + at, (int)n, MPI_BYTE, root, m->comm, &request), "sending");
        if (st == OK) st = mpi_settle(m, &request, "sending");
        at += n;
    }
    return st;
}

static status broadcast(struct peers *p, size_t bytes, void *data)
{
    return send_from((struct mpi *)p, 0, bytes, data);
}

static status gather(struct peers *p, const size_t *bytes, const void *mine, void *all)
{
    status st = OK;
    size_t at = 0;
    for (int r = 0; r < p->rank; r++) at += bytes[r];
    if (bytes[p->rank] && (char *)all + at != mine) memmove((char *)all + at, mine, bytes[p->rank]);
    at = 0;
    for (int r = 0; r < p->size && st == OK; at += bytes[r++])
        st = send_from((struct mpi *)p, r, bytes[r], (char *)all + at);
    return st;
}

/* All ranks may have found the same fault: the first says it, and the others are ended before they can. */
_Noreturn void mpi_end(struct peers *p, const char *sentence)
{
    char host[MPI_MAX_PROCESSOR_NAME] = "?";
    int n = 0;
    MPI_Get_processor_name(host, &n);
    if (p->rank) rest(BEHIND_NS);
    fprintf(stderr, "centra: rank %d of %d, on %s: %s\n", p->rank, p->size, host, sentence);
    fflush(stderr);
    alarm(LAST_SECONDS); /* where the network is cut, MPI may not come back */
    MPI_Abort(((struct mpi *)p)->comm, 1);
    _exit(1);
}

static void end(struct peers *p, const char *sentence) { mpi_end(p, sentence); }

static void free_all(struct mpi *m)
{
    mpi_sums_free(m);
    free(m);
}

static void close_mpi(struct peers *p)
{
    struct mpi *m = (struct mpi *)p;
    MPI_Request request;
    if (MPI_Ibarrier(m->comm, &request) == MPI_SUCCESS) (void)mpi_settle(m, &request, "leaving");
    watch_stop(m);
    MPI_Comm_free(&m->comm);
    MPI_Finalize();
    free_all(m);
}

static status join(struct mpi *m)
{
    int given = 0;
    status st = OK;
    TRY(mpi_status(m, MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &given), "starting"));
    TRY(mpi_status(m, MPI_Comm_dup(MPI_COMM_WORLD, &m->comm), "starting"));
    MPI_Comm_set_errhandler(m->comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(m->comm, &m->peers.rank);
    MPI_Comm_size(m->comm, &m->peers.size);
    if (given == MPI_THREAD_MULTIPLE) TRY(watch_start(m));
done:
    return st;
}

static status open_mpi(peers_fail explain, struct peers **out)
{
    int before = 0;
    MPI_Initialized(&before);
    if (before) return explain(ST_USAGE, "this process has already begun to use MPI; open one session at a time");
    struct mpi *m = calloc(1, sizeof *m);
    if (!m) return explain(ST_MEMORY, "no memory to join other processes");
    *m = (struct mpi){.explain = explain,
                      .peers = {.abi = PEERS_ABI,
                                .bytes = sizeof(struct peers),
                                .sum = mpi_sum,
                                .finish = mpi_finish,
                                .gather = gather,
                                .broadcast = broadcast,
                                .end = end,
                                .close = close_mpi}};
    const status st = join(m);
    if (st == OK) *out = &m->peers;
    else free_all(m);
    return st;
}

__attribute__((visibility("default"))) extern const struct peers_plugin centra_peers;
const struct peers_plugin centra_peers = {PEERS_ABI, sizeof(struct peers), open_mpi};
