/* worker.c - the one thread that computes, and the bounded queue before it. */
#include "serve/worker.h"
#include <pthread.h>
#include <stdlib.h>

struct worker {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct job *first, **last;
    size_t waiting, capacity;
    bool ending;
};

/* The next job; NULL when there is none and there will be none. */
static struct job *take(struct worker *w, bool *ending)
{
    pthread_mutex_lock(&w->lock);
    while (!w->first && !w->ending) pthread_cond_wait(&w->work, &w->lock);
    struct job *j = w->first;
    if (j) {
        w->first = j->next;
        if (!w->first) w->last = &w->first;
        w->waiting--;
    }
    *ending = w->ending;
    pthread_mutex_unlock(&w->lock);
    return j;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    bool ending;
    for (struct job *j; (j = take(w, &ending));) j->run(j, ending);
    return NULL;
}

status worker_start(size_t capacity, struct worker **out)
{
    struct worker *w = calloc(1, sizeof *w);
    if (!w) return fail(ST_MEMORY, "no memory for the worker");
    w->capacity = capacity;
    w->last = &w->first;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->work, NULL);
    if (pthread_create(&w->thread, NULL, work, w)) {
        free(w);
        return fail(ST_MEMORY, "the system gives no thread for the worker");
    }
    *out = w;
    return OK;
}

bool worker_push(struct worker *w, struct job *j)
{
    pthread_mutex_lock(&w->lock);
    const bool room = w->waiting < w->capacity && !w->ending;
    if (room) {
        if (j->accepted) j->accepted(j);
        j->next = NULL;
        *w->last = j;
        w->last = &j->next;
        w->waiting++;
        pthread_cond_signal(&w->work);
    }
    pthread_mutex_unlock(&w->lock);
    return room;
}

size_t worker_waiting(struct worker *w)
{
    pthread_mutex_lock(&w->lock);
    const size_t n = w->waiting;
    pthread_mutex_unlock(&w->lock);
    return n;
}

void worker_end(struct worker *w)
{
    pthread_mutex_lock(&w->lock);
    w->ending = true;
    pthread_cond_signal(&w->work);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
}

void worker_free(struct worker *w)
{
    if (!w) return;
    pthread_cond_destroy(&w->work);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
