/* memory.c - an episode with the largest maps of the paper stays small, whatever the head: 5-way, 75 queries, 12x12 with 640
 * channels, less than 200 MB beside the caller's own arrays. */
#include "heads/head.h"
#include "tests/api/sample.h"
#include "tests/test.h"

enum { MEMORY_LIMIT = 200000000, BASE = UNDER_SANITIZER ? 100 : 1000 };

static struct sample_shape shape_of(size_t shots)
{
    const bool slow = !strcmp(centra_isa_name(0), "portable");
    return (struct sample_shape){5, shots, UNDER_SANITIZER ? 2 : slow ? 10 : 75, 640, 144, CENTRA_F32};
}

/* How many bytes the head and its session took at most, from their opening on. */
static void measure(const struct head *h, const struct sample *x, bool gradients, size_t shots)
{
    centra_result r = {.scores = x->r.scores};
    struct desk d = {0};
    const centra_option brief = {strcmp(h->name, "deepemd") ? "rounds" : "sfc_epochs",
                                 "1"}; /* no more memory with more */
    int64_t labels[BASE];
    for (int64_t i = 0; i < BASE; i++) labels[i] = i / 10;
    const size_t before = alloc_bytes();
    alloc_peak();
    const centra_session_options o = {.threads = 2, .isa = centra_isa_name(0)};
    REQUIRE(centra_session_open(&o, &d.session) == CENTRA_OK);
    const size_t options = !strcmp(h->name, "deepemd") || h->base ? 1 : 0;
    EXPECT_OK((status)centra_head_new(d.session, h->name, &brief, options, &d.head));
    if (h->base) EXPECT_OK((status)centra_head_base(d.head, CENTRA_F32, BASE, 640, 1, x->e.query, labels));
    if (gradients) {
        r.grad_support = x->r.grad_support;
        r.grad_query = x->r.grad_query;
    }
    EXPECT_OK((status)centra_head_score(d.head, &x->e, &r));
    desk_close(&d);
    const size_t peak = alloc_peak() - before;
    if (peak > MEMORY_LIMIT)
        test_failed(__FILE__, __LINE__, "%s, %zu shots%s: %.1f MB, wanted at most %.1f", h->name, shots,
                    gradients ? ", gradients" : "", (double)peak / 1e6, MEMORY_LIMIT / 1e6);
    if (peak < 10000) test_failed(__FILE__, __LINE__, "%s: %zu bytes cannot be all", h->name, peak);
}

static void measure_all(size_t shots)
{
    const struct sample_shape shape = shape_of(shots);
    struct sample x;
    REQUIRE(sample_make(&shape, 1, &x));
    for (size_t i = 0; head_table[i]; i++) {
        measure(head_table[i], &x, false, shots);
        if (!head_table[i]->fitted) measure(head_table[i], &x, true, shots);
    }
    sample_free(&x);
}

TEST(every_head_scores_a_large_episode_in_200_megabytes) { measure_all(1); }
TEST(every_head_scores_a_large_episode_of_5_shots_in_200_megabytes)
{
    if (!test_is_about_figures()) measure_all(5);
}
