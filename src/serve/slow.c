/* slow.c - closes connections whose request or answer takes too long. */
#include "serve/slow.h"
#include "base/clock.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

struct slow_line {
    int socket;
    uint64_t due; /* clock_ns(); UINT64_MAX: never */
    struct slow_line *before, *behind;
};

struct slow {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* it is to end */
    struct slow_line lines; /* a ring that begins and ends here */
    uint64_t time;
    bool ending;
};

/* A look this often is precise enough. */
static const long LOOK_NS = 200 * 1000 * 1000;

static void look(struct slow *s)
{
    const uint64_t now = clock_ns();
    for (struct slow_line *l = s->lines.behind; l != &s->lines; l = l->behind) {
        if (l->due > now) continue;
        shutdown(l->socket, SHUT_RDWR); /* its owner sees the end and closes it */
        l->due = UINT64_MAX;
    }
}

static void *watch(void *arg)
{
    struct slow *s = arg;
    pthread_mutex_lock(&s->lock);
    while (!s->ending) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += LOOK_NS;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        pthread_cond_timedwait(&s->changed, &s->lock, &until);
        look(s);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

status slow_start(double deadline_seconds, struct slow **out)
{
    struct slow *s = calloc(1, sizeof *s);
    if (!s) return fail(ST_MEMORY, "no memory for the deadlines");
    s->time = (uint64_t)(deadline_seconds * 1e9);
    s->lines.before = s->lines.behind = &s->lines;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    if (pthread_create(&s->thread, NULL, watch, s)) {
        free(s);
        return fail(ST_MEMORY, "the system gives no thread for the deadlines");
    }
    *out = s;
    return OK;
}

void slow_stop(struct slow *s)
{
    if (!s) return;
    pthread_mutex_lock(&s->lock);
    s->ending = true;
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

struct slow_line *slow_add(struct slow *s, int socket)
{
    struct slow_line *l = calloc(1, sizeof *l);
    if (!l) return NULL;
    pthread_mutex_lock(&s->lock);
    *l = (struct slow_line){socket, clock_ns() + s->time, s->lines.before, &s->lines};
    l->before->behind = l->behind->before = l;
    pthread_mutex_unlock(&s->lock);
    return l;
}

void slow_remove(struct slow *s, struct slow_line *line)
{
    if (!line) return;
    pthread_mutex_lock(&s->lock);
    line->before->behind = line->behind;
    line->behind->before = line->before;
    pthread_mutex_unlock(&s->lock);
    free(line);
}

static void set(struct slow *s, struct slow_line *line, uint64_t due)
{
    if (!line) return;
    pthread_mutex_lock(&s->lock);
    line->due = due;
    pthread_mutex_unlock(&s->lock);
}

void slow_restart(struct slow *s, struct slow_line *line) { set(s, line, clock_ns() + s->time); }
void slow_pause(struct slow *s, struct slow_line *line) { set(s, line, UINT64_MAX); }
