/* walk_threads.c - the bits of a walk and of its gradients depend neither on the number of threads nor on how many
 * queries go through in a round. */
#include "cpu/kernels.h"
#include "tests/device.h"
#include "tests/heads/rig.h"
#include "tests/test.h"

static bool same(const struct maps *m, const struct answer *a, const struct answer *b)
{
    return a->loss == b->loss && !memcmp(a->prob, b->prob, m->nq * m->way * sizeof *a->prob) &&
           !memcmp(a->pi_support, b->pi_support, m->nq * m->way * m->rs * sizeof *a->prob) &&
           !memcmp(a->pi_query, b->pi_query, m->nq * m->rq * sizeof *a->prob) &&
           !memcmp(a->d_proto, b->d_proto, maps_proto_count(m) * sizeof *a->prob) &&
           !memcmp(a->d_query, b->d_query, maps_query_count(m) * sizeof *a->prob);
}

static void check_threads(const char *isa, dtype type, const struct maps *m, const struct walk *s)
{
    struct answer one = {0}, many = {0};
    for (size_t threads = 1; threads <= 3; threads++) {
        struct world w;
        REQUIRE(rig_open(&w, isa, threads, type));
        EXPECT(rig_walk(&w, m, s, threads == 1 ? &one : &many));
        EXPECT(isfinite(one.loss));
        if (threads > 1 && !same(m, &one, &many))
            test_failed(__FILE__, __LINE__, "%s %s: %zu threads give other bits than one (alpha %g)", isa,
                        dtype_name(type), threads, s->alpha);
        answer_free(&many);
        world_close(&w);
    }
    answer_free(&one);
}

TEST(walk_bits_do_not_depend_on_the_number_of_threads)
{
    static const double alphas[] = {0, 0.5, 0.999};
    struct random r = test_random();
    struct maps small = maps_random(&r, 5, 40, 9, 11, 9), wide = maps_random(&r, 5, 200, 25, 40, 25);
    for (int isa = 0; isa < ISA_COUNT; isa++)
        for (dtype type = DT_F32; kernels_of((enum isa)isa) && type < DT_REALS; type++)
            for (size_t i = 0; i < 3; i++) {
                const struct walk s = {20, 10, alphas[i], WALK_AUTO};
                check_threads(isa_name((enum isa)isa), type, &small, &s);
                if (i == 1) check_threads(isa_name((enum isa)isa), type, &wide, &s);
            }
    maps_free(&small);
    maps_free(&wide);
}

/* 100 queries of a map large enough need several rounds; one by one each is a round of its own. */
TEST(walk_of_many_queries_equals_that_of_each)
{
    struct random r = test_random();
    const struct walk s = {20, 10, 0.5, WALK_AUTO};
    for (dtype type = DT_F32; type < DT_REALS; type++) {
        struct maps m = maps_random(&r, 5, 12, 64, 100, 49);
        const size_t each = m.channels * m.rq;
        struct world w;
        struct answer all, a;
        double sum[5 * 12 * 64] = {0};
        REQUIRE(rig_open(&w, NULL, 2, type));
        EXPECT(rig_walk(&w, &m, &s, &all));
        for (size_t n = 0; n < m.nq; n++) {
            struct maps one = m;
            one.nq = 1;
            one.query = m.query + n * each;
            one.labels = m.labels + n;
            if (rig_walk(&w, &one, &s, &a)) {
                if (!test_device()) { /* others may multiply matrices of another size in another order */
                    EXPECT(!memcmp(a.prob, all.prob + n * m.way, m.way * sizeof *a.prob));
                    EXPECT(!memcmp(a.pi_query, all.pi_query + n * m.rq, m.rq * sizeof *a.prob));
                }
                EXPECT_ALL_NEAR(a.prob, all.prob + n * m.way, m.way, rig_tolerance(type));
                EXPECT_ALL_NEAR(a.pi_query, all.pi_query + n * m.rq, m.rq, rig_tolerance(type));
                for (size_t i = 0; i < each; i++) a.d_query[i] /= 100;
                EXPECT_ALL_NEAR(a.d_query, all.d_query + n * each, each, rig_tolerance(type));
                for (size_t i = 0; i < maps_proto_count(&m); i++) sum[i] += a.d_proto[i] / 100;
            }
            answer_free(&a);
        }
        EXPECT_ALL_NEAR(all.d_proto, sum, maps_proto_count(&m), rig_tolerance(type));
        answer_free(&all);
        maps_free(&m);
        world_close(&w);
    }
}
