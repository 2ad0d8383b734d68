/* allocations.c - after the first call with some shape nothing is allocated, and an episode's memory stays small. */
#include "api/session.h"
#include "cpu/cpu.h"
#include "tests/api/sample.h"
#include "tests/test.h"
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void check_no_allocations(const struct sample_shape *shape, const char *head, size_t threads)
{
    struct desk d;
    struct sample x;
    REQUIRE(desk_open(&d, head, NULL, threads) && sample_make(shape, 1, &x));
    const centra_result scores = {.scores = x.r.scores};
    const centra_result gradients = {.loss = x.r.loss, .grad_support = x.r.grad_support, .grad_query = x.r.grad_query};
    const centra_result *wants[] = {&scores, &gradients, &x.r, &gradients, &scores};
    for (size_t i = 0; i < sizeof wants / sizeof *wants; i++) {
        EXPECT_OK((status)centra_head_score(d.head, &x.e, wants[i])); /* what this want needs is there now */
        const size_t before = alloc_count(), held = centra_session_bytes(d.session);
        for (int again = 0; again < 3; again++) EXPECT_OK((status)centra_head_score(d.head, &x.e, wants[i]));
        EXPECT_INT(alloc_count() - before, 0);
        EXPECT_INT(centra_session_bytes(d.session), held);
    }
    const size_t before = alloc_count(); /* any order of the wants, now that all have been seen */
    for (size_t i = 0; i < sizeof wants / sizeof *wants; i++)
        EXPECT_OK((status)centra_head_score(d.head, &x.e, wants[i]));
    EXPECT_INT(alloc_count() - before, 0);
    sample_free(&x);
    desk_close(&d);
}

TEST(score_allocates_nothing_after_the_first_call)
{
    static const char *const heads[] = {"mcl", "mcl-katz", "mcl-exact", "unidirectional"};
    static const struct sample_shape shapes[] = {{5, 2, 40, 16, 9, CENTRA_F32}, {3, 1, 5, 67, 25, CENTRA_F64}};
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 2; k++) check_no_allocations(&shapes[k], heads[i], 1 + i % 3);
}

/* With a single thread the first call is enough for good: no worker comes to its first piece later. */
TEST(score_with_one_thread_needs_one_call)
{
    const struct sample_shape shape = {5, 1, 10, 16, 9, CENTRA_F32};
    struct desk d;
    struct sample x;
    REQUIRE(desk_open(&d, "mcl-katz", NULL, 1) && sample_make(&shape, 1, &x));
    EXPECT_OK((status)centra_head_score(d.head, &x.e, &x.r));
    const size_t before = alloc_count();
    EXPECT_OK((status)centra_head_score(d.head, &x.e, &x.r));
    EXPECT_INT(alloc_count() - before, 0);
    sample_free(&x);
    desk_close(&d);
}

static size_t scratch_bytes(const centra_session *s)
{
    const struct cpu *c = cpu_of(s->dev);
    size_t sum = 0;
    for (size_t i = 0; i < pool_threads(s->threads); i++) sum += c->scratch[i].bytes + c->shared[i].bytes;
    return sum;
}

static size_t peak_bytes(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (size_t)u.ru_maxrss * 1024;
}

#define RESIDENT_IS_OURS (!UNDER_ASAN && !UNDER_TSAN) /* a sanitizer's shadow is resident too */

enum { MEMORY_LIMIT = 100000000 };

/* The paper's largest map, 12x12 with 640 channels, 5-way, 75 queries, with gradients: under 100 MB beside the caller's
 * own arrays. In a process of its own, whose peak no other test has raised. */
static int measure_episode(void)
{
    struct sample_shape shape = {5, 1, 75, 640, 144, CENTRA_F32};
    struct desk d;
    struct sample x;
    const char *best = centra_isa_name(0);
    if (!strcmp(best, "portable")) shape.queries = 33; /* two rounds, for the patience of whoever waits */
    if (!desk_open(&d, "mcl-katz", best, 2) || !sample_make(&shape, 1, &x)) return 1;
    const size_t before = peak_bytes();
    if (centra_head_score(d.head, &x.e, &x.r) != CENTRA_OK) return 2;
    const size_t held = centra_session_bytes(d.session) + scratch_bytes(d.session), peak = peak_bytes() - before;
    if (held < 1000000 || held > MEMORY_LIMIT) return 3;
    if (RESIDENT_IS_OURS && peak > MEMORY_LIMIT) return 4;
    sample_free(&x);
    desk_close(&d);
    return 0;
}

TEST(a_large_episode_stays_under_100_megabytes)
{
    int code = -1;
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        alarm(300); /* a hang is a failure */
        _exit(measure_episode());
    }
    EXPECT_INT(waitpid(child, &code, 0), child);
    EXPECT(WIFEXITED(code));
    EXPECT_INT(WIFEXITED(code) ? WEXITSTATUS(code) : -1, 0); /* 3: held too much, 4: peak too high */
}
