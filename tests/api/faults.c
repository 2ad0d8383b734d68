/* faults.c - each public call with its n-th allocation failing: it says so, leaks nothing, and what it was called with
 * stays usable. */
#include "tests/api/sample.h"
#include "tests/test.h"

static const struct sample_shape shape = {4, 2, 6, 8, 5, CENTRA_F32};
enum { MOST = 1000 };

/* Checks one attempt; true when no allocation failed any more. */
static bool survived(size_t n, const char *what, centra_status st)
{
    const bool failed = alloc_did_fail();
    alloc_fail_at(0);
    if (failed && st != CENTRA_MEMORY)
        test_failed(__FILE__, __LINE__, "%s with allocation %zu failing gives %s (%s)", what, n, centra_status_name(st),
                    centra_message());
    if (failed && !*centra_message())
        test_failed(__FILE__, __LINE__, "%s with allocation %zu failing says nothing", what, n);
    if (!failed && st != CENTRA_OK)
        test_failed(__FILE__, __LINE__, "%s gives %s (%s)", what, centra_status_name(st), centra_message());
    return !failed;
}

TEST(opening_a_session_survives_failing_allocations)
{
    const size_t live = alloc_live();
    for (size_t threads = 1; threads <= 3; threads++) {
        bool done = false;
        size_t n = 1;
        for (; n < MOST && !done; n++) {
            centra_session *s = NULL;
            alloc_fail_at(n);
            done = survived(n, "centra_session_open",
                            centra_session_open(&(centra_session_options){.threads = threads}, &s));
            EXPECT(done == (s != NULL));
            centra_session_close(s);
            EXPECT_INT(alloc_live(), live);
        }
        EXPECT(done && n > 4);
    }
}

TEST(making_a_head_survives_failing_allocations)
{
    const size_t live = alloc_live();
    centra_session *s = NULL;
    bool done = false;
    const centra_option good = {"gamma", "30"}, bad = {"gamma", "-1"};
    EXPECT_OK((status)centra_session_open(&(centra_session_options){.threads = 1}, &s));
    size_t n = 1;
    for (; n < MOST && !done; n++) {
        centra_head *h = NULL;
        alloc_fail_at(n);
        done = survived(n, "centra_head_new", centra_head_new(s, "mcl", &good, 1, &h));
        EXPECT(done == (h != NULL));
        centra_head_free(h);
    }
    EXPECT(done && n > 2);
    for (n = 1; n < 20; n++) { /* a refusal writes its sentence with memory, too */
        centra_head *h = NULL;
        alloc_fail_at(n);
        const centra_status st = centra_head_new(s, "mcl", &bad, 1, &h);
        EXPECT(st == (alloc_did_fail() ? CENTRA_MEMORY : CENTRA_USAGE) && !h);
        alloc_fail_at(0);
    }
    centra_session_close(s);
    EXPECT_INT(alloc_live(), live);
}

/* The first call of a shape allocates; each of its allocations fails once, on a session that is then used again. */
static void check_score(const char *head, size_t threads, bool gradients, bool fresh)
{
    const size_t live = alloc_live();
    struct desk d = {0};
    struct sample x, wanted;
    bool done = false;
    REQUIRE(sample_make(&shape, 1, &x) && sample_make(&shape, 1, &wanted));
    if (!gradients) x.r.grad_support = x.r.grad_query = wanted.r.grad_support = wanted.r.grad_query = NULL;
    REQUIRE(desk_open(&d, head, NULL, threads));
    EXPECT_OK((status)centra_head_score(d.head, &wanted.e, &wanted.r));
    size_t n = 1;
    for (; n < MOST && !done; n++) {
        if (fresh || n == 1) {
            desk_close(&d);
            REQUIRE(desk_open(&d, head, NULL, threads));
        }
        sample_wipe(&x);
        alloc_fail_at(n);
        done = survived(n, "centra_head_score", centra_head_score(d.head, &x.e, &x.r));
        if (fresh) EXPECT_OK((status)centra_head_score(d.head, &x.e, &x.r)); /* usable after the failure */
        if (fresh || done) EXPECT(sample_same(&x, &wanted));
    }
    EXPECT(done && n > 2);
    desk_close(&d);
    sample_free(&x);
    sample_free(&wanted);
    EXPECT_INT(alloc_live(), live);
}

TEST(scoring_survives_failing_allocations)
{
    for (int i = 0; i < 8; i++) check_score(i & 1 ? "mcl" : "mcl-katz", 1 + (size_t)(i & 2), i & 4, true);
    check_score("mcl-exact", 2, true, false);
    check_score("unidirectional", 1, true, false);
}

TEST(describing_survives_failing_allocations)
{
    const size_t live = alloc_live();
    struct sample x;
    REQUIRE(sample_make(&shape, 1, &x));
    bool done = false;
    for (size_t n = 1; n < MOST && !done; n++) {
        size_t way = 0;
        alloc_fail_at(n);
        done = survived(n, "centra_episode_way", centra_episode_way(&x.e, &way));
        EXPECT_INT(way, done ? 4 : 0);
    }
    EXPECT(done);
    done = false;
    for (size_t n = 1; n < MOST && !done; n++) {
        centra_option_info o;
        alloc_fail_at(n);
        done = survived(n, "centra_head_option", centra_head_option(0, 0, &o));
    }
    EXPECT(done);
    sample_free(&x);
    EXPECT_INT(alloc_live(), live);
}
