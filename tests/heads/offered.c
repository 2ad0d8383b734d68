/* offered.c - heads on a device that offers them in one call (tensor/prims.def, PRIM_MAY). The CPU offers none of these calls, so
 * it is given plain ones, straight from what tensor/prims.h says of them. Scores must be those of the chain of ops, and the
 * call be made exactly where it can be. */
#include "tests/device.h"
#include "tests/heads/rig.h"
#include "tests/heads/stage.h"
#include "tests/test.h"

enum { WAY = 3, C = 8, RS = 3, NQ = 4, RQ = 2, MOST = 16 };
static size_t calls;

/* Number l of channel c of picture n. */
static double at(const tensor *x, size_t n, size_t c, size_t l)
{
    return ((const double *)x->data)[(n * x->dim[1] + c) * x->dim[2] + l];
}

static double pooled(const tensor *x, size_t n, size_t c)
{
    double sum = 0;
    for (size_t l = 0; l < x->dim[2]; l++) sum += at(x, n, c, l);
    return sum / (double)x->dim[2];
}

static status plain_class_distance(struct device *d, const struct class_distance_args *a, tensor *y)
{
    const int32_t *labels = a->labels->data;
    (void)d;
    calls++;
    for (size_t i = 0; i < tensor_count(y); i++) {
        const size_t q = i / y->dim[1], own = i % y->dim[1];
        double sum = 0;
        for (size_t c = 0; c < a->query->dim[1]; c++) {
            double mean = 0, n = 0;
            for (size_t k = 0; k < a->support->dim[0]; k++)
                if ((size_t)labels[k] == own) mean += pooled(a->support, k, c), n++;
            const double apart = pooled(a->query, q, c) - mean / n;
            sum += apart * apart;
        }
        ((double *)y->data)[i] = a->scale * sum;
    }
    return OK;
}

static double product(const tensor *x, size_t i, const tensor *y, size_t j) /* of features i and j */
{
    double sum = 0;
    for (size_t c = 0; c < x->dim[1]; c++)
        sum += at(x, i / x->dim[2], c, i % x->dim[2]) * at(y, j / y->dim[2], c, j % y->dim[2]);
    return sum;
}

static double largest(const struct nearest_args *a, size_t group, size_t q)
{
    const size_t m = a->support->dim[0] / a->groups * a->support->dim[2];
    double best[NEAREST_K], sum = 0;
    for (size_t k = 0; k < a->k; k++) best[k] = -2;
    for (size_t i = group * m; i < (group + 1) * m; i++) {
        double x = product(a->support, i, a->query, q) /
                   sqrt(product(a->support, i, a->support, i) * product(a->query, q, a->query, q));
        for (size_t k = 0; k < a->k; k++)
            if (x > best[k]) {
                const double held = best[k];
                best[k] = x;
                x = held;
            }
    }
    for (size_t k = 0; k < a->k; k++) sum += best[k];
    return sum;
}

static status plain_nearest(struct device *d, const struct nearest_args *a, tensor *y)
{
    (void)d;
    calls++;
    for (size_t i = 0; i < tensor_count(y); i++) {
        double sum = 0;
        for (size_t l = 0; l < a->query->dim[2]; l++)
            sum += largest(a, i % a->groups, i / a->groups * a->query->dim[2] + l);
        ((double *)y->data)[i] = a->scale * sum;
    }
    return OK;
}

/* |rho q Hat - q|^2 for the features of a group */
static double error_of(const struct reconstruct_args *a, size_t group, size_t q)
{
    const size_t m = a->support->dim[0] / a->groups * a->support->dim[2], first = group * m;
    const double *r = a->r->data, lambda = a->share * exp(r[0]) + a->ridge;
    double gram[MOST][MOST], w[MOST], sum = 0;
    for (size_t i = 0; i < m; i++) {
        w[i] = product(a->support, first + i, a->query, q);
        for (size_t j = 0; j < m; j++)
            gram[i][j] = product(a->support, first + i, a->support, first + j) + (i == j ? lambda : 0);
    }
    for (size_t k = 0; k < m; k++) /* Gauss and Jordan; the matrix is definite */
        for (size_t i = 0; i < m; i++) {
            const double f = i == k ? 0 : gram[i][k] / gram[k][k];
            for (size_t j = k; j < m; j++) gram[i][j] -= f * gram[k][j];
            w[i] -= f * w[k];
        }
    for (size_t c = 0; c < a->query->dim[1]; c++) {
        double e = -at(a->query, q / a->query->dim[2], c, q % a->query->dim[2]);
        for (size_t i = 0; i < m; i++) {
            const size_t f = first + i, rs = a->support->dim[2];
            e += exp(r[1]) * w[i] / gram[i][i] * at(a->support, f / rs, c, f % rs);
        }
        sum += e * e;
    }
    return sum;
}

static status plain_reconstruct(struct device *d, const struct reconstruct_args *a, tensor *y)
{
    (void)d;
    calls++;
    for (size_t i = 0; i < tensor_count(y); i++) {
        double sum = 0;
        for (size_t l = 0; l < a->query->dim[2]; l++)
            sum += error_of(a, i % a->groups, i / a->groups * a->query->dim[2] + l);
        ((double *)y->data)[i] = a->scale * *(const double *)a->factor->data * sum;
    }
    return OK;
}

static void offer(struct device *d)
{
    d->prim[DT_F64].class_distance = plain_class_distance;
    d->prim[DT_F64].nearest = plain_nearest;
    d->prim[DT_F64].reconstruct = plain_reconstruct;
}

struct setting {
    const char *head, *name, *value;
    size_t equal, unequal; /* calls, by shots */
};
static const struct setting settings[] = {{"proto", NULL, NULL, 1, 1},
                                          {"proto", "temperature", "3", 1, 1},
                                          {"proto", "pool", "mcl-query", 0, 0},
                                          {"proto+mcl", NULL, NULL, 0, 0},
                                          {"dn4", NULL, NULL, 1, 0},
                                          {"dn4", "k", "1", 1, 0},
                                          {"dn4", "k", "6", 1, 0}, /* all of a class of two shots */
                                          {"dn4", "reduce", "mean", 1, 0},
                                          {"dn4", "reduce", "sum", 1, 0},
                                          {"dn4", "shots", "average", 1, 1},
                                          {"dn4", "shots", "per-shot", 1, 0},
                                          {"frn", NULL, NULL, 1, 0},
                                          {"frn", "epsilon", "0.3", 1, 0}};

static void compare(const struct setting *how, const size_t *shots, size_t wanted, struct random *r)
{
    static struct play p;
    static struct outcome chain, once;
    struct stage s;
    REQUIRE(stage_open(&s, how->head, DT_F64, 1, C));
    if (how->name) stage_set(&s, how->name, how->value);
    play_random(&p, &s, r, WAY, shots, C, RS, NQ, RQ);
    bool ran = stage_run(&s, &p, TAPE_INFERENCE, &chain);
    calls = 0;
    offer(s.w.dev);
    ran = ran && stage_run(&s, &p, TAPE_INFERENCE, &once);
    if (ran && calls != wanted)
        test_failed(__FILE__, __LINE__, "%s %s %s: %zu calls, wanted %zu", how->head, how->name ? how->name : "",
                    how->name ? how->value : "", calls, wanted);
    if (ran) EXPECT_ALL_NEAR(once.scores, chain.scores, NQ * WAY, 1e-12);
    if (ran) EXPECT_NEAR(once.loss, chain.loss, 1e-11 * (1 + fabs(chain.loss)));
    calls = 0;
    ran = stage_run(&s, &p, TAPE_TRAINING, &once);
    EXPECT(ran && calls == 0); /* the calls have no gradient */
    stage_close(&s);
}

TEST(heads_in_one_call_score_as_by_their_ops)
{
    static const size_t equal[WAY] = {2, 2, 2}, one[WAY] = {1, 1, 1}, unequal[WAY] = {1, 3, 2};
    struct random r = test_random();
    if (test_is_for_cpu()) return;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const struct setting *how = &settings[i];
        compare(how, equal, how->equal, &r);
        if (!how->name || strcmp(how->name, "k")) {
            compare(how, unequal, how->unequal, &r);
            compare(how, one, how->equal, &r);
        }
    }
}

/* More features in a class than channels: only the ops can do that. */
TEST(a_class_of_many_features_is_reconstructed_by_ops)
{
    static struct play p;
    static struct outcome out;
    static const size_t shots[][WAY] = {{2, 2, 2}, {3, 3, 3}};
    struct random r = test_random();
    struct stage s;
    if (test_is_for_cpu()) return;
    REQUIRE(stage_open(&s, "frn", DT_F64, 1, C));
    offer(s.w.dev);
    for (size_t i = 0; i < 2; i++) {
        play_random(&p, &s, &r, WAY, shots[i], C, 4, NQ, RQ);
        calls = 0;
        EXPECT(stage_run(&s, &p, TAPE_INFERENCE, &out));
        EXPECT_INT(calls, i == 0); /* 8 features and 12, with 8 channels */
    }
    stage_close(&s);
}

/* What the ops themselves refuse, and that they take what is just allowed. */
struct refused {
    size_t pictures, groups, k;
    const char *sentence; /* NULL: it is taken */
};

TEST(calls_of_a_whole_head_refuse_what_does_not_fit)
{
    static const struct refused by_nearest[] = {
        {2, 2, 3, NULL},
        {4, 2, 6, NULL},
        {2, 2, 4, "the 4 nearest of 3 features are asked for; at most 8 can be"},
        {2, 2, 0, "the 0 nearest of 3 features are asked for; at most 8 can be"},
        {4, 1, 8, NULL},
        {4, 1, 9, "the 9 nearest of 12 features are asked for; at most 8 can be"},
        {3, 2, 1, "3 support pictures are not 2 equal groups"},
        {3, 0, 1, "3 support pictures are not 0 equal groups"}};
    static const struct refused by_distance[] = {{2, 2, 0, NULL},
                                                 {2, 3, 0, "3 classes cannot each have one of 2 pictures"},
                                                 {2, 0, 0, "0 classes cannot each have one of 2 pictures"}};
    static const double x[4 * 2 * 3] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6};
    static const int32_t labels[] = {0, 1, 0, 1};
    struct world w;
    if (test_is_for_cpu()) return;
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_INFERENCE));
    offer(w.dev);
    for (size_t i = 0; i < 8 + 3; i++) {
        const struct refused *e = i < 8 ? &by_nearest[i] : &by_distance[i - 8];
        tape_reset(w.t, TAPE_INFERENCE);
        var *support = world_constant(&w, DIMS(e->pictures, 2, 3), x), *query = world_constant(&w, DIMS(1, 2, 3), x);
        const var *y = i < 8
                           ? op_nearest(w.t, support, e->groups, query, e->k, 1)
                           : op_class_distance(w.t, support, world_index(&w, e->pictures, labels), e->groups, query, 1);
        if (!e->sentence && y) EXPECT_DIMS(y->value, 1, e->groups);
        else if (!e->sentence) test_failed(__FILE__, __LINE__, "case %zu is refused: %s", i, error_text());
        else EXPECT(!y && tape_status(w.t) != OK && strstr(error_text(), e->sentence));
    }
    world_close(&w);
}

/* Each thing that can be wrong about maps, alone; then none of them. */
TEST(calls_of_a_whole_head_refuse_maps_that_do_not_belong_together)
{
    static const struct {
        int rank[2];
        size_t dim[2][3]; /* of the support and the query */
    } cases[] = {{{3, 3}, {{2, 2, 3}, {1, 3, 3}}}, {{2, 3}, {{2, 2}, {1, 2, 3}}},    {{3, 2}, {{2, 2, 3}, {1, 2}}},
                 {{3, 3}, {{2, 2, 0}, {1, 2, 3}}}, {{3, 3}, {{2, 2, 3}, {0, 2, 3}}}, {{3, 3}, {{2, 0, 3}, {1, 0, 3}}},
                 {{3, 3}, {{2, 2, 3}, {1, 2, 5}}}};
    static const double x[64] = {1, 2};
    struct world w;
    if (test_is_for_cpu()) return;
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_INFERENCE));
    offer(w.dev);
    for (size_t i = 0; i < 7; i++) {
        tape_reset(w.t, TAPE_INFERENCE);
        var *support = world_constant(&w, cases[i].rank[0], cases[i].dim[0], x);
        var *query = world_constant(&w, cases[i].rank[1], cases[i].dim[1], x);
        REQUIRE(support && query);
        EXPECT(op_nearest_offered(w.t, support, query, 1) == (i == 6));
        EXPECT(op_class_distance_offered(w.t, support, 1, query) == (i == 6));
        EXPECT((op_nearest(w.t, support, 1, query, 1, 1) != NULL) == (i == 6));
        if (i < 6) EXPECT(tape_status(w.t) == ST_SHAPE && strstr(error_text(), "with the same C"));
    }
    world_close(&w);
}

/* Calls have no gradient: one input that wants one is enough to go by the ops. */
TEST(calls_of_a_whole_head_are_not_offered_beside_a_gradient)
{
    struct world w;
    if (test_is_for_cpu()) return;
    REQUIRE(world_open(&w, 1, DT_F64, TAPE_TRAINING));
    offer(w.dev);
    const var *leaf = world_leaf(&w, DIMS(1, 2, 1), NUMBERS(1, 2)),
              *fixed = world_constant(&w, DIMS(1, 2, 1), NUMBERS(3, 4));
    REQUIRE(leaf && fixed);
    EXPECT(op_class_distance_offered(w.t, fixed, 1, fixed) && op_nearest_offered(w.t, fixed, fixed, 1));
    EXPECT(op_reconstruct_offered(w.t, fixed, fixed, 1));
    EXPECT(!op_class_distance_offered(w.t, leaf, 1, fixed) && !op_class_distance_offered(w.t, fixed, 1, leaf));
    EXPECT(!op_nearest_offered(w.t, leaf, fixed, 1) && !op_nearest_offered(w.t, fixed, leaf, 1));
    EXPECT(!op_reconstruct_offered(w.t, leaf, fixed, 1) && !op_reconstruct_offered(w.t, fixed, leaf, 1));
    EXPECT(op_nearest_offered(w.t, fixed, fixed, NEAREST_K) && !op_nearest_offered(w.t, fixed, fixed, NEAREST_K + 1));
    EXPECT(op_class_distance_offered(w.t, fixed, CLASS_DISTANCE_WAY, fixed));
    EXPECT(!op_class_distance_offered(w.t, fixed, CLASS_DISTANCE_WAY + 1, fixed));
    EXPECT(!op_nearest_offered(w.t, NULL, fixed, 1) && !op_nearest_offered(w.t, fixed, NULL, 1));
    world_close(&w);
}

/* Parameters of frn that learn, one of them or both, and maps that do not. */
TEST(frn_with_a_parameter_that_learns_goes_by_its_ops)
{
    static const char *const names[] = {"head.scale", "head.r"};
    if (test_is_for_cpu()) return;
    for (int i = 0; i < 4; i++) {
        struct stage s;
        struct head_result out = {0};
        REQUIRE(stage_open(&s, "frn", DT_F64, 1, 2));
        offer(s.w.dev);
        for (int k = 0; k < 2; k++) params_find(s.p, names[k])->trained = i >> k & 1;
        tape_reset(s.w.t, TAPE_TRAINING);
        struct episode e = {.support = world_constant(&s.w, DIMS(2, 2, 1), NUMBERS(1, 2, 3, 5)),
                            .support_labels = op_labels(s.w.t, (int32_t[]){0, 1}, 2, 2),
                            .query = world_constant(&s.w, DIMS(1, 2, 1), NUMBERS(1, 1)),
                            .query_labels = op_labels(s.w.t, (int32_t[]){0}, 1, 2),
                            .way = 2};
        calls = 0;
        EXPECT(s.head->forward(s.w.t, s.settings.bytes, s.p, &e, 0, &out));
        EXPECT_INT(calls, i == 0);
        EXPECT(out.loss && out.loss->needs_grad == (i != 0));
        stage_close(&s);
    }
}

/* More neighbours than a class has features are refused in the head's words, in one call or not. */
TEST(dn4_refuses_more_neighbours_than_there_are_in_its_own_words)
{
    struct stage s;
    struct head_result r = {0};
    if (test_is_for_cpu()) return;
    REQUIRE(stage_open(&s, "dn4", DT_F64, 1, 2));
    offer(s.w.dev);
    stage_set(&s, "k", "3");
    tape_reset(s.w.t, TAPE_INFERENCE);
    struct episode e = {.support = world_constant(&s.w, DIMS(2, 1, 2), NUMBERS(1, 2, 3, 4)),
                        .support_labels = op_labels(s.w.t, (int32_t[]){0, 1}, 2, 2),
                        .query = world_constant(&s.w, DIMS(1, 1, 1), NUMBERS(1)),
                        .way = 2};
    EXPECT(!s.head->forward(s.w.t, s.settings.bytes, s.p, &e, 0, &r));
    EXPECT_STATUS(tape_status(s.w.t), ST_VALUE);
    EXPECT_TEXT(error_text(), "--head.k is 3, but a class has only 2 features to choose from");
    stage_close(&s);
}
