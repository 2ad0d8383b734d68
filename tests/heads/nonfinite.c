/* nonfinite.c - a feature that is not a finite number is named, whatever the head makes of it. */
#include "heads/head.h"
#include "tests/api/sample.h"
#include "tests/test.h"

static void expect_named(const struct head *head, size_t shots, double value, bool in_query, bool gradients)
{
    const struct sample_shape shape = {3, shots, 4, 6, 5, CENTRA_F32};
    struct sample x;
    struct desk d;
    REQUIRE(desk_open(&d, head->name, NULL, 2) && sample_make(&shape, 1, &x));
    x.r.centrality_support = x.r.centrality_query = NULL;
    if (!gradients) x.r.grad_support = x.r.grad_query = NULL;
    if (head->base) EXPECT_OK((status)centra_head_base(d.head, CENTRA_F32, 3, 6, 5, x.e.query, (int64_t[]){4, 5, 4}));
    sample_put(&x, in_query ? x.e.query : x.e.support, 2 * 6 * 5 + 3 * 5 + 1, value);
    const status st = (status)centra_head_score(d.head, &x.e, &x.r);
    if (st != ST_VALUE || !strstr(error_text(), "picture 2, channel 3, location 1"))
        test_failed(__FILE__, __LINE__, "%s, %zu shots, %g in the %s: status %d, %s", head->name, shots, value,
                    in_query ? "query" : "support", (int)st, st == OK ? "no error" : error_text());
    sample_free(&x);
    desk_close(&d);
}

TEST(heads_name_a_feature_that_is_not_finite)
{
    for (const struct head *const *h = head_table; *h; h++)
        for (unsigned i = 0; i < 16; i++)
            if (!((*h)->fitted && i & 4)) expect_named(*h, i & 8 ? 2 : 1, i & 1 ? INFINITY : NAN, i & 2, i & 4);
}
