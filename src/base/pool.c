/* pool.c - threads that each have a share of a run's pieces (base/shares.h).
 *
 * All that the threads must agree on is one atomic word, `gate`: the number of the run, whether it is open, and how
 * many workers are inside. A worker enters by raising the count while the run is open, so it can never touch a run that
 * is over; the caller closes the gate when no piece is left and waits until the count is 0. A worker that wakes up late
 * finds the gate closed and nobody waits for it. Idle workers watch the gate for a millisecond, then sleep:
 * waking a sleeping core can take longer than that. A second calling thread waits for its turn. Two pools must not call
 * each other from their pieces: each could be waiting for its turn with the other. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "base/pool.h"
#include "base/clock.h"
#include "base/pool_times.h"
#include "base/shares.h"
#include "base/size.h"
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_THREADS = 256, SPIN_NS = 1000000 };

/* The gate: bits 0..15 workers inside, bit 16 open, bit 17 the caller sleeps until the count is 0, from bit 18 the
 * number of the run. */
#define INSIDE UINT64_C(0xffff)
#define OPEN (UINT64_C(1) << 16)
#define CALLER_SLEEPS (UINT64_C(1) << 17)
#define RUN_SHIFT 18

struct worker {
    pool *p;
    size_t id; /* from 1: the caller is 0 */
    pthread_t thread;
};

struct pool {
    size_t threads;    /* with the caller */
    size_t started;    /* workers that exist */
    bool spin;         /* there is a core for each thread, so waiting awake takes nothing from the others */
    pool_for host_for; /* NULL: our own threads */
    void *host;
    _Atomic pid_t owner; /* the process whose threads these are; 0 while they are being renewed */

    pthread_mutex_t entry; /* held during a run: a second caller waits */
    pool_piece piece;      /* the run: written by the caller before the gate opens */
    void *context;
    size_t pieces;
    struct share *shares; /* owned, one for each thread; NULL: hosted */
    atomic_size_t ran;    /* hosted: pieces that the host has run */
    pthread_mutex_t failure;
    size_t failed_piece; /* the lowest so far; SIZE_MAX: none */
    struct error error;  /* its sentence */

    _Atomic uint64_t gate;
    pthread_mutex_t sleep;
    pthread_cond_t wake, calm; /* workers wait for a run; the caller waits for the last worker to leave */
    atomic_size_t sleepers;
    bool stop;                /* guarded by `sleep` */
    struct worker *workers;   /* owned, threads - 1 */
    struct pool_times *times; /* owned; NULL: nobody asked */
};

/* The runs that the calling thread is inside of, innermost first. */
struct frame {
    const pool *p;
    size_t worker;
    const struct frame *outer;
};
static _Thread_local const struct frame *frames;

static const struct frame *frame_find(const pool *p)
{
    const struct frame *f = frames;
    while (f && f->p != p) f = f->outer;
    return f;
}

static void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void run_piece(pool *p, size_t piece, size_t worker)
{
    const uint64_t began = p->times ? clock_thread_ns() : 0;
    status st = p->piece(p->context, piece, worker);
    if (p->times) pool_times_piece(p->times, clock_thread_ns() - began);
    if (st == OK) return;
    pthread_mutex_lock(&p->failure);
    if (piece < p->failed_piece) {
        p->failed_piece = piece;
        error_take(st, &p->error);
    }
    pthread_mutex_unlock(&p->failure);
}

static void run_pieces(pool *p, size_t worker)
{
    struct frame here = {p, worker, frames};
    frames = &here;
    for (size_t whose = 0, i; shares_take(p->shares, p->threads, worker, &whose, &i);) run_piece(p, i, worker);
    frames = here.outer;
}

/* Takes part in the run that the gate shows, unless it is over. */
static void join_run(pool *p, size_t worker)
{
    uint64_t g = atomic_load(&p->gate);
    do {
        if (!(g & OPEN)) return;
    } while (!atomic_compare_exchange_weak(&p->gate, &g, g + 1));
    run_pieces(p, worker);
    g = atomic_fetch_sub(&p->gate, 1) - 1;
    if ((g & INSIDE) || !(g & CALLER_SLEEPS)) return;
    pthread_mutex_lock(&p->sleep);
    pthread_cond_signal(&p->calm);
    pthread_mutex_unlock(&p->sleep);
}

/* Watches until the number of the run is no longer `seen`, or for SPIN_NS. */
static void watch_gate(pool *p, uint64_t seen)
{
    uint64_t end = clock_ns() + SPIN_NS;
    do {
        for (int i = 0; i < 16; i++) {
            if (atomic_load(&p->gate) >> RUN_SHIFT != seen) return;
            cpu_relax();
        }
    } while (clock_ns() < end);
}

/* Waits for a run other than `seen`. False: the pool is being freed. */
static bool wait_for_run(pool *p, uint64_t seen)
{
    if (p->spin) watch_gate(p, seen);
    if (atomic_load(&p->gate) >> RUN_SHIFT != seen) return true;
    pthread_mutex_lock(&p->sleep);
    /* Raised before the gate is looked at again; the caller opens the gate before it looks at this count. So one of the
     * two sees the other. */
    atomic_fetch_add(&p->sleepers, 1);
    while (atomic_load(&p->gate) >> RUN_SHIFT == seen && !p->stop) pthread_cond_wait(&p->wake, &p->sleep);
    atomic_fetch_sub(&p->sleepers, 1);
    bool more = !p->stop;
    pthread_mutex_unlock(&p->sleep);
    return more;
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    uint64_t seen = 0; /* runs count from 1 */
    while (wait_for_run(w->p, seen)) {
        seen = atomic_load(&w->p->gate) >> RUN_SHIFT;
        join_run(w->p, w->id);
    }
    return NULL;
}

static void open_gate(pool *p)
{
    uint64_t run = (atomic_load(&p->gate) >> RUN_SHIFT) + 1;
    atomic_store(&p->gate, run << RUN_SHIFT | OPEN);
    if (atomic_load(&p->sleepers) == 0) return;
    pthread_mutex_lock(&p->sleep);
    if (p->pieces > p->started) pthread_cond_broadcast(&p->wake);
    else
        for (size_t i = 1; i < p->pieces; i++) pthread_cond_signal(&p->wake); /* one piece is the caller's */
    pthread_mutex_unlock(&p->sleep);
}

/* Lets nobody in any more and waits until all are out. */
static void close_gate(pool *p)
{
    uint64_t g = atomic_fetch_and(&p->gate, ~OPEN);
    uint64_t end = p->spin && (g & INSIDE) ? clock_ns() + SPIN_NS : 0;
    while ((g & INSIDE) && end && clock_ns() < end) {
        cpu_relax();
        g = atomic_load(&p->gate);
    }
    if (!(atomic_load(&p->gate) & INSIDE)) return;
    pthread_mutex_lock(&p->sleep);
    g = atomic_fetch_or(&p->gate, CALLER_SLEEPS);
    while (g & INSIDE) {
        pthread_cond_wait(&p->calm, &p->sleep);
        g = atomic_load(&p->gate);
    }
    pthread_mutex_unlock(&p->sleep);
}

/* Locks and counters as new. Also in a forked child, where the old ones may be held by threads that no longer exist;
 * they cannot be destroyed there. */
static void reset(pool *p)
{
    pthread_mutex_init(&p->entry, NULL);
    pthread_mutex_init(&p->failure, NULL);
    pthread_mutex_init(&p->sleep, NULL);
    pthread_cond_init(&p->wake, NULL);
    pthread_cond_init(&p->calm, NULL);
    atomic_store(&p->gate, 0);
    atomic_store(&p->sleepers, 0);
    p->stop = false;
    p->started = 0;
}

/* Starts the workers, or as many as the system allows. They take no signals: those are for the host's threads, except
 * the ones that a thread brings upon itself. */
static void start_workers(pool *p)
{
    static const int own[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
    sigset_t none, before;
    sigfillset(&none);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) sigdelset(&none, own[i]);
    pthread_sigmask(SIG_SETMASK, &none, &before);
    while (p->started + 1 < p->threads) {
        struct worker *w = &p->workers[p->started];
        *w = (struct worker){.p = p, .id = p->started + 1};
        if (pthread_create(&w->thread, NULL, worker_main, w)) break;
        p->started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* After a fork the child has the pool's memory but not its threads: the first caller there starts new ones. */
static void renew_after_fork(pool *p)
{
    pid_t me = getpid(), owner = atomic_load(&p->owner);
    if (owner == me) return;
    if (owner && atomic_compare_exchange_strong(&p->owner, &owner, 0)) {
        reset(p);
        if (!p->host_for) start_workers(p);
        atomic_store(&p->owner, me);
    }
    while (atomic_load(&p->owner) != me) sched_yield(); /* another thread of the child is at it */
}

static pool *pool_make(size_t threads, pool_for host_for, void *host)
{
    pool *p = calloc(1, sizeof *p);
    struct worker *workers = host_for ? NULL : calloc(threads, sizeof *workers);
    struct share *shares = host_for ? NULL : shares_new(threads);
    if (!p || (!host_for && (!workers || !shares))) {
        free(shares);
        free(workers);
        free(p);
        return NULL;
    }
    p->threads = threads;
    p->workers = workers;
    p->shares = shares;
    p->host_for = host_for;
    p->host = host;
    p->spin = !host_for && threads <= pool_cores();
    reset(p);
    return p;
}

static status threads_check(size_t threads)
{
    if (threads >= 1 && threads <= MAX_THREADS) return OK;
    return fail(ST_USAGE, "%zu threads were asked for; there must be between 1 and %d", threads, MAX_THREADS);
}

status pool_new(size_t threads, pool **out)
{
    if (threads == 0) threads = size_min(pool_cores(), MAX_THREADS);
    status st = threads_check(threads);
    if (st != OK) return st;
    pool *p = pool_make(threads, NULL, NULL);
    if (!p) return fail(ST_MEMORY, "no memory for a pool of %zu threads", threads);
    start_workers(p);
    p->threads = p->started + 1;
    p->times = pool_times_new(p->threads);
    atomic_store(&p->owner, getpid());
    *out = p;
    return OK;
}

status pool_new_hosted(pool_for host_for, void *host, size_t threads, pool **out)
{
    assert(host_for);
    status st = threads_check(threads);
    if (st != OK) return st;
    pool *p = pool_make(threads, host_for, host);
    if (!p) return fail(ST_MEMORY, "no memory for a pool of %zu threads", threads);
    atomic_store(&p->owner, getpid());
    *out = p;
    return OK;
}

/* Waits for the workers and destroys the locks. Not in a forked child, which has neither. */
static void stop_workers(pool *p)
{
    pthread_mutex_lock(&p->sleep);
    p->stop = true;
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->sleep);
    for (size_t i = 0; i < p->started; i++) pthread_join(p->workers[i].thread, NULL);
    pthread_mutex_destroy(&p->entry);
    pthread_mutex_destroy(&p->failure);
    pthread_mutex_destroy(&p->sleep);
    pthread_cond_destroy(&p->wake);
    pthread_cond_destroy(&p->calm);
}

void pool_free(pool *p)
{
    if (!p) return;
    if (atomic_load(&p->owner) == getpid()) stop_workers(p);
    pool_times_free(p->times);
    free(p->shares);
    free(p->workers);
    free(p);
}

size_t pool_threads(const pool *p) { return p->threads; }

bool pool_inside(const pool *p, size_t *worker)
{
    const struct frame *f = frame_find(p);
    if (f) *worker = f->worker;
    return f != NULL;
}

/* All pieces on the calling thread: inside another run of the same pool, where no lock may be taken. */
static status run_inline(size_t pieces, pool_piece piece, void *context, size_t worker)
{
    struct error first = {.st = OK};
    for (size_t i = 0; i < pieces; i++) {
        status st = piece(context, i, worker);
        if (st != OK && first.st == OK) error_take(st, &first);
    }
    return first.st == OK ? OK : error_put(&first);
}

static void hosted_body(void *arg, size_t i, size_t worker)
{
    pool *p = arg;
    if (i >= p->pieces || worker >= p->threads) return; /* not counted as run, so the caller hears of it */
    struct frame here = {p, worker, frames};
    frames = &here;
    run_piece(p, i, worker);
    frames = here.outer;
    atomic_fetch_add(&p->ran, 1);
}

static status run_hosted(pool *p)
{
    atomic_store(&p->ran, 0);
    p->host_for(p->host, p->pieces, hosted_body, p);
    size_t ran = atomic_load(&p->ran);
    if (ran == p->pieces) return OK;
    return fail(ST_USAGE, "the host's parallel-for ran %zu of %zu pieces with a worker below %zu", ran, p->pieces,
                p->threads);
}

status pool_run_as(pool *p, const char *name, size_t pieces, pool_piece piece, void *context)
{
    if (pieces == 0) return OK;
    const struct frame *outer = frame_find(p);
    if (outer) return run_inline(pieces, piece, context, outer->worker);
    renew_after_fork(p);

    status st = OK;
    pthread_mutex_lock(&p->entry);
    p->piece = piece;
    p->context = context;
    p->pieces = pieces;
    p->failed_piece = SIZE_MAX;
    if (p->shares) shares_deal(p->shares, p->threads, pieces);
    pool_times_begin(p->times);
    if (p->host_for) {
        st = run_hosted(p);
    } else if (pieces == 1 || p->started == 0) {
        run_pieces(p, 0);
    } else {
        open_gate(p);
        run_pieces(p, 0);
        close_gate(p);
    }
    pool_times_end(p->times, name, pieces);
    if (st == OK && p->failed_piece != SIZE_MAX) st = error_put(&p->error);
    pthread_mutex_unlock(&p->entry);
    return st;
}

size_t pool_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return size_max((size_t)CPU_COUNT(&set), 1);
    long n = sysconf(_SC_NPROCESSORS_ONLN); /* more cores than the set has bits */
    return n > 1 ? (size_t)n : 1;
}
