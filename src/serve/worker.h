/* worker.h - the one thread that computes, and the bounded queue before it.
 *
 * Connections never compute and never wait: they leave a job here and are told when it is done. Because all jobs run in one
 * thread, one after the other, what they share (sessions, the classifier) needs no locks. */
#ifndef SERVE_WORKER_H
#define SERVE_WORKER_H
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>

struct job {
    /* Called in the pushing thread once the job has a place in the queue, before it can run. May be NULL. */
    void (*accepted)(struct job *j);
    /* Called in the worker's thread; with `ending` there is no time for the work, only for an excuse. The job is the
     * caller's again from the moment that this says so to anybody. */
    void (*run)(struct job *j, bool ending);
    struct job *next;
};

struct worker;
status worker_start(size_t capacity, struct worker **out);
/* False when the queue is full or the worker is ending; the job was then not taken. */
bool worker_push(struct worker *w, struct job *j);
size_t worker_waiting(struct worker *w);
/* Runs what waits with `ending` and ends the thread; afterwards pushes are refused. */
void worker_end(struct worker *w);
void worker_free(struct worker *w); /* after worker_end */
#endif
