/* walk_values.c - the mutual walk on features small enough to work out by hand; docs/mcl.md names the quantities.
 *
 * The gradients are given as those of the cosines (d phi) and carried to the features here, by the derivative of a
 * normalisation: d x = (d xhat - xhat (xhat . d xhat)) / |x|. */
#include "tests/heads/rig.h"
#include "tests/test.h"
#include <stdlib.h>

enum { MOST = 16 };

struct example {
    const char *what;
    struct maps maps; /* one query, label 0; arrays not owned */
    struct walk walk;
    double prob[MOST], pi_query[MOST], loss;
    const double *pi_support, *d_phi; /* NULL: not given */
};

#define PROTO_1 \
    (double[]) { 3, 4, 4, -3 } /* [2, 2, 1] */
#define QUERY_1 \
    (double[]) { 5, 12 }
#define PROTO_2 \
    (double[]) { 1, 3, 0, 4, 0, -3, 2, 4 } /* [2, 2, 2]: channel by channel */
#define QUERY_2 \
    (double[]) { 4, 7, 3, 24 }
/* [2, 2, 2]: the averages of (2,0)&(0,1), (3,4)&(1,0) and of (0,2)&(0,4), (-3,4)&(1,1) */
#define PROTO_3 \
    (double[]) { 1, 2, 0.5, 2, 0, -1, 3, 2.5 }
#define LABEL_0 \
    (int32_t[]) { 0 }
#define MAPS_1 \
    { \
        2, 2, 1, 1, 1, PROTO_1, QUERY_1, LABEL_0 \
    }
#define MAPS_2 \
    { \
        2, 2, 2, 1, 2, PROTO_2, QUERY_2, LABEL_0 \
    }
#define MAPS_3 \
    { \
        2, 2, 2, 1, 2, PROTO_3, QUERY_2, LABEL_0 \
    }

static const double d_phi_1[] = {-0.1617125613, 0.1617125613};
static const double pi_support_2[] = {0.1985819256, 0.3876857385, 0.2908032581, 0.1229290779};
static const double d_phi_2[] = {-0.1576469045, -0.2117102307, 0.2332343569, 0.0626619697,
                                 -0.0775804849, -0.3203653254, 0.3132852950, 0.1581213238};
static const double d_phi_2_sharp[] = {-0.0427045132, -0.6196270584, -0.0386426743, -0.0024128691,
                                       0.0055637101,  -3.8753844194, 4.5673885594,  0.0058192648};
static const double d_phi_2_sharp_mcl[] = {-0.1825568741, -2.0982333461, -0.1499340485, -0.0000243949,
                                           0.0011874493,  -5.3920364286, 7.8156335451,  0.0059640977};

/* -1: not given */
static const struct example examples[] = {
    {"1, alpha 0", MAPS_1, {2, 1, 0, WALK_AUTO}, {0.9191437193, 0.0808562807}, {1}, 0.0843127822, NULL, d_phi_1},
    {"1, alpha 0.5", MAPS_1, {2, 1, 0.5, WALK_AUTO}, {0.9191437193, 0.0808562807}, {1}, 0.0843127822, NULL, d_phi_1},
    {"1, alpha 1", MAPS_1, {2, 1, 1, WALK_AUTO}, {0.9191437193, 0.0808562807}, {1}, 0.0843127822, NULL, d_phi_1},
    {"2, alpha 0", MAPS_2, {2, 1, 0, WALK_AUTO}, {0.5901086887, 0.4098913113}, {-1}, -1, NULL, NULL},
    {"2, alpha 0.5",
     MAPS_2,
     {2, 1, 0.5, WALK_AUTO},
     {0.5862676640, 0.4137323360},
     {0.4782782536, 0.5217217464},
     0.5339788291,
     pi_support_2,
     d_phi_2},
    {"2, alpha 0.999",
     MAPS_2,
     {2, 1, 0.999, WALK_AUTO},
     {0.5854711045, 0.4145288955},
     {0.4835975342, 0.5164024658},
     0.5353384490,
     NULL,
     NULL},
    {"2, alpha 1",
     MAPS_2,
     {2, 1, 1, WALK_AUTO},
     {0.5854714224, 0.4145285776},
     {0.4836095946, 0.5163904054},
     -1,
     NULL,
     NULL},
    {"2, sharp, alpha 0", MAPS_2, {20, 10, 0, WALK_AUTO}, {0.6906797745, 0.3093202255}, {-1}, -1, NULL, NULL},
    {"2, sharp, alpha 0.5",
     MAPS_2,
     {20, 10, 0.5, WALK_AUTO},
     {0.6479523870, 0.3520476130},
     {0.3892367643, 0.6107632357},
     0.4339380622,
     NULL,
     d_phi_2_sharp},
    {"2, sharp, alpha 0.999",
     MAPS_2,
     {20, 10, 0.999, WALK_AUTO},
     {0.5995701824, 0.4004298176},
     {0.3522855136, 0.6477144864},
     0.5115422432,
     NULL,
     d_phi_2_sharp_mcl},
    {"2, sharp, alpha 1",
     MAPS_2,
     {20, 10, 1, WALK_AUTO},
     {0.5994223649, 0.4005776351},
     {0.3521445122, 0.6478554878},
     -1,
     NULL,
     NULL},
    {"3, alpha 0", MAPS_3, {2, 1, 0, WALK_AUTO}, {0.5978495199, 0.4021504801}, {-1}, -1, NULL, NULL},
    {"3, alpha 0.5",
     MAPS_3,
     {2, 1, 0.5, WALK_AUTO},
     {0.5938352195, 0.4061647805},
     {0.4777436726, 0.5222563274},
     -1,
     NULL,
     NULL},
    {"3, alpha 0.999",
     MAPS_3,
     {2, 1, 0.999, WALK_AUTO},
     {0.5941645038, 0.4058354962},
     {0.4872222993, 0.5127777007},
     -1,
     NULL,
     NULL},
};

/* Column i of [channels, n] divided by its length, which is returned. */
static double unit(const double *x, size_t channels, size_t n, size_t i, double *hat)
{
    double square = 0;
    for (size_t c = 0; c < channels; c++) square += x[c * n + i] * x[c * n + i];
    for (size_t c = 0; c < channels; c++) hat[c] = x[c * n + i] / sqrt(square);
    return sqrt(square);
}

/* dhat through the normalisation into column i of [channels, n] */
static void through_norm(const double *hat, const double *dhat, double norm, size_t channels, size_t n, size_t i,
                         double *dx)
{
    double along = 0;
    for (size_t c = 0; c < channels; c++) along += hat[c] * dhat[c];
    for (size_t c = 0; c < channels; c++) dx[c * n + i] = (dhat[c] - hat[c] * along) / norm;
}

/* The features' gradients from d phi [rq, way*rs]. */
static void features_from(const struct maps *m, const double *d_phi, double *d_proto, double *d_query)
{
    const size_t columns = m->way * m->rs, C = m->channels;
    double q[MOST], s[MOST], dq[MOST], ds[MOST][MOST] = {{0}};
    for (size_t i = 0; i < m->rq; i++) {
        const double norm = unit(m->query, C, m->rq, i, q);
        memset(dq, 0, sizeof dq);
        for (size_t j = 0; j < columns; j++) {
            unit(m->proto + j / m->rs * C * m->rs, C, m->rs, j % m->rs, s);
            for (size_t c = 0; c < C; c++) {
                dq[c] += d_phi[i * columns + j] * s[c];
                ds[j][c] += d_phi[i * columns + j] * q[c];
            }
        }
        through_norm(q, dq, norm, C, m->rq, i, d_query);
    }
    for (size_t j = 0; j < columns; j++) {
        const size_t class_at = j / m->rs * C * m->rs;
        const double norm = unit(m->proto + class_at, C, m->rs, j % m->rs, s);
        through_norm(s, ds[j], norm, C, m->rs, j % m->rs, d_proto + class_at);
    }
}

static void check_example(struct world *w, const struct example *e)
{
    const double tolerance = w->type == DT_F64 ? 1e-10 : 1e-5; /* ten digits are given */
    struct answer a;
    double d_proto[MOST], d_query[MOST];
    if (rig_walk(w, &e->maps, &e->walk, &a)) {
        EXPECT_ALL_NEAR(a.prob, e->prob, 2, tolerance);
        if (e->pi_query[0] >= 0) EXPECT_ALL_NEAR(a.pi_query, e->pi_query, e->maps.rq, tolerance);
        if (e->loss >= 0) EXPECT_NEAR(a.loss, e->loss, tolerance);
        if (e->pi_support) EXPECT_ALL_NEAR(a.pi_support, e->pi_support, e->maps.way * e->maps.rs, tolerance);
        if (e->d_phi) {
            features_from(&e->maps, e->d_phi, d_proto, d_query);
            EXPECT_ALL_NEAR(a.d_proto, d_proto, maps_proto_count(&e->maps), tolerance);
            EXPECT_ALL_NEAR(a.d_query, d_query, maps_query_count(&e->maps), tolerance);
        }
    }
    answer_free(&a);
}

TEST(walk_gives_the_worked_examples)
{
    for (dtype type = DT_F32; type < DT_REALS; type++) {
        struct world w;
        REQUIRE(rig_open(&w, NULL, 1, type));
        for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) check_example(&w, &examples[i]);
        world_close(&w);
    }
}

/* The third example starts from two shots a class, which are averaged raw. */
TEST(walk_averages_raw_shots)
{
    const double shots[] = {2, 3, 0, 4, 0, 1, 1, 0, 0, -3, 2, 4, 0, 1, 4, 1}; /* [4, 2, 2] */
    const struct walk s = {2, 1, 0.5, WALK_AUTO};
    struct world w;
    struct walk_vars v;
    double prob[2];
    REQUIRE(rig_open(&w, NULL, 1, DT_F64));
    var *support = world_leaf(&w, DIMS(4, 2, 2), shots);
    var *proto = op_class_mean(w.t, support, op_labels(w.t, (int32_t[]){0, 0, 1, 1}, 4, 2), 2);
    var *query = world_leaf(&w, DIMS(1, 2, 2), QUERY_2);
    const bool walked = op_walk(w.t, proto, query, &s, WALK_PROB, &v) && world_read(&w, &v.prob->value, prob);
    EXPECT(walked);
    if (walked) EXPECT_ALL_NEAR(prob, ((double[]){0.5938352195, 0.4061647805}), 2, 1e-10);
    world_close(&w);
}

/* Features of length zero have no direction: their cosines are 0, so a query of them sees every class alike. */
TEST(walk_of_zero_features)
{
    struct random r = test_random();
    for (dtype type = DT_F32; type < DT_REALS; type++) {
        struct world w;
        REQUIRE(rig_open(&w, NULL, 1, type));
        for (int alpha = 0; alpha < 5; alpha++) {
            const struct walk s = {20, 10, (double[]){0, 0.1, 0.5, 0.999, 1}[alpha], WALK_AUTO};
            struct maps m = maps_random(&r, 4, 6, 5, 2, 7);
            struct answer a;
            memset(m.query, 0, 6 * 7 * sizeof *m.query); /* the first query */
            for (size_t c = 0; c < 6; c++)
                m.query[42 + c * 7 + 3] = m.proto[c * 5] = 0; /* one feature here and there */
            if (rig_walk(&w, &m, &s, &a)) {
                EXPECT_ALL_NEAR(a.prob, ((double[]){0.25, 0.25, 0.25, 0.25}), 4, rig_tolerance(type));
                for (size_t i = 0; i < 7; i++) EXPECT_NEAR(a.pi_query[i], 1.0 / 7, rig_tolerance(type));
                for (size_t i = 0; i < 42; i++) EXPECT_NEAR(a.d_query[i], 0, 0);
                for (size_t c = 0; c < 6; c++) {
                    EXPECT_NEAR(a.d_query[42 + c * 7 + 3], 0, 0);
                    EXPECT_NEAR(a.d_proto[c * 5], 0, 0);
                }
                for (size_t i = 0; i < maps_proto_count(&m); i++) EXPECT(isfinite(a.d_proto[i]));
            }
            answer_free(&a);
            maps_free(&m);
        }
        world_close(&w);
    }
}

static void check_rejected(struct world *w, struct walk s, const char *sentence)
{
    struct walk_vars v;
    tape_reset(w->t, TAPE_TRAINING);
    var *proto = world_leaf(w, DIMS(2, 2, 2), PROTO_2), *query = world_leaf(w, DIMS(1, 2, 2), QUERY_2);
    EXPECT(!op_walk(w->t, proto, query, &s, WALK_PROB, &v));
    EXPECT_STATUS(tape_status(w->t), ST_VALUE);
    EXPECT_TEXT(error_text(), sentence);
    EXPECT(!v.prob);
}

TEST(walk_rejects_settings_in_words)
{
    struct world w;
    REQUIRE(rig_open(&w, NULL, 1, DT_F64));
    check_rejected(&w, (struct walk){0, 1, 0.5, WALK_AUTO}, "op walk: gamma is 0; it must be a positive number");
    check_rejected(&w, (struct walk){NAN, 1, 0.5, WALK_AUTO}, "op walk: gamma is nan; it must be a positive number");
    check_rejected(&w, (struct walk){1, -3, 0.5, WALK_AUTO}, "op walk: beta is -3; it must be a positive number");
    check_rejected(&w, (struct walk){1, INFINITY, 0.5, WALK_AUTO},
                   "op walk: beta is inf; it must be a positive number");
    check_rejected(&w, (struct walk){1, 1, -0.1, WALK_AUTO}, "op walk: alpha is -0.1; it must lie between 0 and 1");
    check_rejected(&w, (struct walk){1, 1, 1.5, WALK_AUTO}, "op walk: alpha is 1.5; it must lie between 0 and 1");
    check_rejected(&w, (struct walk){1, 1, NAN, WALK_AUTO}, "op walk: alpha is nan; it must lie between 0 and 1");
    for (int i = 0; i < 2; i++)
        check_rejected(
            &w, (struct walk){1, 1, 0.5, i ? WALK_PINV : WALK_QR},
            "op walk: the solvers qr and pinv find the stationary distribution only; alpha is 0.5, they need 1");
    for (int i = 0; i < 3; i++)
        check_rejected(&w, (struct walk){1, 1, 1, (enum walk_solver[]){WALK_FULL, WALK_BLOCK, WALK_REDUCED}[i]},
                       "op walk: the solvers full, block and reduced need alpha below 1; use deflated, qr or auto");
    world_close(&w);
}

TEST(walk_rejects_shapes_in_words)
{
    const struct walk s = {20, 10, 0.5, WALK_AUTO};
    const double x[24] = {1};
    struct walk_vars v;
    struct world w;
    REQUIRE(rig_open(&w, NULL, 1, DT_F64));
    EXPECT(!op_walk(w.t, world_leaf(&w, DIMS(2, 2, 2), x), world_leaf(&w, DIMS(1, 3, 2), x), &s, WALK_PROB, &v));
    EXPECT_STATUS(tape_status(w.t), ST_SHAPE);
    EXPECT_TEXT(error_text(), "op walk: class maps are [2, 2, 2] and queries [1, 3, 2]; their channels differ");
    tape_reset(w.t, TAPE_TRAINING);
    EXPECT(!op_walk(w.t, world_leaf(&w, DIMS(2, 2), x), world_leaf(&w, DIMS(1, 2, 2), x), &s, WALK_PROB, &v));
    EXPECT_TEXT((tape_status(w.t), error_text()),
                "op walk: class maps are [2, 2] and queries [1, 2, 2]; both must be [n, channels, locations]");
    tape_reset(w.t, TAPE_TRAINING);
    var *proto = world_leaf(&w, DIMS(2, 2, 2), x), *query = world_leaf(&w, DIMS(3, 2, 2), x);
    EXPECT(!op_walk_nll(w.t, proto, query, op_labels(w.t, (int32_t[]){0, 1}, 2, 2), &s, 0, &v));
    EXPECT_TEXT((tape_status(w.t), error_text()), "op walk_nll: the labels have shape [2]; there are 3 rows");
    tape_reset(w.t, TAPE_TRAINING);
    EXPECT(!op_labels(w.t, (int32_t[]){0, 2}, 2, 2));
    EXPECT_STATUS(tape_status(w.t), ST_VALUE);
    world_close(&w);
}
