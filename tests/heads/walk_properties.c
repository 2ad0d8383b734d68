/* walk_properties.c - what must hold for the mutual walk whatever the features (docs/mcl.md, "Properties"). */
#include "tests/heads/rig.h"
#include "tests/test.h"
#include <stdlib.h>

struct shape {
    size_t way, channels, rs, nq, rq;
};

/* r = 1, one class, many classes, maps of different sizes both ways, one channel (cosines are 1 and -1), whole and
 * ragged vectors. */
static const struct shape shapes[] = {{5, 16, 9, 4, 9}, {3, 8, 1, 4, 1},    {1, 8, 4, 3, 4},  {20, 8, 4, 3, 4},
                                      {4, 8, 6, 3, 11}, {4, 8, 11, 3, 6},   {3, 1, 5, 2, 5},  {2, 3, 1, 3, 7},
                                      {3, 67, 7, 2, 1}, {5, 64, 25, 2, 25}, {2, 5, 36, 2, 33}};
static const double alphas[] = {0, 0.1, 0.5, 0.9, 0.999, 1};
enum { SHAPES = sizeof shapes / sizeof *shapes, ALPHAS = sizeof alphas / sizeof *alphas };

struct setting {
    struct world *w;
    struct random *r;
    const struct maps *m;
    struct walk walk;
    const struct answer *a; /* of m */
    double tolerance;
};

/* Runs `check` for both types, all shapes and all alphas, each time on new features. */
static void for_all(void (*check)(const struct setting *s))
{
    struct random r = test_random();
    for (dtype type = DT_F32; type < DT_REALS; type++) {
        struct world w;
        REQUIRE(rig_open(&w, NULL, 2, type));
        for (size_t i = 0; i < (size_t)SHAPES * ALPHAS; i++) {
            const struct shape *p = &shapes[i / ALPHAS];
            struct maps m = maps_random(&r, p->way, p->channels, p->rs, p->nq, p->rq);
            struct answer a;
            const double alpha = alphas[i % ALPHAS];
            const double sharp = p->channels < 4 ? 0.1
                                                 : 1;   /* few channels, near-closed sets of features: hard to solve */
            const double slack = alpha > 0.99 ? 10 : 1; /* 1 / (1 - a^2 lambda2) */
            struct setting s = {
                &w, &r, &m, {20 * sharp, 10 * sharp, alpha, WALK_AUTO}, &a, slack * rig_tolerance(type)};
            if (rig_walk(&w, &m, &s.walk, &a)) check(&s);
            answer_free(&a);
            maps_free(&m);
        }
        world_close(&w);
    }
}

static void check_masses(const struct setting *s)
{
    const struct maps *m = s->m;
    const struct answer *a = s->a;
    const size_t columns = m->way * m->rs;
    double loss = 0;
    for (size_t n = 0; n < m->nq; n++) {
        double prob = 0, support = 0, query = 0;
        for (size_t c = 0; c < m->way; c++) {
            const double p = a->prob[n * m->way + c];
            EXPECT(p > 0);
            EXPECT_NEAR(a->log_prob[n * m->way + c], log(p), 10 * s->tolerance);
            double mass = 0;
            for (size_t i = 0; i < m->rs; i++) mass += a->pi_support[n * columns + c * m->rs + i];
            EXPECT_NEAR(p, mass, s->tolerance);
            prob += p;
        }
        for (size_t j = 0; j < columns; j++) support += a->pi_support[n * columns + j];
        for (size_t i = 0; i < m->rq; i++) {
            EXPECT(a->pi_query[n * m->rq + i] > 0);
            query += a->pi_query[n * m->rq + i];
        }
        EXPECT_NEAR(prob, 1, s->tolerance);
        EXPECT_NEAR(support, 1, s->tolerance);
        EXPECT_NEAR(query, 1, s->tolerance);
        loss -= log(a->prob[n * m->way + (size_t)m->labels[n]]) / (double)m->nq;
    }
    EXPECT_NEAR(a->loss, loss, 10 * s->tolerance);
}

TEST(walk_masses_are_positive_and_sum_to_one) { for_all(check_masses); }

/* Fills `to` with a random order of 0..n-1. */
static void shuffle(struct random *r, size_t n, size_t *to)
{
    for (size_t i = 0; i < n; i++) to[i] = i;
    for (size_t i = n; i > 1; i--) {
        const size_t j = (size_t)random_below(r, i), keep = to[i - 1];
        to[i - 1] = to[j];
        to[j] = keep;
    }
}

static void check_classes(const struct setting *s)
{
    const struct maps *m = s->m;
    const size_t each = m->channels * m->rs;
    struct maps p = maps_copy(m);
    struct answer a;
    size_t order[64];
    shuffle(s->r, m->way, order);
    for (size_t c = 0; c < m->way; c++) memcpy(p.proto + c * each, m->proto + order[c] * each, each * sizeof *p.proto);
    for (size_t n = 0; n < m->nq; n++)
        for (size_t c = 0; c < m->way; c++)
            if (order[c] == (size_t)m->labels[n]) p.labels[n] = (int32_t)c;
    if (rig_walk(s->w, &p, &s->walk, &a)) {
        for (size_t i = 0; i < m->nq * m->way; i++)
            EXPECT_NEAR(a.prob[i], s->a->prob[i / m->way * m->way + order[i % m->way]], s->tolerance);
        for (size_t c = 0; c < m->way; c++)
            EXPECT_ALL_NEAR(a.d_proto + c * each, s->a->d_proto + order[c] * each, each, 300 * s->tolerance);
        EXPECT_ALL_NEAR(a.pi_query, s->a->pi_query, m->nq * m->rq, s->tolerance);
    }
    answer_free(&a);
    maps_free(&p);
}

TEST(walk_follows_a_permutation_of_classes) { for_all(check_classes); }

/* The same bits, which the CPU promises; elsewhere a library's product may sum in an order that depends on its size. */
static void expect_same(const struct setting *s, const double *seen, const double *wanted, size_t n)
{
    if (s->w->dev->on_host) EXPECT(!memcmp(seen, wanted, n * sizeof *seen));
    else EXPECT_ALL_NEAR(seen, wanted, n, s->tolerance);
}

/* A query alone gives the same answer as among others. */
static void check_alone(const struct setting *s)
{
    const struct maps *m = s->m;
    const size_t each = m->channels * m->rq, columns = m->way * m->rs;
    for (size_t n = 0; n < m->nq; n++) {
        struct maps one = *m;
        struct answer a;
        one.nq = 1;
        one.query = m->query + n * each;
        one.labels = m->labels + n;
        if (rig_walk(s->w, &one, &s->walk, &a)) {
            expect_same(s, a.prob, s->a->prob + n * m->way, m->way);
            expect_same(s, a.pi_support, s->a->pi_support + n * columns, columns);
            expect_same(s, a.pi_query, s->a->pi_query + n * m->rq, m->rq);
            for (size_t i = 0; i < each; i++) a.d_query[i] /= (double)m->nq;
            EXPECT_ALL_NEAR(a.d_query, s->a->d_query + n * each, each, 300 * s->tolerance);
        }
        answer_free(&a);
    }
}

TEST(walk_of_a_query_does_not_depend_on_the_others) { for_all(check_alone); }

static void permute_columns(const double *from, size_t rows, size_t n, const size_t *order, double *to)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < n; i++) to[r * n + i] = from[r * n + order[i]];
}

/* Locations of query 0 and of the last class in another order. */
static void check_locations(const struct setting *s)
{
    const struct maps *m = s->m;
    const size_t class_at = (m->way - 1) * m->channels * m->rs, columns = m->way * m->rs;
    struct maps p = maps_copy(m);
    struct answer a;
    size_t query[64], proto[64];
    shuffle(s->r, m->rq, query);
    shuffle(s->r, m->rs, proto);
    permute_columns(m->query, m->channels, m->rq, query, p.query);
    permute_columns(m->proto + class_at, m->channels, m->rs, proto, p.proto + class_at);
    if (rig_walk(s->w, &p, &s->walk, &a)) {
        EXPECT_ALL_NEAR(a.prob, s->a->prob, m->nq * m->way, s->tolerance);
        for (size_t i = 0; i < m->rq; i++) EXPECT_NEAR(a.pi_query[i], s->a->pi_query[query[i]], s->tolerance);
        for (size_t i = 0; i < m->rs; i++)
            EXPECT_NEAR(a.pi_support[columns - m->rs + i], s->a->pi_support[columns - m->rs + proto[i]], s->tolerance);
    }
    answer_free(&a);
    maps_free(&p);
}

TEST(walk_does_not_see_the_order_of_locations) { for_all(check_locations); }

static void check_lengths(const struct setting *s)
{
    const struct maps *m = s->m;
    struct maps p = maps_copy(m);
    struct answer a;
    for (size_t i = 0; i < maps_query_count(m); i++) p.query[i] *= ldexp(1, (int)(i % m->rq % 7) - 3);
    for (size_t i = 0; i < maps_proto_count(m); i++) p.proto[i] *= 0.125 + (double)(i % m->rs);
    if (rig_walk(s->w, &p, &s->walk, &a)) {
        EXPECT_ALL_NEAR(a.prob, s->a->prob, m->nq * m->way, s->tolerance);
        EXPECT_ALL_NEAR(a.pi_support, s->a->pi_support, m->nq * m->way * m->rs, s->tolerance);
        EXPECT_ALL_NEAR(a.pi_query, s->a->pi_query, m->nq * m->rq, s->tolerance);
        for (size_t i = 0; i < maps_query_count(m); i++) a.d_query[i] *= ldexp(1, (int)(i % m->rq % 7) - 3);
        EXPECT_ALL_NEAR(a.d_query, s->a->d_query, maps_query_count(m), 300 * s->tolerance);
    }
    answer_free(&a);
    maps_free(&p);
}

TEST(walk_sees_directions_only) { for_all(check_lengths); }

/* Very long and very short features keep their direction too: the squares of the longest do not fit their type. */
TEST(walk_sees_directions_of_extreme_features)
{
    static const double factors[DT_REALS][3] = {{1e-8, 1e15, 1e25}, {1e-8, 1e25, 1e200}};
    struct random r = test_random();
    for (dtype type = DT_F32; type < DT_REALS; type++) {
        struct world w;
        REQUIRE(rig_open(&w, NULL, 1, type));
        struct maps m = maps_random(&r, 3, 8, 4, 2, 4);
        struct answer plain, a;
        const struct walk s = {20, 10, 0.5, WALK_AUTO};
        if (rig_walk(&w, &m, &s, &plain))
            for (size_t f = 0; f < 3; f++) {
                struct maps p = maps_copy(&m);
                for (size_t i = 0; i < maps_query_count(&m); i++) p.query[i] *= factors[type][f];
                if (rig_walk(&w, &p, &s, &a)) EXPECT_ALL_NEAR(a.prob, plain.prob, 6, rig_tolerance(type));
                answer_free(&a);
                maps_free(&p);
            }
        answer_free(&plain);
        maps_free(&m);
        world_close(&w);
    }
}

static void check_trivial(const struct setting *s)
{
    const struct maps *m = s->m;
    const size_t columns = m->way * m->rs;
    double *a = malloc(m->rq * columns * sizeof *a), *b = malloc(m->rq * columns * sizeof *b);
    if (m->way == 1)
        for (size_t n = 0; n < m->nq; n++) EXPECT_NEAR(s->a->prob[n], 1, s->tolerance);
    if (m->rq == 1 && m->rs == 1)
        for (size_t n = 0; a && b && n < m->nq; n++) {
            plain_transitions(m, &s->walk, n, a, b);
            EXPECT_ALL_NEAR(s->a->prob + n * m->way, a, m->way, s->tolerance);
            EXPECT_NEAR(s->a->pi_query[n], 1, s->tolerance);
        }
    free(a);
    free(b);
}

TEST(walk_with_one_class_or_one_location_is_a_softmax) { for_all(check_trivial); }

/* w = a^2 B pi(S) + share (1 + a B 1) must give pi(S) back as A^T w, and pi(q) follows from B and pi(S). */
static void check_fixed_point(const struct setting *s)
{
    const struct maps *m = s->m;
    const size_t columns = m->way * m->rs;
    const double a = s->walk.alpha, rq = (double)m->rq, wide = (double)columns;
    double *A = calloc(2 * m->rq * columns + columns, sizeof *A);
    REQUIRE(A);
    double *B = A + m->rq * columns, *back = B + m->rq * columns;
    for (size_t n = 0; n < m->nq; n++) {
        const double *pi = s->a->pi_support + n * columns;
        double total = 0;
        plain_transitions(m, &s->walk, n, A, B);
        memset(back, 0, columns * sizeof *back);
        for (size_t q = 0; q < m->rq; q++) {
            double to = 0, sum = 0;
            for (size_t j = 0; j < columns; j++) to += B[q * columns + j] * pi[j], sum += B[q * columns + j];
            const double w = a * a * to + (1 - a * a) / (rq + a * wide) * (1 + a * sum);
            for (size_t j = 0; j < columns; j++) back[j] += A[q * columns + j] * w;
            total += w;
            EXPECT_NEAR(s->a->pi_query[n * m->rq + q], ((1 - a * a) * sum + a * (rq + a * wide) * to) / (wide + a * rq),
                        s->tolerance);
        }
        EXPECT_NEAR(total, 1, s->tolerance);
        EXPECT_ALL_NEAR(pi, back, columns, s->tolerance);
    }
    free(A);
}

TEST(walk_satisfies_its_own_equation) { for_all(check_fixed_point); }

/* Near its ends alpha tends to the two limits. */
static void check_limits(const struct setting *s)
{
    struct walk near = s->walk;
    struct answer a;
    if (s->w->type != DT_F64 || (s->walk.alpha > 0 && s->walk.alpha < 1)) return;
    near.alpha = s->walk.alpha > 0 ? 1 - 1e-6 : 1e-6;
    if (rig_walk(s->w, s->m, &near, &a)) {
        EXPECT_ALL_NEAR(a.prob, s->a->prob, s->m->nq * s->m->way, near.alpha < 0.5 ? 1e-5 : 2e-4);
        EXPECT_ALL_NEAR(a.pi_query, s->a->pi_query, s->m->nq * s->m->rq, near.alpha < 0.5 ? 1e-5 : 2e-4);
        EXPECT_ALL_NEAR(a.d_query, s->a->d_query, maps_query_count(s->m), near.alpha < 0.5 ? 1e-4 : 1e-2);
    }
    answer_free(&a);
}

TEST(walk_tends_to_its_limits) { for_all(check_limits); }

/* Equal shots of one picture are that picture; each takes its share of the gradient. Shots are unequal here. */
TEST(walk_of_repeated_shots_is_that_of_one)
{
    enum { WAY = 3, C = 7, R = 5, ALL = 6 };
    const int32_t label[ALL] = {2, 0, 1, 2, 2, 1};
    const double shots[WAY] = {1, 2, 3};
    const struct walk s = {20, 10, 0.5, WALK_AUTO};
    struct random r = test_random();
    struct maps m = maps_random(&r, WAY, C, R, 4, R);
    struct world w;
    struct answer one;
    struct walk_vars v;
    double support[ALL * C * R], prob[4 * WAY], d_support[ALL * C * R];
    REQUIRE(rig_open(&w, NULL, 1, DT_F64));
    EXPECT(rig_walk(&w, &m, &s, &one));
    for (size_t i = 0; i < ALL; i++)
        memcpy(support + i * C * R, m.proto + (size_t)label[i] * C * R, sizeof(double[C * R]));
    tape_reset(w.t, TAPE_TRAINING);
    var *x = world_leaf(&w, DIMS(ALL, C, R), support), *q = world_leaf(&w, DIMS(4, C, R), m.query);
    var *proto = op_class_mean(w.t, x, op_labels(w.t, label, ALL, WAY), WAY);
    var *loss = op_walk_nll(w.t, proto, q, op_labels(w.t, m.labels, 4, WAY), &s, WALK_PROB, &v);
    EXPECT_OK(loss ? tape_backward(w.t, loss) : tape_status(w.t));
    if (loss && world_read(&w, &v.prob->value, prob) && world_read(&w, &x->grad, d_support)) {
        EXPECT_ALL_NEAR(prob, one.prob, 4 * WAY, 1e-12);
        for (size_t i = 0; i < ALL * C * R; i++) {
            const size_t c = (size_t)label[i / (C * R)];
            EXPECT_NEAR(d_support[i], one.d_proto[c * C * R + i % (C * R)] / shots[c], 1e-11);
        }
    }
    answer_free(&one);
    maps_free(&m);
    world_close(&w);
}
