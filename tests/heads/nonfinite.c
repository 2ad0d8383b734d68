/* nonfinite.c - a feature that is not a finite number is named, whatever the head makes of it. */
#include "tests/api/sample.h"
#include "tests/test.h"

static void expect_named(const char *head, size_t shots, double value, bool in_query, bool gradients)
{
    const struct sample_shape shape = {3, shots, 4, 6, 5, CENTRA_F32};
    struct sample x;
    struct desk d;
    REQUIRE(desk_open(&d, head, NULL, 2) && sample_make(&shape, 1, &x));
    x.r.centrality_support = x.r.centrality_query = NULL;
    if (!gradients) x.r.grad_support = x.r.grad_query = NULL;
    sample_put(&x, in_query ? x.e.query : x.e.support, 2 * 6 * 5 + 3 * 5 + 1, value);
    const status st = (status)centra_head_score(d.head, &x.e, &x.r);
    if (st != ST_VALUE || !strstr(error_text(), "picture 2, channel 3, location 1"))
        test_failed(__FILE__, __LINE__, "%s, %zu shots, %g in the %s: status %d, %s", head, shots, value,
                    in_query ? "query" : "support", (int)st, st == OK ? "no error" : error_text());
    sample_free(&x);
    desk_close(&d);
}

TEST(heads_name_a_feature_that_is_not_finite)
{
    static const char *const heads[] = {"ctx", "mn4", "dmn4", "deepemd"};
    for (size_t h = 0; h < sizeof heads / sizeof *heads; h++)
        for (unsigned i = 0; i < 16; i++) expect_named(heads[h], i & 8 ? 2 : 1, i & 1 ? INFINITY : NAN, i & 2, i & 4);
}
