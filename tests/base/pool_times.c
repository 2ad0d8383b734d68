/* Tests of base/pool_times.h: the table of a pool whose runs are known. */
#include "base/clock.h"
#include "base/file.h"
#include "base/pool.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

enum { UNEVEN_PIECES = 17, CALLS = 3 };
static const uint64_t PIECE_NS = 2000000;

static status busy(void *context, size_t piece, size_t worker)
{
    const uint64_t end = clock_thread_ns() + PIECE_NS;
    (void)context, (void)piece, (void)worker;
    while (clock_thread_ns() < end) continue;
    return OK;
}

struct row {
    double calls, pieces, before, wall, work, waited, longest, least;
};

/* The row of the table that begins so; false: there is none. */
static bool find_row(const char *table, const char *name, struct row *r)
{
    const char *at = strstr(table, name);
    return at && sscanf(at + strlen(name), "%lf %lf %lf %lf %lf %lf %lf %lf", &r->calls, &r->pieces, &r->before,
                        &r->wall, &r->work, &r->waited, &r->longest, &r->least) == 8;
}

TEST(a_pool_tells_where_its_threads_waited)
{
    char path[600], *table = NULL;
    size_t bytes;
    pool *p;
    struct row r;
    snprintf(path, sizeof path, "%s/waits", test_folder());
    setenv("CENTRA_WAITS", path, 1);
    REQUIRE(pool_new(1, &p) == OK);
    for (int i = 0; i < CALLS; i++) EXPECT_OK(pool_run(p, UNEVEN_PIECES, busy, NULL));
    pool_free(p);
    unsetenv("CENTRA_WAITS");
    REQUIRE(file_read(path, 1 << 20, &table, &bytes) == OK);
    EXPECT(strncmp(table, "1 threads; milliseconds\n", 24) == 0);
    REQUIRE(find_row(table, "pool_times.c busy ", &r));
    const double work = CALLS * UNEVEN_PIECES * (double)PIECE_NS / 1e6;
    EXPECT_INT((int)r.calls, CALLS);
    EXPECT_INT((int)r.pieces, UNEVEN_PIECES);
    EXPECT(r.work >= work && r.wall >= work - 0.1);
    EXPECT(r.longest >= CALLS * (double)PIECE_NS / 1e6);
    EXPECT_NEAR(r.least, r.work / UNEVEN_PIECES * 2, 0.3 * r.least); /* one of 16 threads has two of the 17 */
    EXPECT_NEAR(r.waited, r.wall - r.work, 0.11);
    free(table);
}

TEST(a_pool_that_nobody_asks_writes_no_table)
{
    char path[600];
    pool *p;
    snprintf(path, sizeof path, "%s/waits", test_folder());
    unsetenv("CENTRA_WAITS");
    REQUIRE(pool_new(2, &p) == OK);
    EXPECT_OK(pool_run(p, 4, busy, NULL));
    pool_free(p);
    EXPECT(!file_exists(path));
}
