/* chunks.c - heads that work on some queries at a time give what they give for few of them, and an episode with the largest
 * maps of the paper stays small. */
#include "tests/api/sample.h"
#include "tests/test.h"
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const heads[] = {"ctx", "mn4", "dmn4", "deepemd"};
enum { HEADS = sizeof heads / sizeof *heads };

enum { WAY = 3, C = 4, R = 100, NQ = 130, HALF = NQ / 2 };

/* The first or second half of an episode's queries, with results of its own. */
static bool half_of(const struct sample *all, size_t first, struct sample *out)
{
    const struct sample_shape shape = {WAY, 1, HALF, C, R, CENTRA_F64};
    if (!sample_make(&shape, 1, out)) return false;
    memcpy(out->block[0], all->block[0], WAY * C * R * sizeof(double));
    memcpy(out->block[1], (double *)all->block[1] + first * C * R, HALF * C * R * sizeof(double));
    memcpy(out->block[2], all->block[2], WAY * sizeof(int64_t));
    memcpy((int64_t *)out->block[2] + WAY, (int64_t *)all->block[2] + WAY + first, HALF * sizeof(int64_t));
    return true;
}

static void expect_near(const char *head, const char *what, size_t i, double seen, double wanted)
{
    if (!(fabs(seen - wanted) <= 1e-10 * (1 + fabs(wanted))))
        test_failed(__FILE__, __LINE__, "%s: %s %zu is %.15g, wanted %.15g", head, what, i, seen, wanted);
}

/* 130 queries are several chunks, with and without gradients; 65 with gradients are one, or for ctx two. */
static void compare_halves(const char *head)
{
    const struct sample_shape shape = {WAY, 1, NQ, C, R, CENTRA_F64};
    struct sample all, half[2];
    struct desk d;
    REQUIRE(desk_open(&d, head, NULL, 2) && sample_make(&shape, 1, &all));
    REQUIRE(half_of(&all, 0, &half[0]) && half_of(&all, HALF, &half[1]));
    struct sample *each[] = {&all, &half[0], &half[1]};
    for (int i = 0; i < 3; i++) {
        each[i]->r.centrality_support = each[i]->r.centrality_query = NULL;
        EXPECT_OK((status)centra_head_score(d.head, &each[i]->e, &each[i]->r));
    }
    const double *whole = all.r.grad_support, *a = half[0].r.grad_support, *b = half[1].r.grad_support;
    expect_near(head, "loss", 0, all.loss, (half[0].loss + half[1].loss) / 2);
    for (size_t i = 0; i < WAY * C * R; i++) expect_near(head, "support gradient", i, whole[i], (a[i] + b[i]) / 2);
    for (size_t i = 0; i < NQ * C * R; i++)
        expect_near(head, "query gradient", i, ((double *)all.r.grad_query)[i],
                    ((double *)half[i / (HALF * C * R)].r.grad_query)[i % (HALF * C * R)] / 2);
    all.r.grad_support = all.r.grad_query = NULL;
    EXPECT_OK((status)centra_head_score(d.head, &all.e, &all.r));
    for (size_t i = 0; i < NQ * WAY; i++)
        expect_near(head, "score", i, ((double *)all.r.scores)[i],
                    ((double *)half[i / (HALF * WAY)].r.scores)[i % (HALF * WAY)]);
    for (int i = 0; i < 3; i++) sample_free(each[i]);
    desk_close(&d);
}

TEST(heads_in_chunks_give_what_few_queries_give)
{
    for (size_t i = 0; i < HEADS; i++) compare_halves(heads[i]);
}

static size_t peak_bytes(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (size_t)u.ru_maxrss * 1024;
}

/* 5-way, 75 queries, 12x12 with 640 channels: beside the caller's own arrays under 200 MB with gradients. */
static int measure(const char *head)
{
    enum { MEMORY_LIMIT = 200000000 };
    struct sample_shape shape = {5, 1, 75, 640, 144, CENTRA_F32};
    struct desk d;
    struct sample x;
    const char *best = centra_isa_name(0);
    if (!strcmp(best, "portable")) shape.queries = 10; /* for the patience of whoever waits */
    if (!desk_open(&d, head, best, 2) || !sample_make(&shape, 1, &x)) return 1;
    const size_t before = peak_bytes();
    x.r.centrality_support = x.r.centrality_query = NULL;
    if (centra_head_score(d.head, &x.e, &x.r) != CENTRA_OK) return 2;
    if (!UNDER_ASAN && !UNDER_TSAN && peak_bytes() - before > MEMORY_LIMIT) return 3;
    sample_free(&x);
    desk_close(&d);
    return 0;
}

/* Each in a process of its own, whose peak no other has raised. */
TEST(heads_in_chunks_stay_under_200_megabytes)
{
    static const char *const different[] = {"ctx", "mn4", "deepemd"};
    for (size_t i = 0; i < sizeof different / sizeof *different; i++) {
        int code = -1;
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            alarm(300); /* a hang is a failure */
            _exit(measure(different[i]));
        }
        EXPECT_INT(waitpid(child, &code, 0), child);
        EXPECT_INT(WIFEXITED(code) ? WEXITSTATUS(code) : -1, 0); /* 3: peak too high */
    }
}
