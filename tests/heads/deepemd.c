/* deepemd.c - flows worked out by hand, recorded weights, flows and fits, and what several shots of a class become. */
#include "heads/deepemd.h"
#include "tests/heads/case.h"
#include "tests/heads/rig.h"
#include "tests/heads/stage.h"
#include "tests/test.h"
#include <stdlib.h>

/* With two channels, what centring leaves points one way (first channel larger) or the other. The query looks (+, -),
 * class 0 (+, -), class 1 (+, +). */
static const struct play two_ways = {.ns = 2,
                                     .way = 2,
                                     .channels = 2,
                                     .rs = 2,
                                     .nq = 1,
                                     .rq = 2,
                                     .support = {1, 1, 0, 2, 1, 2, 0, 0},
                                     .support_labels = {0, 1},
                                     .query = {2, 0, 0, 2}};

TEST(deepemd_carries_weights_by_the_worked_example)
{
    static struct outcome out;
    struct stage s;
    const double e = 1.01e-3;
    REQUIRE(stage_open(&s, "deepemd", DT_F64, 1, 2));
    stage_set(&s, "temperature", "3");
    if (stage_run(&s, &two_ways, TAPE_TRAINING, &out)) {
        /* Class 0: the query weighs 2 and 2, the class 1 and 3. All of its + is filled by +, all of the query's - goes to
         * -, and the rest of + must go to -. */
        EXPECT_NEAR(out.scores[0], 3 * 2 * (1 + e) / (4 + 2 * e), 1e-13);
        /* Class 1: the query weighs 3 and 0, and all must go to +. */
        EXPECT_NEAR(out.scores[1], 3 * 3 / (3 + 2 * e), 1e-13);
    }
    stage_close(&s);
}

/* Recorded cases */

struct arrays {
    struct npy support, support_labels, query, query_labels, maps, permutations;
};

static void arrays_free(struct arrays *in)
{
    npy_free(&in->support);
    npy_free(&in->support_labels);
    npy_free(&in->query);
    npy_free(&in->query_labels);
    npy_free(&in->maps);
    npy_free(&in->permutations);
}

static var *maps_of(struct world *w, const struct npy *x)
{
    return world_constant(w, DIMS(x->dim[0], x->dim[1], x->dim[2] * x->dim[3]), x->data);
}

static void expect_tensor(const struct golden *g, struct world *w, const char *file, const tensor *x)
{
    const size_t n = tensor_count(x);
    double *seen = calloc(n ? n : 1, sizeof *seen);
    if (seen && world_read(w, x, seen)) golden_expect(g, file, seen, n);
    else test_failed(__FILE__, __LINE__, "%s: %s cannot be read", g->name, file);
    free(seen);
}

/* The first shot of each class; classes come one behind the other. */
static var *first_shots(struct world *w, const struct arrays *in, size_t way)
{
    int32_t first[16];
    const size_t shots = in->support.dim[0] / way;
    for (size_t c = 0; c < way && c < 16; c++) first[c] = (int32_t)(c * shots);
    return op_gather(w->t, maps_of(w, &in->support), 0, world_index(w, way, first));
}

/* Flows of query 0 by the primitive, with weights that sum to r: [way, r, r] */
static void expect_flow(const struct golden *g, struct world *w, var *classes, var *query,
                        const struct deepemd_weights *weights)
{
    const size_t way = classes->value.dim[0], r = classes->value.dim[2];
    tensor value, flow;
    var *each[16];
    REQUIRE(way <= 16);
    for (size_t c = 0; c < way; c++) {
        var *mine = op_slice(w->t, deepemd_centred(w->t, classes), 0, c, c + 1);
        var *cost = op_matmul(w->t, op_slice(w->t, deepemd_centred(w->t, query), 0, 0, 1), true, mine, false);
        cost = op_reshape(w->t, op_affine(w->t, cost, -1, 1), DIMS(1, r, 1, r));
        var *side[2] = {weights->query, weights->classes};
        for (int i = 0; i < 2; i++) {
            side[i] = op_affine(w->t, op_slice(w->t, op_slice(w->t, side[i], 0, 0, 1), 1, c, c + 1), 1, 1e-5);
            side[i] = op_affine(w->t, op_div(w->t, side[i], op_sum(w->t, side[i], 4, KEEP_AXES)), (double)r, 0);
        }
        REQUIRE(cost && side[0] && side[1] && tape_tensor(w->t, w->type, DIMS(1, 1), &value) == OK &&
                tape_tensor(w->t, w->type, DIMS(1, r, r), &flow) == OK);
        const struct transport_args a = {&cost->value, &side[0]->value, &side[1]->value, &value, &flow, NULL, NULL};
        EXPECT_OK(PRIM_CALL(w->dev, w->type, transport, (w->dev, &a)));
        each[c] = tape_constant(w->t, &flow);
    }
    var *all = op_concat(w->t, way, each, 0);
    if (all) expect_tensor(g, w, "flow_query0.npy", &all->value);
}

static void check_flow(const struct golden *g)
{
    struct arrays in = {0};
    struct world w;
    struct deepemd_weights weights;
    if (golden_read(g, "support.npy", &in.support) && golden_read(g, "query.npy", &in.query) &&
        golden_read(g, "support_labels.npy", &in.support_labels) && rig_open(&w, g->isa, 2, g->type)) {
        const size_t way = (size_t)((int64_t *)in.support_labels.data)[in.support_labels.count - 1] + 1;
        var *classes = first_shots(&w, &in, way), *query = maps_of(&w, &in.query);
        EXPECT(deepemd_weigh(w.t, classes, query, op_mean(w.t, query, 4, DROP_AXES), &weights));
        if (tape_status(w.t) == OK) {
            expect_tensor(g, &w, "weights_query.npy", &weights.query->value);
            expect_tensor(g, &w, "weights_support.npy",
                          &op_permute(w.t, weights.classes, (int[]){1, 0, 2})->value); /* class before query */
            expect_flow(g, &w, classes, query, &weights);
        }
        EXPECT_OK(tape_status(w.t));
        world_close(&w);
    }
    arrays_free(&in);
}

TEST(deepemd_weighs_and_carries_as_recorded)
{
    for_golden("deepemd_1shot", check_flow);
    for_golden("deepemd_5shot_train", check_flow);
}

static const struct deepemd recorded = {
    .temperature = 12.5, .batch = 4, .rate = 100, .momentum = 0.9, .dampening = 0.9};

/* Some epochs of `count` shots in the recorded order, against the recorded maps. */
static void expect_fit(const struct golden *g, struct world *w, const struct arrays *in, size_t epochs, size_t count,
                       const char *file)
{
    int32_t labels[32], order[1024];
    const size_t ns = in->support.dim[0], way = in->maps.dim[0], r = in->support.dim[2] * in->support.dim[3];
    REQUIRE(ns <= 32 && epochs * count <= 1024 && (count == ns || epochs == 1));
    for (size_t i = 0; i < ns; i++) labels[i] = (int32_t)((int64_t *)in->support_labels.data)[i];
    for (size_t i = 0; i < epochs * count; i++) order[i] = (int32_t)((int64_t *)in->permutations.data)[i];
    var *support = world_constant(w, DIMS(ns, in->support.dim[1], r), in->support.data);
    var *start = op_class_mean(w->t, support, op_labels(w->t, labels, ns, way), way);
    const struct deepemd_fit f = {&support->value, labels, order, epochs, count};
    EXPECT_OK(start ? deepemd_fit_maps(w->t, &recorded, &f, &start->value) : tape_status(w->t));
    if (start) expect_tensor(g, w, file, &start->value);
}

static void check_fit(const struct golden *g)
{
    struct arrays in = {0};
    struct world w;
    int32_t labels[32];
    const bool read = golden_read(g, "support.npy", &in.support) && golden_read(g, "sfc.npy", &in.maps) &&
                      golden_read(g, "support_labels.npy", &in.support_labels) &&
                      golden_read(g, "query.npy", &in.query) && golden_read(g, "query_labels.npy", &in.query_labels) &&
                      golden_read(g, "permutations.npy", &in.permutations);
    if (read && rig_open(&w, g->isa, 2, g->type)) {
        const size_t ns = in.support.dim[0], nq = in.query.dim[0];
        for (size_t i = 0; i < nq && i < 32; i++) labels[i] = (int32_t)((int64_t *)in.query_labels.data)[i];
        var *logits = deepemd_logits(w.t, &recorded, maps_of(&w, &in.maps), maps_of(&w, &in.query));
        var *loss = op_cross_entropy(w.t, logits, op_labels(w.t, labels, nq, in.maps.dim[0]));
        EXPECT_OK(tape_status(w.t));
        if (loss) expect_tensor(g, &w, "scores.npy", &logits->value);
        if (loss) expect_tensor(g, &w, "loss.npy", &loss->value);
        expect_fit(g, &w, &in, 1, (size_t)recorded.batch, "sfc_step1.npy");
        expect_fit(g, &w, &in, 1, ns, "sfc_epoch1.npy");
        expect_fit(g, &w, &in, 20, ns, "sfc_fitted.npy");
        golden_expect_only(
            g, (const char *[]){"scores.npy", "loss.npy", "sfc_step1.npy", "sfc_epoch1.npy", "sfc_fitted.npy", NULL});
        world_close(&w);
    }
    arrays_free(&in);
}

static void check_only_fit(const struct golden *g)
{
    if (!strcmp(g->name, "deepemd_5shot")) check_fit(g);
}

TEST(deepemd_fits_as_recorded) { for_golden("deepemd_5shot", check_only_fit); }

/* Several shots */

static struct outcome run(struct stage *s, const struct play *p, const char *shots, const char *epochs,
                          enum tape_mode mode)
{
    static struct outcome out;
    stage_set(s, "shots", shots);
    stage_set(s, "sfc_epochs", epochs);
    EXPECT(stage_run(s, p, mode, &out));
    return out;
}

TEST(deepemd_fits_when_scoring_and_takes_the_first_shot_when_training)
{
    static struct play several, mean;
    static struct outcome a, b;
    struct stage s;
    struct random r = test_random();
    enum { SCORES = 6 * 3 };
    REQUIRE(stage_open(&s, "deepemd", DT_F64, 2, 5));
    play_random(&several, &s, &r, 3, (size_t[]){2, 1, 3}, 5, 4, 6, 4);
    a = run(&s, &several, "auto", "3", TAPE_INFERENCE);
    b = run(&s, &several, "fit", "3", TAPE_INFERENCE);
    EXPECT(!memcmp(a.scores, b.scores, SCORES * sizeof *a.scores));
    b = run(&s, &several, "first", "3", TAPE_INFERENCE);
    EXPECT(memcmp(a.scores, b.scores, SCORES * sizeof *a.scores));
    a = run(&s, &several, "auto", "3", TAPE_TRAINING);
    EXPECT(!memcmp(a.scores, b.scores, SCORES * sizeof *a.scores));
    b = run(&s, &several, "auto", "0", TAPE_INFERENCE); /* a fit begins at the mean */
    mean = several;
    for (size_t i = 0; i < 3 * 5 * 4; i++) mean.support[i] = 0;
    for (size_t i = 0; i < several.ns; i++)
        for (size_t k = 0; k < 5 * 4; k++) {
            const int32_t c = several.support_labels[i];
            mean.support[(size_t)c * 20 + k] += several.support[i * 20 + k] / (double[]){2, 1, 3}[c];
        }
    mean.ns = 3;
    for (int32_t c = 0; c < 3; c++) mean.support_labels[c] = c;
    a = run(&s, &mean, "auto", "3", TAPE_INFERENCE);
    EXPECT_ALL_NEAR(a.scores, b.scores, SCORES, 1e-12);
    stage_close(&s);
}

/* The loss of the shots themselves, which is what a fit goes down. */
TEST(deepemd_fit_lowers_the_loss_of_the_shots)
{
    static struct play p;
    struct stage s;
    struct random r = test_random();
    REQUIRE(stage_open(&s, "deepemd", DT_F32, 2, 8));
    play_random(&p, &s, &r, 3, (size_t[]){3, 3, 3}, 8, 6, 9, 6);
    memcpy(p.query, p.support, sizeof p.query);
    memcpy(p.query_labels, p.support_labels, 9 * sizeof *p.query_labels);
    const double before = run(&s, &p, "fit", "0", TAPE_INFERENCE).loss;
    stage_set(&s, "sfc_lr", "1");
    const double after = run(&s, &p, "fit", "20", TAPE_INFERENCE).loss;
    EXPECT(after < before);
    stage_close(&s);
}

TEST(deepemd_scores_a_single_class)
{
    static struct play p;
    struct stage s;
    struct random r = test_random();
    REQUIRE(stage_open(&s, "deepemd", DT_F64, 1, 3));
    play_random(&p, &s, &r, 1, (size_t[]){2}, 3, 2, 4, 3);
    const struct outcome out = run(&s, &p, "auto", "2", TAPE_INFERENCE);
    EXPECT(out.loss == 0);
    for (size_t i = 0; i < 4; i++) EXPECT(fabs(out.scores[i]) <= 12.5 + 1e-9);
    stage_close(&s);
}
