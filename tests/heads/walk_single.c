/* walk_single.c - the walk in single precision, by whichever way the device prefers, against the CPU's direct solution in
 * double: over map sizes, unequal maps, many classes, sharpnesses and dampings. */
#include "tests/heads/rig.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

struct pair { /* a world of each type, the second on the CPU */
    struct world single, twice;
};

static bool pair_open(struct pair *p)
{
    if (!rig_open(&p->single, NULL, 2, DT_F32)) return false;
    if (world_open_cpu(&p->twice, 2, DT_F64, TAPE_TRAINING)) return true;
    world_close(&p->single);
    return false;
}
static void pair_close(struct pair *p)
{
    world_close(&p->single);
    world_close(&p->twice);
}

/* Both worlds must be given the same numbers: those that single precision has. */
static struct maps maps_single(struct random *r, const size_t *d)
{
    struct maps m = maps_random(r, d[0], d[1], d[2], d[3], d[4]);
    for (size_t i = 0; i < maps_proto_count(&m); i++) m.proto[i] = (double)(float)m.proto[i];
    for (size_t i = 0; i < maps_query_count(&m); i++) m.query[i] = (double)(float)m.query[i];
    return m;
}

/* Differences count relative to the largest number of the array. */
static void expect_close(const char *what, const double *seen, const double *wanted, size_t n, double tolerance)
{
    double most = 0, off = 0;
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, fabs(wanted[i]));
        if (!(fabs(seen[i] - wanted[i]) <= off)) off = fabs(seen[i] - wanted[i]);
    }
    if (!(off <= tolerance * most + 1e-9))
        test_failed(__FILE__, __LINE__, "%s is off by %.3g; the largest is %.3g", what, off, most);
}

enum { VALUE, LOGARITHM, GRADIENT };
static const double limits[] = {[VALUE] = 1e-5, [LOGARITHM] = 2e-5, [GRADIENT] = 1e-4};
/* A walk that forgets a thousandth a step makes up to a thousand times as much of a rounding; over 30 seeds 1.4 of the
 * limits was the most. */
static double leeway(double alpha) { return alpha > 0.9 ? 4 : 1; }

static void check_episode(struct pair *p, const struct maps *m, struct walk s)
{
    struct answer seen, wanted;
    char what[128];
    const bool ran = rig_walk(&p->single, m, &s, &seen);
    s.solver = WALK_DEFLATED;
    if (rig_walk(&p->twice, m, &s, &wanted) && ran) {
        const struct {
            const char *name;
            const double *seen, *wanted;
            size_t n;
            int kind;
        } parts[] = {{"prob", seen.prob, wanted.prob, m->nq * m->way, VALUE},
                     {"log prob", seen.log_prob, wanted.log_prob, m->nq * m->way, LOGARITHM},
                     {"pi(S)", seen.pi_support, wanted.pi_support, m->nq * m->way * m->rs, VALUE},
                     {"pi(q)", seen.pi_query, wanted.pi_query, m->nq * m->rq, VALUE},
                     {"loss", &seen.loss, &wanted.loss, 1, LOGARITHM},
                     {"d proto", seen.d_proto, wanted.d_proto, maps_proto_count(m), GRADIENT},
                     {"d query", seen.d_query, wanted.d_query, maps_query_count(m), GRADIENT}};
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            snprintf(what, sizeof what, "%s of %zu x [%zu, %zu, %zu | %zu] at gamma %g, beta %g, alpha %g",
                     parts[i].name, m->nq, m->way, m->channels, m->rs, m->rq, s.gamma, s.beta, s.alpha);
            expect_close(what, parts[i].seen, parts[i].wanted, parts[i].n, leeway(s.alpha) * limits[parts[i].kind]);
        }
    }
    answer_free(&seen);
    answer_free(&wanted);
}

/* way, channels, rs, nq, rq */
static const size_t dims[][5] = {{5, 64, 25, 4, 25},  {5, 40, 64, 2, 64},  {5, 24, 100, 1, 100}, {5, 20, 144, 1, 144},
                                 {30, 64, 25, 3, 25}, {20, 64, 25, 2, 25}, {3, 13, 7, 3, 36},    {7, 10, 49, 2, 5},
                                 {2, 70, 1, 3, 1},    {1, 9, 4, 2, 3},     {4, 8, 30, 2, 160},   {2, 16, 3, 1, 170},
                                 {2, 1800, 3, 2, 4}}; /* more channels than a GPU turns around at once */
static const double sharp[][2] = {{20, 10}, {40, 10}, {40, 20}, {15, 11}, {5, 30}};
static const double alphas[] = {0, 0.3, 0.5, 0.9, 0.999};
enum {
    SHAPES = sizeof dims / sizeof *dims,
    SHARP = sizeof sharp / sizeof *sharp,
    ALPHAS = sizeof alphas / sizeof *alphas
};

static bool wanted(double alpha) { return !test_brief() || alpha == 0.5 || alpha > 0.9; }
/* In brief one shape for each of the ways that a GPU goes: a block a query, several, maps of unlike sizes. */
static bool shape_wanted(size_t i) { return !test_brief() || i == 0 || i == 3 || i == 7; }

TEST(walk_in_single_precision_keeps_to_the_direct_solution_in_double)
{
    struct random r = test_random();
    struct pair p;
    REQUIRE(pair_open(&p));
    for (size_t i = 0; i < SHAPES; i++) {
        if (!shape_wanted(i)) continue;
        struct maps m = maps_single(&r, dims[i]);
        for (size_t k = 0; k < ALPHAS; k++) {
            if (!wanted(alphas[k])) continue;
            const size_t own = (i + k) % SHARP; /* each shape meets each sharpness with some damping */
            check_episode(&p, &m, (struct walk){sharp[own][0], sharp[own][1], alphas[k], WALK_AUTO});
            if (k == 2) check_episode(&p, &m, (struct walk){20, 10, alphas[k], WALK_AUTO});
        }
        maps_free(&m);
    }
    pair_close(&p);
}

/* Small walks everywhere: every sharpness with every damping. */
TEST(walk_in_single_precision_holds_for_every_sharpness_and_damping)
{
    static const size_t small[][5] = {{5, 16, 9, 3, 9}, {3, 12, 4, 2, 11}, {4, 12, 13, 2, 6}};
    struct random r = test_random();
    struct pair p;
    REQUIRE(pair_open(&p));
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        struct maps m = maps_single(&r, small[i]);
        for (size_t k = 0; k < (size_t)SHARP * ALPHAS; k++)
            check_episode(&p, &m,
                          (struct walk){sharp[k / ALPHAS][0], sharp[k / ALPHAS][1], alphas[k % ALPHAS], WALK_AUTO});
        maps_free(&m);
    }
    pair_close(&p);
}

/* Gradients from given cotangents on all four outputs. */
static bool pull(struct world *w, const struct maps *m, const struct walk *s, const double *weight, double *d_proto,
                 double *d_query)
{
    struct walk_vars v;
    var *of[4];
    const tensor *cotangents[4];
    tape_reset(w->t, TAPE_TRAINING);
    var *proto = world_leaf(w, DIMS(m->way, m->channels, m->rs), m->proto);
    var *query = world_leaf(w, DIMS(m->nq, m->channels, m->rq), m->query);
    if (op_walk(w->t, proto, query, s, WALK_PROB | WALK_LOG_PROB | WALK_PI_SUPPORT | WALK_PI_QUERY, &v)) {
        var *const outputs[] = {v.prob, v.log_prob, v.pi_support, v.pi_query};
        for (int i = 0; i < 4; i++) {
            const tensor *value = &outputs[i]->value;
            const var *c = world_constant(w, value->rank, value->dim, weight);
            of[i] = outputs[i];
            cotangents[i] = c ? &c->value : NULL;
            weight += tensor_count(value);
        }
        tape_backward_from(w->t, 4, of, cotangents);
    }
    EXPECT_OK(tape_status(w->t));
    return tape_status(w->t) == OK && world_read(w, &proto->grad, d_proto) && world_read(w, &query->grad, d_query);
}

static void check_cotangents(struct pair *p, struct random *r, const struct maps *m, struct walk s)
{
    const size_t np = maps_proto_count(m), nq = maps_query_count(m), all = np + nq;
    const size_t weights = m->nq * (2 * m->way + m->way * m->rs + m->rq);
    double *seen = calloc(2 * all + weights, sizeof *seen), *wanted = seen + all, *weight = wanted + all;
    char what[64];
    REQUIRE(seen);
    for (size_t i = 0; i < weights; i++) weight[i] = (double)(float)random_normal(r);
    const bool ran = pull(&p->single, m, &s, weight, seen, seen + np);
    snprintf(what, sizeof what, "a gradient from cotangents at alpha %g", s.alpha);
    s.solver = WALK_DEFLATED;
    if (pull(&p->twice, m, &s, weight, wanted, wanted + np) && ran) {
        expect_close(what, seen, wanted, np, limits[GRADIENT]);
        expect_close(what, seen + np, wanted + np, nq, limits[GRADIENT]);
    }
    free(seen);
}

/* Both ways of asking for gradients. */
static void check_both(struct pair *p, struct random *r, const struct maps *m, struct walk s)
{
    check_episode(p, m, s);
    check_cotangents(p, r, m, s);
}

/* A device may share a query out among its processors by how many queries and how large maps there are. */
TEST(walk_in_single_precision_holds_for_many_queries_with_large_maps)
{
    static const size_t large[][5] = {
        {6, 9, 97, 7, 131}, {5, 12, 144, 43, 144}, {5, 12, 100, 45, 100}, {5, 9, 64, 140, 63}};
    struct random r = test_random();
    struct pair p;
    REQUIRE(pair_open(&p));
    for (size_t i = 0; i < (test_brief() ? 1 : sizeof large / sizeof *large); i++) {
        struct maps m = maps_single(&r, large[i]);
        const double *own = sharp[i % 3];
        check_both(&p, &r, &m, (struct walk){own[0], own[1], 0.5, WALK_AUTO});
        maps_free(&m);
    }
    pair_close(&p);
}

/* Makes features of a map [pictures, channels, locations] alike: each is one of `kinds`, chosen at random, and a little
 * noise. */
static void make_alike(struct random *r, size_t kinds, const double *kind, double *x, const size_t *d)
{
    for (size_t n = 0; n < d[0]; n++)
        for (size_t l = 0; l < d[2]; l++) {
            const double *own = kind + (size_t)random_below(r, kinds) * d[1];
            for (size_t c = 0; c < d[1]; c++)
                x[(n * d[1] + c) * d[2] + l] = (double)(float)(own[c] + 0.2 * random_normal(r));
        }
}

/* Walks among features of a few kinds hardly leave a kind: the error of an iteration shrinks as slowly as it ever can. */
TEST(walk_in_single_precision_holds_for_features_of_few_kinds)
{
    static const size_t shapes[][5] = {
        {5, 24, 25, 3, 25}, {3, 24, 11, 2, 150}, {5, 24, 100, 2, 100}, {5, 24, 144, 2, 144}};
    static const double dampings[] = {0.1, 0.3, 0.5, 0.7};
    enum { KINDS = 2, CHANNELS = 24 };
    struct random r = test_random();
    double kind[KINDS * CHANNELS];
    struct pair p;
    REQUIRE(pair_open(&p));
    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++) kind[i] = random_normal(&r);
    for (size_t i = 0; i < (test_brief() ? 2 : sizeof shapes / sizeof *shapes); i++) {
        struct maps m = maps_single(&r, shapes[i]);
        make_alike(&r, KINDS, kind, m.proto, (const size_t[]){m.way, m.channels, m.rs});
        make_alike(&r, KINDS, kind, m.query, (const size_t[]){m.nq, m.channels, m.rq});
        for (size_t k = 0; k < sizeof dampings / sizeof *dampings; k++) {
            if (!wanted(dampings[k])) continue;
            const double *own = sharp[(i + k) % SHARP];
            check_both(&p, &r, &m, (struct walk){own[0], own[1], dampings[k], WALK_AUTO});
        }
        maps_free(&m);
    }
    pair_close(&p);
}

TEST(walk_in_single_precision_has_gradients_from_cotangents_on_all_outputs)
{
    struct random r = test_random();
    struct pair p;
    REQUIRE(pair_open(&p));
    for (size_t i = 0; i < SHAPES; i++) {
        if (!shape_wanted(i)) continue;
        struct maps m = maps_single(&r, dims[i]);
        for (size_t k = 0; k < ALPHAS; k++) {
            if (!wanted(alphas[k])) continue;
            const double *own = sharp[(i + k) % SHARP];
            check_cotangents(&p, &r, &m, (struct walk){own[0], own[1], alphas[k], WALK_AUTO});
        }
        maps_free(&m);
    }
    pair_close(&p);
}
