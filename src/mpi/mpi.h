/* mpi.h - what the files of the plug-in centra-mpi.so share. */
#ifndef MPI_MPI_H
#define MPI_MPI_H
#include "peers/peers.h"
#include <mpi.h>
#include <pthread.h>

struct watch { /* a thread that hears whether the others live */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool started, stop;
    MPI_Comm comm;     /* of its own */
    double *heard;     /* owned, [size]: when each rank was heard of */
    MPI_Request *sent; /* owned, [size] */
    char *beat;        /* owned, [size] */
    double patience;   /* seconds */
    struct peers *peers;
};

struct sum { /* one that was begun */
    enum peers_type type;
    size_t count;
    void *data;
    MPI_Request request;
    char *pieces; /* owned: everybody's numbers for our part, in the order of the ranks; NULL: MPI adds */
    int *plan;    /* owned, [4 * size]: counts and places that MPI reads until it is done */
};

struct mpi {
    struct peers peers; /* first: the caller's view */
    peers_fail explain;
    MPI_Comm comm;
    struct sum *sums; /* owned */
    size_t sum_count, sum_room;
    struct watch watch;
};

/* OK, or MPI's error in words. */
status mpi_status(struct mpi *m, int code, const char *doing);
/* Waits asleep. */
status mpi_settle(struct mpi *m, MPI_Request *request, const char *doing);

/* sums.c */
status mpi_sum(struct peers *p, enum peers_type type, size_t count, void *data);
status mpi_finish(struct peers *p);
void mpi_sums_free(struct mpi *m);

/* watch.c: nothing happens where this MPI takes no calls from a second thread. */
status watch_start(struct mpi *m);
void watch_stop(struct mpi *m);

/* Says it, once among the ranks that say the same, and ends them all. */
_Noreturn void mpi_end(struct peers *p, const char *sentence);
#endif
