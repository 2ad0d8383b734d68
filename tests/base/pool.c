/* Tests of base/pool.h. */
#include "tests/test.h"
#include "base/pool.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PIECES = 1000 };
static const size_t thread_counts[] = {1, 2, 3, 8};
enum { N_COUNTS = sizeof thread_counts / sizeof thread_counts[0] };

struct work {
    pool *p;
    size_t threads;
    atomic_int ran[PIECES];
    atomic_int busy[256]; /* by worker: 1 while one of its pieces runs */
    atomic_int wrong;
    double out[PIECES];
};

static status square_root(void *context, size_t piece, size_t worker)
{
    struct work *w = context;
    if (worker >= w->threads || atomic_fetch_add(&w->busy[worker], 1) != 0) atomic_fetch_add(&w->wrong, 1);
    atomic_fetch_add(&w->ran[piece], 1);
    double x = (double)piece;
    for (int i = 0; i < 50; i++) x = 0.5 * (x + (double)piece / (x + 1));
    w->out[piece] = x;
    atomic_fetch_sub(&w->busy[worker], 1);
    return OK;
}

static struct work *work_new(size_t threads)
{
    struct work *w = calloc(1, sizeof *w);
    if (!w || pool_new(threads, &w->p) != OK) abort();
    w->threads = pool_threads(w->p);
    return w;
}

static void work_free(struct work *w)
{
    pool_free(w->p);
    free(w);
}

TEST(pool_runs_every_piece_once_with_the_same_result_for_any_threads)
{
    size_t live = alloc_live();
    double first[PIECES];
    for (size_t t = 0; t < N_COUNTS; t++) {
        struct work *w = work_new(thread_counts[t]);
        EXPECT_INT(pool_threads(w->p), thread_counts[t]);
        for (int run = 0; run < 20; run++) EXPECT_OK(pool_run(w->p, PIECES, square_root, w));
        for (size_t i = 0; i < PIECES; i++) EXPECT_INT(w->ran[i], 20);
        EXPECT_INT(w->wrong, 0);
        if (t == 0) memcpy(first, w->out, sizeof first);
        EXPECT(!memcmp(first, w->out, sizeof first));
        work_free(w);
    }
    EXPECT_INT(alloc_live(), live);
}

TEST(pool_survives_many_short_runs)
{
    struct work *w = work_new(4);
    for (int run = 0; run < 3000; run++) EXPECT_OK(pool_run(w->p, (size_t)run % 7, square_root, w));
    int sum = 0, wanted = 0;
    for (size_t i = 0; i < PIECES; i++) sum += w->ran[i];
    for (int run = 0; run < 3000; run++) wanted += run % 7;
    EXPECT_INT(sum, wanted);
    EXPECT_INT(w->wrong, 0);
    work_free(w);
}

TEST(pool_wakes_sleeping_workers)
{
    struct work *w = work_new(3);
    for (int run = 0; run < 20; run++) {
        struct timespec pause = {0, 1000000}; /* long enough for the workers to fall asleep */
        nanosleep(&pause, NULL);
        EXPECT_OK(pool_run(w->p, PIECES, square_root, w));
    }
    for (size_t i = 0; i < PIECES; i++) EXPECT_INT(w->ran[i], 20);
    work_free(w);
}

/* Each piece waits until all are running: ends only if there really are so many threads. */
static status meet(void *context, size_t piece, size_t worker)
{
    (void)worker;
    atomic_int *arrived = context;
    atomic_fetch_add(arrived, 1);
    for (int i = 0; i < 20000 && atomic_load(arrived) < 3; i++) {
        struct timespec pause = {0, 500000};
        nanosleep(&pause, NULL);
    }
    return atomic_load(arrived) == 3 ? OK : fail(ST_VALUE, "piece %zu waited alone", piece);
}

TEST(pool_pieces_run_at_the_same_time)
{
    pool *p;
    REQUIRE(pool_new(3, &p) == OK);
    for (int run = 0; run < 10; run++) {
        atomic_int arrived = 0;
        EXPECT_OK(pool_run(p, 3, meet, &arrived));
    }
    pool_free(p);
}

static status fail_above(void *context, size_t piece, size_t worker)
{
    (void)worker;
    atomic_int *ran = context;
    atomic_fetch_add(ran, 1);
    if (piece % 2 == 0 || piece < 30) return OK;
    return fail(piece == 31 ? ST_SHAPE : ST_VALUE, "piece %zu", piece);
}

TEST(pool_reports_the_lowest_failed_piece)
{
    for (size_t t = 0; t < N_COUNTS; t++) {
        pool *p;
        REQUIRE(pool_new(thread_counts[t], &p) == OK);
        for (int run = 0; run < 50; run++) {
            atomic_int ran = 0;
            EXPECT_STATUS(pool_run(p, 100, fail_above, &ran), ST_SHAPE);
            EXPECT_TEXT(error_text(), "piece 31");
            EXPECT_INT(ran, 100); /* the other pieces still run */
            EXPECT_OK(pool_run(p, 30, fail_above, &ran));
        }
        pool_free(p);
    }
}

struct nest {
    pool *p;
    atomic_int inner, wrong;
};

struct level {
    struct nest *n;
    size_t worker;
    pthread_t thread;
};

static status inner_piece(void *context, size_t piece, size_t worker)
{
    struct level *l = context;
    atomic_fetch_add(&l->n->inner, 1);
    if (worker != l->worker || !pthread_equal(pthread_self(), l->thread)) atomic_fetch_add(&l->n->wrong, 1);
    return piece >= 5 ? fail(ST_VALUE, "inner %zu", piece) : OK;
}

static status outer_piece(void *context, size_t piece, size_t worker)
{
    struct nest *n = context;
    struct level l = {n, worker, pthread_self()};
    status st = pool_run(n->p, 8, inner_piece, &l);
    if (st != ST_VALUE || strcmp(error_text(), "inner 5")) atomic_fetch_add(&n->wrong, 1);
    return piece == 3 ? st : OK;
}

TEST(pool_runs_nested_calls_inline)
{
    for (size_t t = 0; t < N_COUNTS; t++) {
        struct nest n = {0};
        REQUIRE(pool_new(thread_counts[t], &n.p) == OK);
        EXPECT_STATUS(pool_run(n.p, 40, outer_piece, &n), ST_VALUE);
        EXPECT_TEXT(error_text(), "inner 5");
        EXPECT_INT(n.inner, 320);
        EXPECT_INT(n.wrong, 0);
        pool_free(n.p);
    }
}

static void *run_often(void *context)
{
    struct work *w = context;
    for (int run = 0; run < 50; run++)
        if (pool_run(w->p, 100, square_root, w) != OK) atomic_fetch_add(&w->wrong, 1);
    return NULL;
}

TEST(pool_takes_callers_in_turn)
{
    struct work *w = work_new(3);
    pthread_t callers[4];
    for (size_t i = 0; i < 4; i++) REQUIRE(pthread_create(&callers[i], NULL, run_often, w) == 0);
    for (size_t i = 0; i < 4; i++) pthread_join(callers[i], NULL);
    for (size_t i = 0; i < 100; i++) EXPECT_INT(w->ran[i], 200);
    EXPECT_INT(w->wrong, 0); /* no worker number was in use twice at a time */
    work_free(w);
}

/* In the child: the pool still works, with as many threads at the same time, and can be freed. */
static int use_after_fork(struct work *w)
{
    atomic_int arrived = 0;
    if (pool_run(w->p, 3, meet, &arrived) != OK) return 1;
    if (pool_run(w->p, PIECES, square_root, w) != OK) return 2;
    for (size_t i = 0; i < PIECES; i++)
        if (w->ran[i] != 2) return 3;
    work_free(w);
    return 0;
}

static void expect_child(pid_t child)
{
    int result = -1;
    REQUIRE(waitpid(child, &result, 0) == child);
    EXPECT_INT(WIFEXITED(result) ? WEXITSTATUS(result) : -1, 0);
}

TEST(pool_starts_anew_in_a_forked_child)
{
    if (UNDER_TSAN || UNDER_ASAN) {
        test_skip("a sanitizer\'s own locks can be held by threads that a forked child does not have");
        return;
    }
    struct work *w = work_new(3);
    EXPECT_OK(pool_run(w->p, PIECES, square_root, w));
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        alarm(60); /* a hang is a failure */
        _exit(use_after_fork(w));
    }
    expect_child(child);
    child = fork();
    REQUIRE(child >= 0);
    if (child == 0) { /* freed without use: the threads to wait for do not exist */
        alarm(60);
        work_free(w);
        _exit(0);
    }
    expect_child(child);
    EXPECT_OK(pool_run(w->p, PIECES, square_root, w));
    work_free(w);
}

TEST(pool_run_allocates_nothing)
{
    struct work *w = work_new(4);
    size_t before = alloc_count();
    for (int run = 0; run < 10; run++) EXPECT_OK(pool_run(w->p, PIECES, square_root, w));
    EXPECT_INT(alloc_count(), before);
    work_free(w);
}

struct host {
    size_t calls, worker, skip; /* skip: leave out that piece */
};

static void host_for(void *host, size_t count, void (*body)(void *arg, size_t i, size_t worker), void *arg)
{
    struct host *h = host;
    h->calls++;
    for (size_t i = count; i-- > 0;) /* backwards: any order is allowed */
        if (i != h->skip) body(arg, i, i % 2 ? h->worker : 0);
}

TEST(pool_uses_the_hosts_threads)
{
    struct host h = {.worker = 1, .skip = SIZE_MAX};
    struct work *w = calloc(1, sizeof *w);
    REQUIRE(w && pool_new_hosted(host_for, &h, 2, &w->p) == OK);
    w->threads = 2;
    EXPECT_INT(pool_threads(w->p), 2);
    EXPECT_OK(pool_run(w->p, PIECES, square_root, w));
    for (size_t i = 0; i < PIECES; i++) EXPECT_INT(w->ran[i], 1);
    EXPECT_INT(h.calls, 1);
    atomic_int ran = 0;
    EXPECT_STATUS(pool_run(w->p, 100, fail_above, &ran), ST_SHAPE);
    EXPECT_TEXT(error_text(), "piece 31");
    struct nest n = {.p = w->p};
    EXPECT_STATUS(pool_run(w->p, 40, outer_piece, &n), ST_VALUE);
    EXPECT_INT(n.inner, 320);
    EXPECT_INT(n.wrong, 0);
    EXPECT_INT(h.calls, 3); /* the nested ones ran inline */
    work_free(w);
}

TEST(pool_notices_a_host_that_breaks_its_word)
{
    struct host h = {.worker = 1, .skip = 7};
    atomic_int ran = 0;
    pool *p;
    REQUIRE(pool_new_hosted(host_for, &h, 2, &p) == OK);
    EXPECT_STATUS(pool_run(p, 20, fail_above, &ran), ST_USAGE);
    EXPECT(strstr(error_text(), "ran 19 of 20 pieces"));
    h = (struct host){.worker = 2, .skip = SIZE_MAX};
    EXPECT_STATUS(pool_run(p, 20, fail_above, &ran), ST_USAGE);
    EXPECT(strstr(error_text(), "ran 10 of 20 pieces with a worker below 2"));
    pool_free(p);
}

TEST(pool_checks_the_number_of_threads)
{
    pool *p;
    EXPECT_STATUS(pool_new(257, &p), ST_USAGE);
    EXPECT(strstr(error_text(), "between 1 and 256"));
    EXPECT_STATUS(pool_new_hosted(host_for, NULL, 0, &p), ST_USAGE);
    EXPECT(pool_cores() >= 1);
    REQUIRE(pool_new(0, &p) == OK);
    EXPECT_INT(pool_threads(p), pool_cores() < 256 ? pool_cores() : 256);
    EXPECT_OK(pool_run(p, 0, NULL, NULL));
    pool_free(p);
    pool_free(NULL);
}

TEST(pool_new_survives_each_failing_allocation)
{
    size_t live = alloc_live();
    for (size_t n = 1;; n++) {
        pool *p = NULL;
        alloc_fail_at(n);
        status st = pool_new(2, &p);
        bool failed = alloc_did_fail();
        alloc_fail_at(0);
        EXPECT_STATUS(st, failed ? ST_MEMORY : OK);
        pool_free(p);
        EXPECT_INT(alloc_live(), live);
        if (!failed) break;
        REQUIRE(n < 10);
    }
}
