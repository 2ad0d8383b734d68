/* walk_tape.c - the walk among other ops: features that serve twice, losses that are scaled, gradients that are there
 * already, and the same walk written with plain ops.
 *
 * walk_nll writes gradients ahead of backward (ops/walk_nll.c); each way in which that can be disturbed stands here. */
#include "tests/heads/rig.h"
#include "tests/test.h"
#include <stdlib.h>

enum { WAY = 3, C = 6, RS = 4, NQ = 5, RQ = 6, PROTO = WAY * C * RS, QUERY = NQ * C * RQ };
static const struct walk katz = {20, 10, 0.5, WALK_AUTO}, mcl = {20, 10, 0.999, WALK_AUTO};

struct scene {
    struct world w;
    struct maps m;
    struct answer katz, mcl; /* of the loss alone */
    double d_proto[PROTO], d_query[QUERY];
};

static bool scene_open(struct scene *s)
{
    struct random r = test_random();
    *s = (struct scene){0};
    if (!rig_open(&s->w, NULL, 1, DT_F64)) return false;
    s->m = maps_random(&r, WAY, C, RS, NQ, RQ);
    const bool walked = rig_walk(&s->w, &s->m, &katz, &s->katz) && rig_walk(&s->w, &s->m, &mcl, &s->mcl);
    tape_reset(s->w.t, TAPE_TRAINING);
    return walked;
}

static void scene_close(struct scene *s)
{
    answer_free(&s->katz);
    answer_free(&s->mcl);
    maps_free(&s->m);
    world_close(&s->w);
}

static var *proto_leaf(struct scene *s) { return world_leaf(&s->w, DIMS(WAY, C, RS), s->m.proto); }
static var *query_leaf(struct scene *s) { return world_leaf(&s->w, DIMS(NQ, C, RQ), s->m.query); }

static var *nll(struct scene *s, var *proto, var *query, const struct walk *walk)
{
    struct walk_vars v;
    return op_walk_nll(s->w.t, proto, query, op_labels(s->w.t, s->m.labels, NQ, WAY), walk, 0, &v);
}

/* Goes back and compares: gradients are `katz` and `mcl` times the losses' own, plus `extra` on every query number. */
static void expect_mix(struct scene *s, int line, var *loss, const tensor *d_proto, const tensor *d_query, double k,
                       double f, double extra)
{
    double wanted_proto[PROTO], wanted_query[QUERY];
    const status st = loss ? tape_backward(s->w.t, loss) : tape_status(s->w.t);
    EXPECT_OK(st);
    if (st != OK) return;
    for (size_t i = 0; i < PROTO; i++) wanted_proto[i] = k * s->katz.d_proto[i] + f * s->mcl.d_proto[i];
    for (size_t i = 0; i < QUERY; i++) wanted_query[i] = k * s->katz.d_query[i] + f * s->mcl.d_query[i] + extra;
    if (d_proto && world_read(&s->w, d_proto, s->d_proto))
        expect_near(__FILE__, line, "d proto", s->d_proto, wanted_proto, PROTO, 1e-12);
    if (d_query && world_read(&s->w, d_query, s->d_query))
        expect_near(__FILE__, line, "d query", s->d_query, wanted_query, QUERY, 1e-12);
}

TEST(walk_nll_scaled)
{
    struct scene s;
    REQUIRE(scene_open(&s));
    var *p = proto_leaf(&s), *q = query_leaf(&s);
    var *loss = op_affine(s.w.t, nll(&s, p, q, &katz), -2.5, 7);
    expect_mix(&s, __LINE__, loss, &p->grad, &q->grad, -2.5, 0, 0);
    scene_close(&s);
}

TEST(walk_nll_twice_on_the_same_features)
{
    struct scene s;
    REQUIRE(scene_open(&s));
    var *p = proto_leaf(&s), *q = query_leaf(&s);
    var *one = nll(&s, p, q, &katz), *two = nll(&s, p, q, &mcl);
    var *loss = op_add(s.w.t, op_affine(s.w.t, one, 0.25, 0), op_affine(s.w.t, two, 3, 0));
    expect_mix(&s, __LINE__, loss, &p->grad, &q->grad, 0.25, 3, 0);
    scene_close(&s);
}

/* Each pair of classes has its own leaf; only the query is shared. */
TEST(walk_nll_twice_on_the_same_query)
{
    struct scene s;
    REQUIRE(scene_open(&s));
    var *p = proto_leaf(&s), *other = proto_leaf(&s), *q = query_leaf(&s);
    var *loss = op_add(s.w.t, nll(&s, p, q, &katz), op_affine(s.w.t, nll(&s, other, q, &mcl), 2, 0));
    expect_mix(&s, __LINE__, loss, NULL, &q->grad, 1, 2, 0);
    double wanted[PROTO];
    if (world_read(&s.w, &p->grad, s.d_proto)) EXPECT_ALL_NEAR(s.d_proto, s.katz.d_proto, PROTO, 1e-12);
    for (size_t i = 0; i < PROTO; i++) wanted[i] = 2 * s.mcl.d_proto[i];
    if (world_read(&s.w, &other->grad, s.d_proto)) EXPECT_ALL_NEAR(s.d_proto, wanted, PROTO, 1e-12);
    scene_close(&s);
}

/* Another op on the same query, recorded before or behind the walk. */
TEST(walk_nll_beside_another_op)
{
    for (int before = 0; before < 2; before++) {
        struct scene s;
        REQUIRE(scene_open(&s));
        var *p = proto_leaf(&s), *q = query_leaf(&s), *sum = NULL, *loss;
        if (before) sum = op_sum(s.w.t, q, 7, DROP_AXES);
        loss = nll(&s, p, q, &katz);
        if (!before) sum = op_sum(s.w.t, q, 7, DROP_AXES);
        loss = op_add(s.w.t, loss, op_affine(s.w.t, sum, 0.5, 0));
        expect_mix(&s, __LINE__, loss, &p->grad, &q->grad, 1, 0, 0.5);
        scene_close(&s);
    }
}

/* What was written early must not be seen when backward never comes by. */
TEST(walk_nll_that_is_not_part_of_the_loss_leaves_no_gradient)
{
    struct scene s;
    REQUIRE(scene_open(&s));
    var *p = proto_leaf(&s), *q = query_leaf(&s);
    EXPECT(nll(&s, p, q, &katz));
    expect_mix(&s, __LINE__, op_affine(s.w.t, op_sum(s.w.t, q, 7, DROP_AXES), 0.5, 0), &p->grad, &q->grad, 0, 0, 0.5);
    scene_close(&s);
}

/* A leaf that adds keeps what its buffer held. */
TEST(walk_adds_to_gradients_that_are_there)
{
    for (int fused = 0; fused < 2; fused++) {
        struct scene s;
        struct walk_vars v;
        double there[QUERY];
        REQUIRE(scene_open(&s));
        for (size_t i = 0; i < QUERY; i++) there[i] = 4;
        var *p = proto_leaf(&s), *value = query_leaf(&s);
        const var *held = world_constant(&s.w, DIMS(NQ, C, RQ), there);
        REQUIRE(p && value && held);
        var *q = tape_leaf(s.w.t, &value->value, &held->value, GRAD_ADDS), *loss = NULL;
        const tensor *labels = op_labels(s.w.t, s.m.labels, NQ, WAY);
        if (fused) loss = nll(&s, p, q, &katz);
        else if (op_walk(s.w.t, p, q, &katz, WALK_LOG_PROB, &v)) loss = op_nll(s.w.t, v.log_prob, labels);
        expect_mix(&s, __LINE__, loss, &p->grad, &q->grad, 1, 0, 4);
        scene_close(&s);
    }
}

/* Through a reshape, which shares memory with what it came from. */
TEST(walk_nll_of_reshaped_features)
{
    struct scene s;
    REQUIRE(scene_open(&s));
    var *flat = world_leaf(&s.w, DIMS(NQ, C * RQ), s.m.query), *p = proto_leaf(&s);
    var *q = op_reshape(s.w.t, flat, DIMS(NQ, C, RQ)), *again = op_reshape(s.w.t, flat, DIMS(NQ, C, RQ));
    var *loss = op_add(s.w.t, nll(&s, p, q, &katz), op_affine(s.w.t, op_sum(s.w.t, flat, 3, DROP_AXES), 0.5, 0));
    loss = op_add(s.w.t, loss, nll(&s, proto_leaf(&s), again, &mcl));
    expect_mix(&s, __LINE__, loss, NULL, &flat->grad, 1, 1, 0.5);
    scene_close(&s);
}

/* One var in both places gets both gradients. */
TEST(walk_of_a_set_with_itself)
{
    struct scene s;
    struct answer apart;
    double wanted[PROTO], seen[PROTO];
    REQUIRE(scene_open(&s));
    struct maps m = {WAY, C, RS, WAY, RS, s.m.proto, s.m.proto, (int32_t[]){2, 0, 1}};
    if (rig_walk(&s.w, &m, &katz, &apart))
        for (int fused = 0; fused < 2; fused++) {
            struct walk_vars v;
            tape_reset(s.w.t, TAPE_TRAINING);
            var *x = proto_leaf(&s), *loss = NULL;
            const tensor *labels = op_labels(s.w.t, m.labels, WAY, WAY);
            if (fused) loss = op_walk_nll(s.w.t, x, x, labels, &katz, 0, &v);
            else if (op_walk(s.w.t, x, x, &katz, WALK_LOG_PROB, &v)) loss = op_nll(s.w.t, v.log_prob, labels);
            EXPECT_OK(loss ? tape_backward(s.w.t, loss) : tape_status(s.w.t));
            for (size_t i = 0; i < PROTO; i++) wanted[i] = apart.d_proto[i] + apart.d_query[i];
            if (loss && world_read(&s.w, &x->grad, seen))
                expect_near(__FILE__, __LINE__, fused ? "walk_nll" : "walk", seen, wanted, PROTO, 1e-12);
        }
    answer_free(&apart);
    scene_close(&s);
}

/* Only one side wants a gradient. */
TEST(walk_with_a_constant_side)
{
    for (int side = 0; side < 2; side++) {
        struct scene s;
        REQUIRE(scene_open(&s));
        var *p = side ? proto_leaf(&s) : world_constant(&s.w, DIMS(WAY, C, RS), s.m.proto);
        var *q = side ? world_constant(&s.w, DIMS(NQ, C, RQ), s.m.query) : query_leaf(&s);
        expect_mix(&s, __LINE__, nll(&s, p, q, &katz), side ? &p->grad : NULL, side ? NULL : &q->grad, 1, 0, 0);
        scene_close(&s);
    }
}

/* The walk as docs/mcl.md writes it, op by op: log masses [nq, way], and pi(q) and pi(S). */
static void unfused(struct world *w, var *proto, var *query, const struct walk *s, struct walk_vars *out)
{
    tape *t = w->t;
    const double a = s->alpha, a2 = a * a, m = WAY * RS, share = (1 - a2) / (RQ + a * m);
    double eye[RQ * RQ] = {0};
    for (size_t i = 0; i < RQ; i++) eye[i * RQ + i] = 1;
    var *support = op_reshape(t, op_permute(t, op_l2norm(t, proto, 1), (int[]){0, 2, 1}), DIMS(WAY * RS, C));
    var *phi = op_matmul(t, op_l2norm(t, query, 1), true, support, true); /* [nq, rq, m] */
    var *A = op_softmax(t, op_affine(t, phi, s->gamma, 0), 2), *B = op_softmax(t, op_affine(t, phi, s->beta, 0), 1);
    var *k = op_matmul(t, B, false, A, true);
    var *g = op_add(t, op_affine(t, k, -a2, a2 / RQ), world_constant(w, DIMS(RQ, RQ), eye));
    var *b = op_affine(t, op_sum(t, B, 4, KEEP_AXES), share * a, share + a2 / RQ); /* [nq, rq, 1] */
    var *pi = op_matmul(t, A, true, op_solve(t, g, b), false);                     /* [nq, m, 1] */
    var *from = op_affine(t, pi, a * (RQ + a * m) / (m + a * RQ), (1 - a2) / (m + a * RQ));
    out->pi_support = op_reshape(t, pi, DIMS(NQ, WAY * RS));
    out->pi_query = op_reshape(t, op_matmul(t, B, false, from, false), DIMS(NQ, RQ));
    out->prob = op_sum(t, op_reshape(t, pi, DIMS(NQ, WAY, RS)), 4, DROP_AXES);
    out->log_prob = op_log(t, out->prob);
}

/* Values of all outputs, then the gradients of a random combination of them. */
static bool combine(struct scene *s, bool fused, const struct walk *walk, double *values, double *d_proto,
                    double *d_query)
{
    struct random r = test_random();
    struct walk_vars v = {0};
    var *total = NULL;
    tape_reset(s->w.t, TAPE_TRAINING);
    var *p = proto_leaf(s), *q = query_leaf(s);
    if (fused) op_walk(s->w.t, p, q, walk, WALK_PROB | WALK_LOG_PROB | WALK_PI_SUPPORT | WALK_PI_QUERY, &v);
    else unfused(&s->w, p, q, walk, &v);
    var *const parts[] = {v.prob, v.log_prob, v.pi_support, v.pi_query};
    for (int i = 0; i < 4 && parts[i]; i++) {
        double weight[NQ * WAY * RS];
        const size_t n = tensor_count(&parts[i]->value);
        for (size_t k = 0; k < n; k++) weight[k] = random_normal(&r);
        var *x = op_mul(s->w.t, parts[i], world_constant(&s->w, 2, parts[i]->value.dim, weight));
        x = op_sum(s->w.t, x, 3, DROP_AXES);
        total = total ? op_add(s->w.t, total, x) : x;
        if (!world_read(&s->w, &parts[i]->value, values)) return false;
        values += n;
    }
    const status st = total ? tape_backward(s->w.t, total) : tape_status(s->w.t);
    EXPECT_OK(st);
    return st == OK && world_read(&s->w, &p->grad, d_proto) && world_read(&s->w, &q->grad, d_query);
}

TEST(walk_equals_the_same_walk_in_plain_ops)
{
    enum { ALL = NQ * (WAY + WAY + WAY * RS + RQ) };
    static const double alphas[] = {0, 0.1, 0.5, 0.9, 0.999, 1};
    struct scene s;
    double seen[ALL], wanted[ALL], d_proto[PROTO], d_query[QUERY];
    REQUIRE(scene_open(&s));
    for (size_t i = 0; i < sizeof alphas / sizeof *alphas; i++) {
        const struct walk walk = {20, 10, alphas[i], WALK_AUTO};
        EXPECT(combine(&s, true, &walk, seen, s.d_proto, s.d_query) &&
               combine(&s, false, &walk, wanted, d_proto, d_query));
        EXPECT_ALL_NEAR(seen, wanted, ALL, 1e-12);
        EXPECT_ALL_NEAR(s.d_proto, d_proto, PROTO, 1e-10);
        EXPECT_ALL_NEAR(s.d_query, d_query, QUERY, 1e-10);
    }
    scene_close(&s);
}
