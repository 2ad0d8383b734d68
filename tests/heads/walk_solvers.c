/* walk_solvers.c - all ways of solving the walk give the same numbers, and stay finite where exponentials do not. */
#include "tests/heads/rig.h"
#include "tests/test.h"
#include <stdio.h>

static const char *const names[] = {"auto", "full", "block", "reduced", "deflated", "qr", "pinv", "iterate"};

static bool fits(enum walk_solver s, double alpha)
{
    if (s == WALK_QR || s == WALK_PINV) return alpha == 1;
    return alpha < 1 || s == WALK_AUTO || s == WALK_DEFLATED || s == WALK_ITERATE;
}

static void compare(struct world *w, const struct maps *m, const struct walk *s, const struct answer *wanted,
                    double tolerance)
{
    struct answer a;
    char what[64];
    if (rig_walk(w, m, s, &a)) {
        const struct {
            const char *name;
            const double *seen, *wanted;
            size_t n;
        } parts[] = {{"prob", a.prob, wanted->prob, m->nq * m->way},
                     {"pi(S)", a.pi_support, wanted->pi_support, m->nq * m->way * m->rs},
                     {"pi(q)", a.pi_query, wanted->pi_query, m->nq * m->rq},
                     {"d proto", a.d_proto, wanted->d_proto, maps_proto_count(m)},
                     {"d query", a.d_query, wanted->d_query, maps_query_count(m)},
                     {"loss", &a.loss, &wanted->loss, 1}};
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            snprintf(what, sizeof what, "%s by %s, alpha %g", parts[i].name, names[s->solver], s->alpha);
            const double slack = parts[i].name[0] == 'd' ? 100 : 1; /* gradients carry gamma */
            expect_near(__FILE__, __LINE__, what, parts[i].seen, parts[i].wanted, parts[i].n, slack * tolerance);
        }
    }
    answer_free(&a);
}

static void check_agreement(struct world *w, struct random *r, const size_t *dim, double gamma, double beta)
{
    static const double alphas[] = {0.1, 0.5, 0.9, 0.999, 1};
    struct maps m = maps_random(r, dim[0], dim[1], dim[2], dim[3], dim[4]);
    for (size_t i = 0; i < sizeof alphas / sizeof *alphas; i++) {
        struct walk s = {gamma, beta, alphas[i], WALK_DEFLATED};
        struct answer wanted;
        const double tolerance = w->type == DT_F32 ? 2e-4 : alphas[i] > 0.99 ? 1e-10 : 1e-12;
        if (rig_walk(w, &m, &s, &wanted))
            for (int k = WALK_AUTO; k <= WALK_ITERATE; k++) {
                s.solver = (enum walk_solver)k;
                if (fits(s.solver, s.alpha)) compare(w, &m, &s, &wanted, tolerance);
            }
        answer_free(&wanted);
    }
    maps_free(&m);
}

TEST(walk_solvers_agree)
{
    static const size_t dims[][5] = {{5, 16, 9, 3, 9}, {1, 4, 3, 2, 3},  {3, 8, 1, 3, 1},    {20, 8, 4, 2, 4},
                                     {4, 8, 5, 2, 12}, {2, 8, 12, 2, 5}, {5, 32, 25, 2, 25}, {3, 24, 34, 1, 34}};
    struct random r = test_random();
    for (dtype type = DT_F32; type < DT_REALS; type++) {
        struct world w;
        REQUIRE(rig_open(&w, NULL, 2, type));
        for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) check_agreement(&w, &r, dims[i], 20, 10);
        if (type == DT_F64) check_agreement(&w, &r, dims[0], 40, 20);
        world_close(&w);
    }
}

/* Softmaxes that are as good as one-hot: nothing overflows, and the masses still sum to 1. */
static void check_sharp(struct world *w, const struct maps *m, const struct walk *s)
{
    struct answer a;
    if (rig_walk(w, m, s, &a)) {
        bool finite = isfinite(a.loss);
        for (size_t i = 0; i < m->nq * m->way; i++) finite = finite && isfinite(a.log_prob[i]) && a.prob[i] >= 0;
        for (size_t i = 0; i < maps_proto_count(m); i++) finite = finite && isfinite(a.d_proto[i]);
        for (size_t i = 0; i < maps_query_count(m); i++) finite = finite && isfinite(a.d_query[i]);
        if (!finite)
            test_failed(__FILE__, __LINE__, "%s: not finite with gamma %g, beta %g, alpha %g by %s",
                        dtype_name(w->type), s->gamma, s->beta, s->alpha, names[s->solver]);
        for (size_t n = 0; n < m->nq; n++) {
            double prob = 0, query = 0;
            for (size_t c = 0; c < m->way; c++) prob += a.prob[n * m->way + c];
            for (size_t i = 0; i < m->rq; i++) query += a.pi_query[n * m->rq + i];
            if (!(fabs(prob - 1) <= 1e-5) || !(fabs(query - 1) <= 1e-5))
                test_failed(__FILE__, __LINE__, "%s: masses sum to %g and %g with gamma %g, beta %g, alpha %g by %s",
                            dtype_name(w->type), prob, query, s->gamma, s->beta, s->alpha, names[s->solver]);
        }
    }
    answer_free(&a);
}

TEST(walk_stays_finite_when_sharp)
{
    static const double sharp[] = {1000, 1e6}, alphas[] = {0, 0.5, 0.999, 1};
    struct random r = test_random();
    for (dtype type = DT_F32; type < DT_REALS; type++) {
        struct world w;
        REQUIRE(rig_open(&w, NULL, 1, type));
        for (int trial = 0; trial < 20; trial++) {
            struct maps m = maps_random(&r, 4, 8, 6, 3, 6);
            for (int i = 0; i < 2 * 4 * 8; i++) {
                const struct walk s = {sharp[i % 2], sharp[i % 2], alphas[i / 2 % 4], (enum walk_solver)(i / 8)};
                if (fits(s.solver, s.alpha)) check_sharp(&w, &m, &s);
            }
            maps_free(&m);
        }
        world_close(&w);
    }
}

/* A walk that falls apart into closed sets has no unique stationary distribution; alpha = 1 then answers as alpha =
 * 1 - 1e-6 does (docs/mcl.md). Two queries' features that are each exactly one class's make it so. */
TEST(walk_without_a_unique_stationary_distribution_answers_as_nearly_one)
{
    const double unit[] = {1, 0, 0, 1};
    struct maps m = {2, 2, 1, 1, 2, (double *)(uintptr_t)unit, (double *)(uintptr_t)unit, (int32_t[]){1}};
    const struct walk one = {1e6, 1e6, 1, WALK_AUTO};
    for (dtype type = DT_F32; type < DT_REALS; type++) {
        struct world w;
        struct answer a;
        REQUIRE(rig_open(&w, NULL, 1, type));
        for (int solver = 0; solver < 2; solver++) {
            struct walk s = one;
            s.solver = solver ? WALK_DEFLATED : WALK_AUTO;
            if (rig_walk(&w, &m, &s, &a)) EXPECT_ALL_NEAR(a.prob, ((double[]){0.5, 0.5}), 2, 1e-5);
            answer_free(&a);
        }
        world_close(&w);
    }
}

/* One class looks the way of all queries, the last one the other way. */
static struct maps opposed_maps(struct random *r)
{
    struct maps m = maps_random(r, 3, 6, 5, 3, 4);
    double base[6];
    for (size_t c = 0; c < 6; c++) base[c] = random_normal(r) + (c == 0 ? 3 : 0);
    for (size_t i = 0; i < maps_query_count(&m); i++) m.query[i] = base[i / m.rq % 6] + 0.3 * random_normal(r);
    for (size_t i = 0; i < 6 * m.rs; i++) {
        m.proto[i] = base[i / m.rs] + 0.3 * random_normal(r);
        m.proto[2 * 6 * m.rs + i] = -base[i / m.rs] + 0.3 * random_normal(r);
    }
    for (size_t n = 0; n < m.nq; n++) m.labels[n] = 2;
    return m;
}

static void check_far(const struct maps *m, const struct walk *s)
{
    struct answer a[DT_REALS] = {{0}};
    bool walked = true;
    for (dtype type = DT_F32; type < DT_REALS; type++) {
        struct world w;
        REQUIRE(rig_open(&w, NULL, 1, type));
        walked = rig_walk(&w, m, s, &a[type]) && walked;
        world_close(&w);
    }
    if (walked) {
        EXPECT(a[DT_F64].loss > 150); /* an f32 ends at 103 */
        EXPECT_NEAR(a[DT_F32].loss, a[DT_F64].loss, 1e-3);
        EXPECT_ALL_NEAR(a[DT_F32].log_prob, a[DT_F64].log_prob, m->nq * m->way, 1e-3);
        EXPECT_ALL_NEAR(a[DT_F32].d_query, a[DT_F64].d_query, maps_query_count(m), 1e-3);
        EXPECT_ALL_NEAR(a[DT_F32].d_proto, a[DT_F64].d_proto, maps_proto_count(m), 1e-3);
    }
    for (dtype type = DT_F32; type < DT_REALS; type++) answer_free(&a[type]);
}

/* With gamma 200 the label's mass is far below what an f32 can hold; loss and gradients come from logarithms. */
TEST(walk_loss_of_a_far_label_survives_f32)
{
    static const double alphas[] = {0, 0.1, 0.5, 0.9, 0.999, 1};
    struct random r = test_random();
    for (size_t i = 0; i < sizeof alphas / sizeof *alphas * 8; i++) {
        const struct walk s = {200, 10, alphas[i / 8], i % 2 ? WALK_DEFLATED : WALK_AUTO};
        struct maps m = opposed_maps(&r);
        check_far(&m, &s);
        maps_free(&m);
    }
}
