/* watch.c - a thread that tells the other ranks every second that we live, and hears whether they do.
 *
 * mpirun and srun end a run of which a process died on a machine that they reach. A machine that lost its power or its
 * network is not noticed by anybody for minutes, and the others would wait: whoever is not heard of for CENTRA_PATIENCE
 * seconds (20) is named, and the run ends. */
#include "mpi/mpi.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const double PATIENCE = 20;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A beat for each of the others that has taken the last one. */
static void tell(struct watch *w)
{
    for (int r = 0; r < w->peers->size; r++) {
        int taken = 1;
        if (r == w->peers->rank) continue;
        if (w->sent[r] != MPI_REQUEST_NULL) (void)MPI_Test(&w->sent[r], &taken, MPI_STATUS_IGNORE);
        if (taken) (void)MPI_Isend(&w->beat[r], 1, MPI_CHAR, r, 0, w->comm, &w->sent[r]);
    }
}

static void hear(struct watch *w)
{
    for (int there = 1; there;) {
        MPI_Status from;
        char beat;
        there = 0;
        if (MPI_Iprobe(MPI_ANY_SOURCE, 0, w->comm, &there, &from) != MPI_SUCCESS || !there) return;
        (void)MPI_Recv(&beat, 1, MPI_CHAR, from.MPI_SOURCE, 0, w->comm, MPI_STATUS_IGNORE);
        w->heard[from.MPI_SOURCE] = now();
    }
}

static void miss(struct watch *w)
{
    char sentence[160];
    for (int r = 0; r < w->peers->size; r++) {
        if (r == w->peers->rank || now() - w->heard[r] < w->patience) continue;
        snprintf(sentence, sizeof sentence,
                 "rank %d has not been heard of for %.0f s: its process ended, or the network to it is cut", r,
                 w->patience);
        mpi_end(w->peers, sentence);
    }
}

/* Waits a second; true when it is time to go. */
static bool pause_or_stop(struct watch *w)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    pthread_mutex_lock(&w->lock);
    for (int err = 0; !w->stop && err != ETIMEDOUT;) err = pthread_cond_timedwait(&w->wake, &w->lock, &until);
    const bool stop = w->stop;
    pthread_mutex_unlock(&w->lock);
    return stop;
}

static void *watch_main(void *watch)
{
    struct watch *w = watch;
    do {
        tell(w);
        hear(w);
        miss(w);
    } while (!pause_or_stop(w));
    hear(w);
    return NULL;
}

static double patience_asked(void)
{
    const char *text = getenv("CENTRA_PATIENCE");
    const double seconds = text ? strtod(text, NULL) : 0;
    return seconds >= 3 && seconds <= 86400 ? seconds : PATIENCE;
}

status watch_start(struct mpi *m)
{
    struct watch *w = &m->watch;
    const size_t size = (size_t)m->peers.size;
    status st = OK;
    w->peers = &m->peers;
    w->patience = patience_asked();
    w->heard = calloc(size, sizeof *w->heard);
    w->sent = calloc(size, sizeof *w->sent);
    w->beat = calloc(size, 1);
    if (!w->heard || !w->sent || !w->beat) return m->explain(ST_MEMORY, "no memory to watch %zu processes", size);
    TRY(mpi_status(m, MPI_Comm_dup(m->comm, &w->comm), "starting"));
    for (size_t r = 0; r < size; r++) {
        w->heard[r] = now();
        w->sent[r] = MPI_REQUEST_NULL;
    }
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->wake, NULL);
    w->started = !pthread_create(&w->thread, NULL, watch_main, w);
    if (!w->started) st = m->explain(ST_MEMORY, "no thread to watch %zu processes", size);
done:
    return st;
}

void watch_stop(struct mpi *m)
{
    struct watch *w = &m->watch;
    if (w->started) {
        pthread_mutex_lock(&w->lock);
        w->stop = true;
        pthread_cond_signal(&w->wake);
        pthread_mutex_unlock(&w->lock);
        pthread_join(w->thread, NULL);
        MPI_Comm_free(&w->comm);
    }
    free(w->heard);
    free(w->sent);
    free(w->beat);
}
