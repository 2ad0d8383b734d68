/* threads.c - sessions on the caller's own threads, beside each other, and across a fork. */
#include "tests/api/sample.h"
#include "tests/test.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct sample_shape shape = {5, 1, 12, 24, 16, CENTRA_F32};

/* What one thread of the library's own gives. */
static bool reference(uint64_t stream, struct sample *out)
{
    struct desk d;
    if (!desk_open(&d, "mcl-katz", NULL, 1)) return false;
    const bool made = sample_make(&shape, stream, out);
    const centra_status st = made ? centra_head_score(d.head, &out->e, &out->r) : CENTRA_MEMORY;
    EXPECT_OK((status)st);
    desk_close(&d);
    return st == CENTRA_OK;
}

TEST(score_bits_do_not_depend_on_threads)
{
    struct sample wanted, x;
    REQUIRE(reference(1, &wanted) && sample_make(&shape, 1, &x));
    for (size_t threads = 2; threads <= 5; threads++) {
        struct desk d;
        REQUIRE(desk_open(&d, "mcl-katz", NULL, threads));
        EXPECT_INT(centra_session_threads(d.session), threads);
        for (int again = 0; again < 3; again++) {
            sample_wipe(&x);
            EXPECT_OK((status)centra_head_score(d.head, &x.e, &x.r));
            EXPECT(sample_same(&x, &wanted));
        }
        desk_close(&d);
    }
    sample_free(&x);
    sample_free(&wanted);
}

/* A caller's parallel-for: two threads, the second takes the odd numbers, backwards. */
struct share {
    size_t count, worker;
    void (*body)(void *arg, size_t i, size_t worker);
    void *arg;
};

static void *run_share(void *context)
{
    const struct share *s = context;
    if (s->worker == 0)
        for (size_t i = 0; i < s->count; i += 2) s->body(s->arg, i, 0);
    else
        for (size_t i = s->count; i-- > 0;)
            if (i % 2) s->body(s->arg, i, 1);
    return NULL;
}

static void two_threads(void *host, size_t count, void (*body)(void *arg, size_t i, size_t worker), void *arg)
{
    struct share first = {count, 0, body, arg}, second = {count, 1, body, arg};
    pthread_t other;
    ++*(size_t *)host;
    const bool started = pthread_create(&other, NULL, run_share, &second) == 0;
    run_share(&first);
    if (started) pthread_join(other, NULL);
    else run_share(&second);
}

static void forgetful(void *host, size_t count, void (*body)(void *arg, size_t i, size_t worker), void *arg)
{
    (void)host;
    for (size_t i = 0; i + 1 < count; i++) body(arg, i, 0);
}

TEST(score_on_the_callers_own_threads)
{
    struct sample wanted, x;
    size_t calls = 0;
    centra_session *s = NULL;
    centra_head *h = NULL;
    REQUIRE(reference(1, &wanted) && sample_make(&shape, 1, &x));
    const centra_session_options o = {.threads = 2, .parallel_for = two_threads, .parallel_host = &calls};
    EXPECT_OK((status)centra_session_open(&o, &s));
    EXPECT_OK((status)centra_head_new(s, "mcl-katz", NULL, 0, &h));
    REQUIRE(h);
    EXPECT_OK((status)centra_head_score(h, &x.e, &x.r));
    EXPECT(calls > 0);
    EXPECT(sample_same(&x, &wanted));
    centra_head_free(h);
    centra_session_close(s);
    sample_free(&x);
    sample_free(&wanted);
}

/* Pieces that never ran must not pass for results. */
TEST(a_parallel_for_that_forgets_is_noticed)
{
    struct sample x;
    centra_session *s = NULL;
    centra_head *h = NULL;
    REQUIRE(sample_make(&shape, 1, &x));
    EXPECT_OK((status)centra_session_open(&(centra_session_options){.threads = 2, .parallel_for = forgetful}, &s));
    EXPECT_OK((status)centra_head_new(s, "mcl", NULL, 0, &h));
    REQUIRE(h);
    EXPECT_STATUS((status)centra_head_score(h, &x.e, &x.r), ST_USAGE);
    EXPECT(strstr(centra_message(), "parallel-for"));
    centra_head_free(h);
    centra_session_close(s);
    sample_free(&x);
}

struct visitor {
    struct sample x;
    const struct sample *wanted;
    bool same;
    centra_status st;
};

static void *visit(void *context)
{
    struct visitor *v = context;
    centra_session *s = NULL;
    centra_head *h = NULL;
    v->same = true;
    v->st = centra_session_open(&(centra_session_options){.threads = 2}, &s);
    if (v->st == CENTRA_OK) v->st = centra_head_new(s, "mcl-katz", NULL, 0, &h);
    for (int i = 0; v->st == CENTRA_OK && i < 20; i++) {
        sample_wipe(&v->x);
        v->st = centra_head_score(h, &v->x.e, &v->x.r);
        v->same = v->same && sample_same(&v->x, v->wanted);
    }
    centra_head_free(h);
    centra_session_close(s);
    return NULL;
}

TEST(two_sessions_do_not_disturb_each_other)
{
    struct sample wanted[2];
    struct visitor v[2];
    pthread_t thread[2];
    for (uint64_t i = 0; i < 2; i++) {
        REQUIRE(reference(i, &wanted[i]) && sample_make(&shape, i, &v[i].x));
        v[i].wanted = &wanted[i];
    }
    for (int i = 0; i < 2; i++) REQUIRE(pthread_create(&thread[i], NULL, visit, &v[i]) == 0);
    for (int i = 0; i < 2; i++) {
        pthread_join(thread[i], NULL);
        EXPECT_OK((status)v[i].st);
        EXPECT(v[i].same);
        sample_free(&v[i].x);
        sample_free(&wanted[i]);
    }
}

static void *fail_once(void *context)
{
    (void)context;
    centra_session_open(NULL, NULL);
    return NULL;
}

TEST(messages_belong_to_their_thread)
{
    centra_session *s = NULL;
    pthread_t thread;
    EXPECT_STATUS((status)centra_session_open(&(centra_session_options){.device = "abacus"}, &s), ST_USAGE);
    REQUIRE(pthread_create(&thread, NULL, fail_once, NULL) == 0);
    pthread_join(thread, NULL);
    EXPECT_TEXT(centra_message(), "there is no device 'abacus'; there is cpu");
}

/* A session that was opened and used before fork() works in the child as well as in the parent. */
TEST(a_session_survives_fork)
{
    struct desk d;
    struct sample wanted, x;
    int code = -1;
    if (UNDER_TSAN || UNDER_ASAN) {
        test_skip("a sanitizer\'s own locks can be held by threads that a forked child does not have");
        return;
    }
    REQUIRE(reference(1, &wanted) && sample_make(&shape, 1, &x) && desk_open(&d, "mcl-katz", NULL, 3));
    EXPECT_OK((status)centra_head_score(d.head, &x.e, &x.r));
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        alarm(60); /* a hang is a failure */
        sample_wipe(&x);
        const centra_status st = centra_head_score(d.head, &x.e, &x.r);
        const bool same = sample_same(&x, &wanted);
        desk_close(&d);
        _exit(st == CENTRA_OK && same ? 0 : 1);
    }
    sample_wipe(&x);
    EXPECT_OK((status)centra_head_score(d.head, &x.e, &x.r));
    EXPECT(sample_same(&x, &wanted));
    EXPECT_INT(waitpid(child, &code, 0), child);
    EXPECT(WIFEXITED(code) && WEXITSTATUS(code) == 0);
    desk_close(&d);
    sample_free(&x);
    sample_free(&wanted);
}
