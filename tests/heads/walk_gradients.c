/* walk_gradients.c - the closed-form derivative of the mutual walk against differences, for a loss and for cotangents
 * on each output. */
#include "tests/heads/rig.h"
#include "tests/test.h"
#include <stdlib.h>

static const double alphas[] = {0, 0.1, 0.5, 0.9, 0.999, 1};
enum { ALPHAS = sizeof alphas / sizeof *alphas };

/* A number made from an episode; with `back` the gradients are filled too. Everything is f64. */
struct functional {
    struct walk walk;
    unsigned want;        /* outputs that are weighed; 0: the loss of walk_nll */
    const double *weight; /* for all outputs in turn */
};

static size_t output_count(const struct maps *m, int i)
{
    return m->nq * (i < 2 ? m->way : i == 2 ? m->way * m->rs : m->rq);
}

/* The sum of weight x output over the wanted outputs, and its gradients. */
static double weigh(struct world *w, const struct maps *m, const struct functional *f, double *d_proto, double *d_query)
{
    struct walk_vars v;
    var *of[4];
    const tensor *cotangents[4];
    size_t count = 0, at = 0;
    double sum = 0;
    tape_reset(w->t, TAPE_TRAINING);
    var *proto = world_leaf(w, DIMS(m->way, m->channels, m->rs), m->proto);
    var *query = world_leaf(w, DIMS(m->nq, m->channels, m->rq), m->query);
    if (!f->want) {
        of[0] = op_walk_nll(w->t, proto, query, op_labels(w->t, m->labels, m->nq, m->way), &f->walk, 0, &v);
        if (of[0]) world_read(w, &of[0]->value, &sum);
        if (d_proto) tape_backward(w->t, of[0]);
    } else if (op_walk(w->t, proto, query, &f->walk, f->want, &v)) {
        var *const outputs[] = {v.prob, v.log_prob, v.pi_support, v.pi_query};
        for (int i = 0; i < 4; at += output_count(m, i++)) {
            if (!outputs[i]) continue;
            const tensor *value = &outputs[i]->value;
            double *x = calloc(tensor_count(value), sizeof *x);
            if (x && world_read(w, value, x))
                for (size_t k = 0; k < tensor_count(value); k++) sum += f->weight[at + k] * x[k];
            free(x);
            const var *weight = world_constant(w, value->rank, value->dim, f->weight + at);
            of[count] = outputs[i];
            cotangents[count++] = weight ? &weight->value : NULL;
        }
        if (d_proto) tape_backward_from(w->t, count, of, cotangents);
    }
    EXPECT_OK(tape_status(w->t));
    if (tape_status(w->t) != OK) return NAN;
    if (d_proto) EXPECT(world_read(w, &proto->grad, d_proto) && world_read(w, &query->grad, d_query));
    return sum;
}

/* The value after a step along `direction` (first proto, then query). */
static double stepped(struct world *w, const struct maps *m, const struct functional *f, const double *direction,
                      double step)
{
    struct maps p = maps_copy(m);
    const size_t np = maps_proto_count(m), nq = maps_query_count(m);
    for (size_t i = 0; i < np; i++) p.proto[i] += step * direction[i];
    for (size_t i = 0; i < nq; i++) p.query[i] += step * direction[np + i];
    const double value = weigh(w, &p, f, NULL, NULL);
    maps_free(&p);
    return value;
}

/* Differences of fourth order along random directions. */
static void check_gradient(struct world *w, struct random *r, const struct maps *m, const struct functional *f,
                           const char *what)
{
    const size_t np = maps_proto_count(m), all = np + maps_query_count(m);
    const double h = 2e-4 / sqrt((double)all) * (f->walk.gamma > 20 ? 0.25 : 1);
    double *grad = calloc(2 * all, sizeof *grad), *direction = grad + all;
    REQUIRE(grad);
    weigh(w, m, f, grad, grad + np);
    for (int trial = 0; trial < 3; trial++) {
        double seen = 0, size = 0;
        for (size_t i = 0; i < all; i++) {
            const bool moves = trial == 0 || (trial == 1) == (i < np); /* both, the classes, the queries */
            direction[i] = moves ? random_normal(r) : 0;
            seen += grad[i] * direction[i];
            size += grad[i] * grad[i];
        }
        const double near = stepped(w, m, f, direction, h) - stepped(w, m, f, direction, -h);
        const double far = stepped(w, m, f, direction, 2 * h) - stepped(w, m, f, direction, -2 * h);
        const double wanted = (8 * near - far) / (12 * h);
        if (!(fabs(seen - wanted) <= 1e-7 * (sqrt(size) + fabs(wanted)) + 1e-9))
            test_failed(__FILE__, __LINE__,
                        "%s, alpha %g: the derivative along a direction is %.12g, differences say %.12g", what,
                        f->walk.alpha, seen, wanted);
        EXPECT(size > 0 || m->way == 1 || f->weight);
    }
    free(grad);
}

static const size_t dims[][5] = {{3, 8, 4, 3, 4}, {3, 6, 5, 2, 7},  {4, 6, 6, 2, 3}, {2, 4, 1, 3, 1},
                                 {1, 5, 3, 2, 4}, {20, 5, 2, 2, 3}, {2, 2, 3, 2, 3}};
enum { SHAPES = sizeof dims / sizeof *dims };

/* Runs every shape and alpha with the functionals of `want`; `want` 0 is the loss. */
static void check_all(unsigned want, const char *what)
{
    struct random r = test_random();
    struct world w;
    REQUIRE(rig_open(&w, NULL, 1, DT_F64));
    for (size_t i = 0; i < (size_t)SHAPES * ALPHAS; i++) {
        const size_t *d = dims[i / ALPHAS];
        struct maps m = maps_random(&r, d[0], d[1], d[2], d[3], d[4]);
        size_t total = 0;
        for (int k = 0; k < 4; k++) total += output_count(&m, k);
        double *weight = calloc(total, sizeof *weight);
        for (size_t k = 0; weight && k < total; k++) weight[k] = random_normal(&r);
        const double sharp = d[1] < 4 ? 0.2 : 1;
        const struct functional f = {
            {20 * sharp, 10 * sharp, alphas[i % ALPHAS], WALK_AUTO}, want, want ? weight : NULL};
        check_gradient(&w, &r, &m, &f, what);
        free(weight);
        maps_free(&m);
    }
    world_close(&w);
}

TEST(walk_nll_has_its_gradient) { check_all(0, "loss"); }
TEST(walk_prob_has_its_gradient) { check_all(WALK_PROB, "prob"); }
TEST(walk_log_prob_has_its_gradient) { check_all(WALK_LOG_PROB, "log prob"); }
TEST(walk_pi_support_has_its_gradient) { check_all(WALK_PI_SUPPORT, "pi(S)"); }
TEST(walk_pi_query_has_its_gradient) { check_all(WALK_PI_QUERY, "pi(q)"); }
TEST(walk_outputs_together_have_their_gradient)
{
    check_all(WALK_PROB | WALK_LOG_PROB | WALK_PI_SUPPORT | WALK_PI_QUERY, "everything");
}

/* Query feature i is the unit vector i; class feature j has random parts along those and one of its own along rq + j.
 * Then the gradient of query feature i along rq + j is d phi[i, j] times that part, and nothing else. */
static void check_d_phi_sums(struct world *w, struct random *r, double alpha, unsigned want)
{
    enum { WAY = 3, RS = 3, RQ = 4, M = WAY * RS, C = RQ + M };
    struct maps m = maps_random(r, WAY, C, RS, 1, RQ);
    double weight[1 * (WAY + WAY + M + RQ)], d_proto[M * C], d_query[C * RQ], rows[RQ] = {0}, columns[M] = {0}, all = 0;
    const struct functional f = {{5, 3, alpha, WALK_AUTO}, want, weight};
    for (size_t i = 0; i < sizeof weight / sizeof *weight; i++) weight[i] = random_normal(r);
    memset(m.query, 0, sizeof d_query);
    for (size_t i = 0; i < RQ; i++) m.query[i * RQ + i] = 1;
    for (size_t j = 0; j < M; j++)
        for (size_t c = RQ; c < C; c++) m.proto[j / RS * C * RS + c * RS + j % RS] = c == RQ + j ? 2 : 0;
    weigh(w, &m, &f, d_proto, d_query);
    for (size_t j = 0; j < M; j++) {
        const double *feature = m.proto + j / RS * C * RS + j % RS;
        double square = 0;
        for (size_t c = 0; c < C; c++) square += feature[c * RS] * feature[c * RS];
        for (size_t i = 0; i < RQ; i++) {
            const double d_phi = d_query[(RQ + j) * RQ + i] * sqrt(square) / 2;
            rows[i] += d_phi;
            columns[j] += d_phi;
            all += d_phi;
        }
    }
    EXPECT_NEAR(all, 0, 1e-13);
    for (size_t i = 0; alpha == 0 && want == WALK_PROB && i < RQ; i++) EXPECT_NEAR(rows[i], 0, 1e-14);
    for (size_t j = 0; alpha == 0 && want == WALK_PI_QUERY && j < M; j++) EXPECT_NEAR(columns[j], 0, 1e-14);
    double size = 0;
    for (size_t i = 0; i < sizeof d_query / sizeof *d_query; i++) size += fabs(d_query[i]);
    EXPECT(size > 1e-3);
    maps_free(&m);
}

/* A sees each row of phi up to a constant, B each column. At alpha 0 prob knows A only and pi(q) knows B only. */
TEST(walk_gradients_of_the_similarities_sum_to_zero)
{
    struct random r = test_random();
    struct world w;
    REQUIRE(rig_open(&w, NULL, 1, DT_F64));
    for (int i = 0; i < ALPHAS; i++) {
        check_d_phi_sums(&w, &r, alphas[i], WALK_PROB);
        check_d_phi_sums(&w, &r, alphas[i], WALK_PI_QUERY);
        check_d_phi_sums(&w, &r, alphas[i], WALK_PI_SUPPORT | WALK_LOG_PROB);
    }
    world_close(&w);
}
