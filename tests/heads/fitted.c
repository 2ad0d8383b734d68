/* fitted.c - classifiers fitted to an episode: recorded fits from given start weights, and what must hold for drawn ones. */
#include "heads/fit.h"
#include "tests/heads/case.h"
#include "tests/heads/rig.h"
#include "tests/heads/stage.h"
#include "tests/test.h"
#include <stdio.h>

enum { MOST = 4096, WAY = 5 };

/* Names of the recorded parameters; the weight comes first. */
struct recorded {
    enum fit_kind kind;
    const char *weight, *other; /* other: bias or gain; NULL: none */
};

static struct recorded recorded_of(const struct golden *g)
{
    const char *head = json_member(g->about, "head")->string;
    if (!strncmp(head, "neg-cosine", 10)) return (struct recorded){FIT_COSINE, "weight", NULL};
    if (!strncmp(head, "neg-softmax", 11)) return (struct recorded){FIT_MARGIN, "weight", NULL};
    if (!strncmp(head, "baseline++", 10)) return (struct recorded){FIT_NORMED, "L.weight_v", "L.weight_g"};
    return (struct recorded){FIT_LINEAR, "weight", "bias"};
}

static void read_into(const struct golden *g, const char *folder, const char *name, double *to)
{
    struct npy a;
    char file[100];
    snprintf(file, sizeof file, "%s/%s.npy", folder, name);
    if (golden_read(g, file, &a) && a.count <= MOST) memcpy(to, a.data, a.count * sizeof(double));
    npy_free(&a);
}

static void compare(const struct golden *g, const char *folder, const struct recorded *r, const struct fit_task *k,
                    const struct fit_weights *w)
{
    char file[100];
    snprintf(file, sizeof file, "%s/%s.npy", folder, r->weight);
    golden_expect(g, file, w->weight, k->way * k->channels);
    if (!r->other) return;
    snprintf(file, sizeof file, "%s/%s.npy", folder, r->other);
    golden_expect(g, file, r->kind == FIT_LINEAR ? w->bias : w->gain, k->way);
}

static struct fit_settings settings_of(const struct golden *g)
{
    return (struct fit_settings){.epochs = (int64_t)golden_number(g, "epochs", 0),
                                 .batch = (int64_t)golden_number(g, "batch", 0),
                                 .rate = golden_number(g, "lr", 0),
                                 .momentum = golden_number(g, "momentum", 0),
                                 .dampening = golden_number(g, "dampening", 0),
                                 .decay = golden_number(g, "weight_decay", 0),
                                 .scale = golden_number(g, "scale", 1),
                                 .margin = golden_number(g, "margin", 0),
                                 .norm = 1};
}

/* The fit cut short where something was recorded, then whole. */
static void replay(const struct golden *g, struct world *w, struct fit_task *k, const uint32_t *order, var *query)
{
    static const char *const folders[] = {"after_step1", "after_epoch1", "fitted"};
    const struct recorded r = recorded_of(g);
    const struct fit_settings s = settings_of(g);
    double weight[MOST], other[WAY], seen[MOST];
    k->kind = r.kind;
    for (int part = 0; part < 3; part++) {
        struct fit_weights at = {.weight = weight, .bias = other, .gain = other, .order = order};
        read_into(g, "init", r.weight, weight);
        if (r.other) read_into(g, "init", r.other, other);
        k->steps = part == 0 ? 1 : part == 1 ? (k->shots + (size_t)s.batch - 1) / (size_t)s.batch : 0;
        EXPECT_OK(fit_run(w->t, &s, k, &at));
        compare(g, folders[part], &r, k, &at);
        if (part < 2) continue;
        const var *scores = fitted_scores(w->t, &s, r.kind, k->way, &at, query);
        EXPECT_OK(tape_status(w->t));
        if (scores && world_read(w, &scores->value, seen))
            golden_expect(g, "scores.npy", seen, tensor_count(&scores->value));
    }
}

static void check_fit(const struct golden *g)
{
    struct world w;
    struct npy support, query, labels, orders;
    struct pooled p;
    int32_t label[32];
    static uint32_t order[MOST];
    double x[MOST];
    const bool plugged = strstr(json_member(g->about, "head")->string, "+mcl") != NULL;
    REQUIRE(golden_read(g, "support.npy", &support) && golden_read(g, "query.npy", &query) &&
            golden_read(g, "support_labels.npy", &labels) && golden_read(g, "permutations.npy", &orders));
    const size_t ns = support.dim[0], c = support.dim[1], r = support.dim[2] * support.dim[3];
    REQUIRE(ns <= 32 && orders.count <= MOST && ns * c <= MOST && rig_open(&w, g->isa, 2, g->type));
    for (size_t i = 0; i < ns; i++) label[i] = (int32_t)((int64_t *)labels.data)[i];
    for (size_t i = 0; i < orders.count; i++) order[i] = (uint32_t)((int64_t *)orders.data)[i];
    var *maps = world_constant(&w, DIMS(ns, c, r), support.data);
    const var *shots = op_mean(w.t, maps, 1u << 2, DROP_AXES);
    var *means = op_class_mean(w.t, maps, op_labels(w.t, label, ns, WAY), WAY);
    const struct pool_settings how = {plugged ? POOL_MCL_QUERY : POOL_MEAN, {20, 10, 0.999, WALK_AUTO}, false};
    REQUIRE(pool_features(w.t, &how, means, world_constant(&w, DIMS(query.dim[0], c, r), query.data), &p));
    REQUIRE(world_read(&w, &shots->value, x));
    struct fit_task k = {.shots = ns, .way = WAY, .channels = c, .x = x, .labels = label};
    replay(g, &w, &k, order, p.query);
    golden_expect_only(g,
                       (const char *[]){"scores.npy", "fitted/weight.npy", "fitted/bias.npy", "fitted/L.weight_v.npy",
                                        "fitted/L.weight_g.npy", "after_step1/weight.npy", "after_step1/bias.npy",
                                        "after_step1/L.weight_v.npy", "after_step1/L.weight_g.npy",
                                        "after_epoch1/weight.npy", "after_epoch1/bias.npy",
                                        "after_epoch1/L.weight_v.npy", "after_epoch1/L.weight_g.npy", NULL});
    world_close(&w);
    npy_free(&support);
    npy_free(&query);
    npy_free(&labels);
    npy_free(&orders);
}

TEST(baselines_fit_the_recorded_classifiers) { for_golden("baseline", check_fit); }
TEST(negative_margins_fit_the_recorded_classifiers) { for_golden("neg", check_fit); }

static const struct fit_settings usual = {100, 4, 0, 0.01, 0.9, 0.9, 0.001, 2, 0.1, 1};

/* With norm 0 the scores are cosines alone: whatever lengths were drawn, every class has the length 1, and keeps it. */
TEST(without_norm_no_class_has_a_length_of_its_own)
{
    enum { SHOTS = 3, CLASSES = 2, CHANNELS = 4 };
    static const double x[SHOTS * CHANNELS] = {1, 0, 2, 0, 0, 1, 0, 3, 1, 1, 0, 0};
    static const int32_t labels[SHOTS] = {0, 1, 0};
    const struct fit_task k = {FIT_NORMED, SHOTS, CLASSES, CHANNELS, x, labels, 0};
    struct fit_settings s = usual;
    struct world w;
    REQUIRE(rig_open(&w, NULL, 1, DT_F64));
    for (s.norm = 0; s.norm < 2; s.norm++) {
        struct fit_weights at;
        REQUIRE(fit_draw(w.t, &s, &k, &at) == OK);
        const double drawn = at.gain[0];
        EXPECT(drawn != 1);
        EXPECT_OK(fit_run(w.t, &s, &k, &at));
        for (size_t c = 0; c < CLASSES && !s.norm; c++) EXPECT_NEAR(at.gain[c], 1, 0);
        if (s.norm) EXPECT(at.gain[0] != 1 && at.gain[0] != drawn);
    }
    world_close(&w);
}

/* More channels than shots and classes: the fit then runs in their span. Zeros in the further channels change nothing. */
TEST(fit_in_the_span_is_the_fit)
{
    enum { SHOTS = 6, CLASSES = 3, FEW = 8, MANY = 40 };
    struct random r = test_random();
    struct world w;
    REQUIRE(rig_open(&w, NULL, 1, DT_F64));
    for (int kind = FIT_LINEAR; kind <= FIT_MARGIN; kind++) {
        double x[SHOTS * FEW], wide[SHOTS * MANY] = {0}, weight[CLASSES * FEW], far[CLASSES * MANY] = {0};
        double bias[2][CLASSES], gain[2][CLASSES];
        uint32_t order[100 * SHOTS];
        const int32_t labels[SHOTS] = {0, 1, 2, 2, 1, 1};
        for (size_t i = 0; i < SHOTS * FEW; i++) wide[i / FEW * MANY + i % FEW] = x[i] = random_normal(&r);
        for (size_t i = 0; i < CLASSES * FEW; i++) far[i / FEW * MANY + i % FEW] = weight[i] = random_normal(&r);
        for (size_t i = 0; i < CLASSES; i++) bias[0][i] = bias[1][i] = gain[0][i] = gain[1][i] = 0.5 + random_unit(&r);
        for (size_t i = 0; i < 100 * SHOTS; i++) order[i] = (uint32_t)random_below(&r, SHOTS);
        struct fit_task k = {(enum fit_kind)kind, SHOTS, CLASSES, FEW, x, labels, 0};
        EXPECT_OK(fit_run(w.t, &usual, &k, &(struct fit_weights){weight, bias[0], gain[0], order}));
        k.channels = MANY;
        k.x = wide;
        EXPECT_OK(fit_run(w.t, &usual, &k, &(struct fit_weights){far, bias[1], gain[1], order}));
        for (size_t i = 0; i < CLASSES * MANY; i++)
            EXPECT_NEAR(far[i], i % MANY < FEW ? weight[i / MANY * FEW + i % MANY] : 0, 1e-12);
        EXPECT_ALL_NEAR(bias[1], bias[0], CLASSES, 1e-12);
        EXPECT_ALL_NEAR(gain[1], gain[0], CLASSES, 1e-12);
    }
    world_close(&w);
}

TEST(fit_draws_differ_between_episodes_and_seeds_alone)
{
    enum { SHOTS = 4, C = 16 };
    struct random r = test_random();
    struct world w;
    double x[SHOTS * C], other[SHOTS * C];
    const int32_t labels[SHOTS] = {0, 0, 1, 1};
    struct fit_weights a, b, c, d;
    REQUIRE(rig_open(&w, NULL, 1, DT_F64));
    for (size_t i = 0; i < SHOTS * C; i++) {
        x[i] = random_normal(&r);
        other[i] = random_normal(&r);
    }
    struct fit_settings s = usual;
    struct fit_task k = {FIT_LINEAR, SHOTS, 2, C, x, labels, 0};
    REQUIRE(fit_draw(w.t, &s, &k, &a) == OK && fit_draw(w.t, &s, &k, &b) == OK);
    EXPECT(!memcmp(a.weight, b.weight, 2 * C * sizeof(double)) && !memcmp(a.order, b.order, 400 * sizeof *a.order));
    s.seed = 1;
    REQUIRE(fit_draw(w.t, &s, &k, &c) == OK);
    s.seed = 0;
    k.x = other;
    REQUIRE(fit_draw(w.t, &s, &k, &d) == OK);
    EXPECT(memcmp(a.weight, c.weight, 2 * C * sizeof(double)) && memcmp(a.weight, d.weight, 2 * C * sizeof(double)));
    EXPECT(memcmp(a.order, c.order, 400 * sizeof *a.order));
    for (size_t i = 0; i < 2 * C; i++) EXPECT(fabs(a.weight[i]) <= 0.25);
    for (size_t e = 0; e < 100; e++) { /* each epoch sees each shot once */
        unsigned seen = 0;
        for (size_t i = 0; i < SHOTS; i++) seen |= 1u << a.order[e * SHOTS + i];
        EXPECT_INT(seen, 15);
    }
    world_close(&w);
}

static const char *const names[] = {"baseline",   "baseline+mcl",   "baseline++",  "baseline+++mcl",
                                    "neg-cosine", "neg-cosine+mcl", "neg-softmax", "neg-softmax+mcl"};

/* Two shots come in both orders, about as often: a shuffle that leaves a place alone is none. */
TEST(fit_draws_orders_without_a_favourite)
{
    static const double x[] = {0, 1, 1, 0};
    static const int32_t labels[] = {0, 1};
    struct fit_weights at;
    struct world w;
    size_t first = 0;
    REQUIRE(rig_open(&w, NULL, 1, DT_F64));
    REQUIRE(fit_draw(w.t, &usual, &(struct fit_task){FIT_LINEAR, 2, 2, 2, x, labels, 0}, &at) == OK);
    for (int64_t e = 0; e < usual.epochs; e++) {
        EXPECT_INT(at.order[2 * e] + at.order[2 * e + 1], 1);
        first += at.order[2 * e] == 0;
    }
    EXPECT(first > 30 && first < 70); /* of 100: four deviations */
    world_close(&w);
}

/* Features behind a ReLU are often equal, above all the first ones: then the next ones rank the shots. */
TEST(fit_draws_do_not_depend_on_the_order_of_shots_that_begin_alike)
{
    enum { SHOTS = 4, CHANNELS = 3 };
    static const double x[SHOTS * CHANNELS] = {0, 3, 1, 0, 1, 5, 0, 1, 2, 0, 2, 2};
    static const int32_t labels[SHOTS] = {0, 1, 0, 1};
    double turned[SHOTS * CHANNELS];
    int32_t turned_labels[SHOTS];
    struct fit_weights one, two;
    struct world w;
    for (size_t i = 0; i < SHOTS; i++) {
        memcpy(turned + i * CHANNELS, x + (SHOTS - 1 - i) * CHANNELS, CHANNELS * sizeof *x);
        turned_labels[i] = labels[SHOTS - 1 - i];
    }
    REQUIRE(rig_open(&w, NULL, 1, DT_F64));
    REQUIRE(fit_draw(w.t, &usual, &(struct fit_task){FIT_LINEAR, SHOTS, 2, CHANNELS, x, labels, 0}, &one) == OK);
    REQUIRE(fit_draw(w.t, &usual, &(struct fit_task){FIT_LINEAR, SHOTS, 2, CHANNELS, turned, turned_labels, 0}, &two) ==
            OK);
    for (size_t i = 0; i < SHOTS * (size_t)usual.epochs; i++) EXPECT_INT(two.order[i], SHOTS - 1 - one.order[i]);
    for (size_t i = 0; i < 2 * CHANNELS; i++) EXPECT_NEAR(two.weight[i], one.weight[i], 0);
    world_close(&w);
}

/* Two classes along two axes, far apart. */
TEST(fitted_heads_solve_a_separable_episode)
{
    static struct outcome out;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct play p = {.ns = 4,
                         .way = 2,
                         .channels = 2,
                         .rs = 1,
                         .nq = 2,
                         .rq = 1,
                         .support = {4, 0, 5, 1, 0, 4, 1, 5},
                         .support_labels = {0, 0, 1, 1},
                         .query = {3, 0, 0, 3},
                         .query_labels = {0, 1}};
        struct stage s;
        REQUIRE(stage_open(&s, names[i], DT_F32, 1, 2));
        REQUIRE(stage_run(&s, &p, TAPE_INFERENCE, &out));
        EXPECT(out.scores[0] > out.scores[1] && out.scores[2] < out.scores[3]);
        stage_close(&s);
    }
}

TEST(fitted_heads_answer_where_shots_vanish_or_there_is_one_class)
{
    static struct outcome out;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t way = 1; way <= 2; way++) {
            struct play p = {.ns = 2, .way = way, .channels = 2, .rs = 1, .nq = 1, .rq = 1, .query = {0, 1}};
            struct stage s;
            p.support_labels[1] = (int32_t)way - 1;
            REQUIRE(stage_open(&s, names[i], DT_F64, 1, 2));
            REQUIRE(stage_run(&s, &p, TAPE_INFERENCE, &out));
            for (size_t k = 0; k < way; k++) EXPECT(isfinite(out.scores[k]));
            stage_close(&s);
        }
}

static void expect_refusal(const char *head, const char *rate, double number, const char *sentence)
{
    struct stage s;
    struct head_result r = {0};
    REQUIRE(stage_open(&s, head, DT_F64, 1, 2));
    stage_set(&s, "lr", rate);
    tape_reset(s.w.t, TAPE_INFERENCE);
    const struct episode e = {.support = world_constant(&s.w, DIMS(2, 2, 1), NUMBERS(number, 2, 1, number)),
                              .support_labels = op_labels(s.w.t, (int32_t[]){0, 1}, 2, 2),
                              .query = world_constant(&s.w, DIMS(1, 2, 1), NUMBERS(1, 1)),
                              .way = 2};
    EXPECT(!s.head->forward(s.w.t, s.settings.bytes, s.p, &e, 0, &r));
    EXPECT_STATUS(tape_status(s.w.t), ST_NUMERIC);
    EXPECT_TEXT(error_text(), sentence);
    stage_close(&s);
}

TEST(fitted_heads_say_when_there_is_nothing_to_fit)
{
    expect_refusal("baseline", "0.01", NAN, "the shots have features that are not finite");
    expect_refusal("baseline", "1e6", 1e200, "the fit has diverged; a smaller --head.lr may help");
}

/* The released numbers are those that the same options give one by one. */
TEST(negative_margin_released_is_a_shorthand)
{
    static struct outcome once, apart;
    static struct play p;
    struct random r = test_random();
    for (int cosine = 0; cosine < 2; cosine++) {
        struct stage s;
        REQUIRE(stage_open(&s, cosine ? "neg-cosine" : "neg-softmax", DT_F64, 1, 6));
        play_random(&p, &s, &r, 3, (size_t[]){2, 3, 1}, 6, 2, 4, 2);
        stage_set(&s, "released", "1");
        REQUIRE(stage_run(&s, &p, TAPE_INFERENCE, &once));
        stage_set(&s, "released", "0");
        stage_set(&s, "scale", cosine ? "30" : "10");
        stage_set(&s, "margin", "0.4");
        if (!cosine) stage_set(&s, "lr", "1.01");
        REQUIRE(stage_run(&s, &p, TAPE_INFERENCE, &apart));
        EXPECT_ALL_NEAR(once.scores, apart.scores, 12, 0);
        stage_close(&s);
    }
}
