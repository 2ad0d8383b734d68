/* chunks.c - heads that work on some queries at a time give what they give for few of them. */
#include "tests/api/sample.h"
#include "tests/test.h"

enum { WAY = 3 };

/* Shapes for which so many queries, an even number, are several chunks, with and without gradients, and the last of them is
 * not whole. */
static const struct cut {
    const char *head;
    size_t channels, locations, queries;
} cuts[] = {{"ctx", 4, 100, 46},     {"mn4", 4, 100, 54},   {"dmn4", 4, 100, 54},
            {"deepemd", 4, 100, 54}, {"dn4", 4, 100, 54},   {"gnn", 64, 4, 34},
            {"frn", 64, 100, 130},   {"frn", 128, 100, 54}, {"label-prop", 4, 100, 12}};

/* The first or second half of an episode's queries, with results of its own. */
static bool half_of(const struct sample *all, size_t first, struct sample *out)
{
    const size_t half = all->e.query_count / 2, map = all->e.channels * all->e.query_locations;
    const struct sample_shape shape = {WAY, 1, half, all->e.channels, all->e.query_locations, CENTRA_F64};
    if (!sample_make(&shape, 1, out)) return false;
    memcpy(out->block[0], all->block[0], WAY * map * sizeof(double));
    memcpy(out->block[1], (double *)all->block[1] + first * map, half * map * sizeof(double));
    memcpy(out->block[2], all->block[2], WAY * sizeof(int64_t));
    memcpy((int64_t *)out->block[2] + WAY, (int64_t *)all->block[2] + WAY + first, half * sizeof(int64_t));
    return true;
}

static void expect_near(const char *head, const char *what, size_t i, double seen, double wanted)
{
    if (!(fabs(seen - wanted) <= 1e-10 * (1 + fabs(wanted))))
        test_failed(__FILE__, __LINE__, "%s: %s %zu is %.15g, wanted %.15g", head, what, i, seen, wanted);
}

static void compare_halves(const struct cut *c)
{
    const char *head = c->head;
    const size_t map = c->channels * c->locations, half_count = c->queries / 2;
    const struct sample_shape shape = {WAY, 1, c->queries, c->channels, c->locations, CENTRA_F64};
    struct sample all, half[2];
    struct desk d;
    REQUIRE(desk_open(&d, head, NULL, 2) && sample_make(&shape, 1, &all));
    REQUIRE(half_of(&all, 0, &half[0]) && half_of(&all, half_count, &half[1]));
    struct sample *each[] = {&all, &half[0], &half[1]};
    for (int i = 0; i < 3; i++) {
        each[i]->r.centrality_support = each[i]->r.centrality_query = NULL;
        EXPECT_OK((status)centra_head_score(d.head, &each[i]->e, &each[i]->r));
    }
    const double *whole = all.r.grad_support, *a = half[0].r.grad_support, *b = half[1].r.grad_support;
    expect_near(head, "loss", 0, all.loss, (half[0].loss + half[1].loss) / 2);
    for (size_t i = 0; i < WAY * map; i++) expect_near(head, "support gradient", i, whole[i], (a[i] + b[i]) / 2);
    for (size_t i = 0; i < c->queries * map; i++)
        expect_near(head, "query gradient", i, ((double *)all.r.grad_query)[i],
                    ((double *)half[i / (half_count * map)].r.grad_query)[i % (half_count * map)] / 2);
    all.r.grad_support = all.r.grad_query = NULL;
    EXPECT_OK((status)centra_head_score(d.head, &all.e, &all.r));
    for (size_t i = 0; i < c->queries * WAY; i++)
        expect_near(head, "score", i, ((double *)all.r.scores)[i],
                    ((double *)half[i / (half_count * WAY)].r.scores)[i % (half_count * WAY)]);
    for (int i = 0; i < 3; i++) sample_free(each[i]);
    desk_close(&d);
}

TEST(heads_in_chunks_give_what_few_queries_give)
{
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) compare_halves(&cuts[i]);
}
