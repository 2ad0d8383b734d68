/* pool.c - one vector a picture: plain averages, weights by centrality, gradients with and without those. */
#include "heads/pool.h"
#include "tests/heads/rig.h"
#include "tests/test.h"

enum { WAY = 3, C = 4, RS = 5, NQ = 2, RQ = 6 };

struct scene {
    struct world w;
    struct maps m;
    var *proto, *query;
};

static bool scene_open(struct scene *s)
{
    struct random r = test_random();
    if (!rig_open(&s->w, NULL, 1, DT_F64)) return false;
    s->m = maps_random(&r, WAY, C, RS, NQ, RQ);
    s->proto = world_leaf(&s->w, DIMS(WAY, C, RS), s->m.proto);
    s->query = world_leaf(&s->w, DIMS(NQ, C, RQ), s->m.query);
    return s->proto && s->query;
}

static void scene_close(struct scene *s)
{
    maps_free(&s->m);
    world_close(&s->w);
}

static struct pool_settings settings(int mode, bool detach)
{
    return (struct pool_settings){mode, {20, 10, 0.999, WALK_AUTO}, detach};
}

TEST(pool_mean_is_the_average_over_locations)
{
    struct scene s;
    struct pooled p;
    double query[NQ * C], classes[WAY * C];
    REQUIRE(scene_open(&s));
    const struct pool_settings mean = settings(POOL_MEAN, false);
    REQUIRE(pool_features(s.w.t, &mean, s.proto, s.query, &p));
    EXPECT(!p.query_weights && !p.class_weights);
    EXPECT_DIMS(p.query->value, NQ, C);
    EXPECT_DIMS(p.classes->value, WAY, C);
    REQUIRE(world_read(&s.w, &p.query->value, query) && world_read(&s.w, &p.classes->value, classes));
    for (size_t i = 0; i < NQ * C; i++) {
        double sum = 0;
        for (size_t k = 0; k < RQ; k++) sum += s.m.query[i * RQ + k];
        EXPECT_NEAR(query[i], sum / RQ, 1e-14);
    }
    for (size_t i = 0; i < WAY * C; i++) {
        double sum = 0;
        for (size_t k = 0; k < RS; k++) sum += s.m.proto[i * RS + k];
        EXPECT_NEAR(classes[i], sum / RS, 1e-14);
    }
    scene_close(&s);
}

TEST(pool_weights_are_the_centralities_of_the_walk)
{
    struct scene s;
    struct pooled p;
    struct walk_vars v;
    double q[NQ * RQ], c[NQ * WAY * RS], pi_q[NQ * RQ], pi_s[NQ * WAY * RS], pooled[NQ * WAY * C];
    REQUIRE(scene_open(&s));
    const struct pool_settings both = settings(POOL_MCL_BOTH, false);
    REQUIRE(pool_features(s.w.t, &both, s.proto, s.query, &p));
    REQUIRE(op_walk(s.w.t, s.proto, s.query, &both.walk, WALK_PI_SUPPORT | WALK_PI_QUERY, &v));
    EXPECT_DIMS(p.classes->value, NQ, WAY, C);
    REQUIRE(world_read(&s.w, &p.query_weights->value, q) && world_read(&s.w, &p.class_weights->value, c));
    REQUIRE(world_read(&s.w, &v.pi_query->value, pi_q) && world_read(&s.w, &v.pi_support->value, pi_s));
    REQUIRE(world_read(&s.w, &p.classes->value, pooled));
    EXPECT_ALL_NEAR(q, pi_q, NQ * RQ, 1e-15);
    for (size_t i = 0; i < NQ * WAY; i++) {
        double mass = 0;
        for (size_t k = 0; k < RS; k++) mass += pi_s[i * RS + k];
        for (size_t k = 0; k < RS; k++) EXPECT_NEAR(c[i * RS + k], pi_s[i * RS + k] / mass, 1e-14);
        for (size_t channel = 0; channel < C; channel++) {
            double sum = 0;
            for (size_t k = 0; k < RS; k++) sum += c[i * RS + k] * s.m.proto[(i % WAY * C + channel) * RS + k];
            EXPECT_NEAR(pooled[i * C + channel], sum, 1e-14);
        }
    }
    scene_close(&s);
}

/* Beyond a sharpness the weights of classes come from logarithms: the same numbers, and the same gradients but for what a
 * hundred-thousandth of sharpness makes. */
TEST(pool_weights_of_sharp_walks_are_the_same)
{
    static const double alphas[] = {0, 0.5, 0.999, 1};
    for (size_t a = 0; a < sizeof alphas / sizeof *alphas; a++) {
        double weights[2][NQ * WAY * RS], proto[2][WAY * C * RS], query[2][NQ * C * RQ];
        for (int sharp = 0; sharp < 2; sharp++) {
            struct scene s;
            struct pooled p;
            double one[NQ * WAY * C];
            for (size_t i = 0; i < NQ * WAY * C; i++) one[i] = 1 / (1.0 + (double)i);
            REQUIRE(scene_open(&s));
            struct pool_settings both = settings(POOL_MCL_BOTH, false);
            both.walk = (struct walk){sharp ? 340.00001 : 340, 10, alphas[a], WALK_AUTO};
            REQUIRE(pool_features(s.w.t, &both, s.proto, s.query, &p));
            EXPECT_OK(world_back(&s.w, p.classes, one));
            REQUIRE(world_read(&s.w, &p.class_weights->value, weights[sharp]));
            REQUIRE(world_read(&s.w, &s.proto->grad, proto[sharp]) && world_read(&s.w, &s.query->grad, query[sharp]));
            scene_close(&s);
        }
        EXPECT_ALL_NEAR(weights[1], weights[0], NQ * WAY * RS, 1e-5);
        EXPECT_ALL_NEAR(proto[1], proto[0], WAY * C * RS, 1e-4);
        EXPECT_ALL_NEAR(query[1], query[0], NQ * C * RQ, 1e-4);
    }
}

/* The class on the other side has no mass in any type. */
TEST(pool_of_a_class_that_the_walk_never_reaches_is_finite)
{
    for (int twice = 0; twice < 2; twice++) {
        struct world w;
        struct pooled p;
        double classes[4], grad[4];
        REQUIRE(rig_open(&w, NULL, 1, twice ? DT_F64 : DT_F32));
        var *proto = world_leaf(&w, DIMS(2, 2, 1), NUMBERS(1, 0, -1, 0));
        var *query = world_leaf(&w, DIMS(1, 2, 1), NUMBERS(1, 0));
        struct pool_settings both = settings(POOL_MCL_BOTH, false);
        both.walk.gamma = both.walk.beta = 1000;
        REQUIRE(pool_features(w.t, &both, proto, query, &p));
        EXPECT_OK(world_back(&w, p.classes, (const double[]){1, 1, 1, 1}));
        REQUIRE(world_read(&w, &p.classes->value, classes) && world_read(&w, &proto->grad, grad));
        EXPECT_ALL_NEAR(classes, ((const double[]){1, 0, -1, 0}), 4, 1e-6);
        EXPECT_ALL_NEAR(grad, ((const double[]){1, 1, 1, 1}), 4, 1e-6);
        world_close(&w);
    }
}

/* The gradient of one pooled number: exactly the weight when detached, something else too when not. */
TEST(pool_detached_stops_at_the_weights)
{
    double grad[2][NQ * C * RQ], proto[2][WAY * C * RS], weights[NQ * RQ];
    for (int detach = 0; detach < 2; detach++) {
        struct scene s;
        struct pooled p;
        double one[NQ * C] = {1}; /* picture 0, channel 0 */
        REQUIRE(scene_open(&s));
        const struct pool_settings on_query = settings(POOL_MCL_QUERY, detach);
        REQUIRE(pool_features(s.w.t, &on_query, s.proto, s.query, &p));
        EXPECT_OK(world_back(&s.w, p.query, one));
        REQUIRE(world_read(&s.w, &s.query->grad, grad[detach]) && world_read(&s.w, &s.proto->grad, proto[detach]));
        REQUIRE(world_read(&s.w, &p.query_weights->value, weights));
        scene_close(&s);
    }
    double moved = 0, through = 0;
    for (size_t i = 0; i < NQ * C * RQ; i++) {
        EXPECT_NEAR(grad[1][i], i < RQ ? weights[i] : 0, 1e-15);
        moved += fabs(grad[0][i] - grad[1][i]);
    }
    for (size_t i = 0; i < WAY * C * RS; i++) {
        EXPECT_NEAR(proto[1][i], 0, 0);
        through += fabs(proto[0][i]);
    }
    EXPECT(moved > 1e-3 && through > 1e-3);
}
