/* registry.c - what must hold for every head, whatever it computes. The registry is walked, so that a new head is
 * tested by being in it. */
#include "tests/heads/rig.h"
#include "tests/heads/stage.h"
#include "tests/test.h"
#include <stdio.h>

enum { WAY = 3, C = 6, RS = 4, NQ = 5, RQ = 3 };
static const size_t unequal[WAY] = {1, 3, 2}, equal[WAY] = {2, 2, 2};

/* Runs `check` on every head in f64, with equal and unequal shots. */
static void for_heads(void (*check)(struct stage *s, const struct play *p, struct random *r))
{
    static struct play p;
    struct random r = test_random();
    for (size_t i = 0; head_table[i]; i++)
        for (int k = 0; k < 2; k++) {
            struct stage s;
            REQUIRE(stage_open(&s, head_table[i]->name, DT_F64, 2, C));
            play_random(&p, &s, &r, WAY, k ? equal : unequal, C, RS, NQ, RQ);
            check(&s, &p, &r);
            stage_close(&s);
        }
}

static void expect_scores(const struct stage *s, const char *what, const double *seen, const double *wanted)
{
    double size = 1;
    for (size_t i = 0; i < NQ * WAY; i++) size = fmax(size, fabs(wanted[i]));
    for (size_t i = 0; i < NQ * WAY; i++)
        if (!(fabs(seen[i] - wanted[i]) <= 1e-9 * size))
            test_failed(__FILE__, __LINE__, "%s, %s: score %zu is %.15g, wanted %.15g", s->head->name, what, i, seen[i],
                        wanted[i]);
}

static void swap(double *x, size_t a, size_t b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double held = x[a * n + i];
        x[a * n + i] = x[b * n + i];
        x[b * n + i] = held;
    }
}

static void check_queries(struct stage *s, const struct play *p, struct random *r)
{
    static struct outcome before, after;
    struct play q = *p;
    (void)r;
    swap(q.query, 0, NQ - 1, C * RQ);
    if (!stage_run(s, p, TAPE_INFERENCE, &before) || !stage_run(s, &q, TAPE_INFERENCE, &after)) return;
    swap(before.scores, 0, NQ - 1, WAY);
    expect_scores(s, "queries swapped", after.scores, before.scores);
}

static void check_supports(struct stage *s, const struct play *p, struct random *r)
{
    static struct outcome before, after;
    struct play q = *p;
    for (size_t i = p->ns; i > 1; i--) {
        const size_t other = (size_t)random_below(r, i);
        const int32_t held = q.support_labels[i - 1];
        swap(q.support, i - 1, other, C * RS);
        q.support_labels[i - 1] = q.support_labels[other];
        q.support_labels[other] = held;
    }
    if (!stage_run(s, p, TAPE_INFERENCE, &before) || !stage_run(s, &q, TAPE_INFERENCE, &after)) return;
    expect_scores(s, "support in another order", after.scores, before.scores);
    EXPECT_NEAR(after.loss, before.loss, 1e-9 * (1 + fabs(before.loss)));
}

static void check_classes(struct stage *s, const struct play *p, struct random *r)
{
    static const size_t becomes[WAY] = {2, 0, 1};
    static struct outcome before, after;
    double wanted[NQ * WAY];
    struct play q = *p;
    (void)r;
    if (s->head->named) return;
    for (size_t i = 0; i < p->ns; i++) q.support_labels[i] = (int32_t)becomes[p->support_labels[i]];
    for (size_t i = 0; i < p->nq; i++) q.query_labels[i] = (int32_t)becomes[p->query_labels[i]];
    if (!stage_run(s, p, TAPE_INFERENCE, &before) || !stage_run(s, &q, TAPE_INFERENCE, &after)) return;
    for (size_t i = 0; i < NQ * WAY; i++) wanted[i / WAY * WAY + becomes[i % WAY]] = before.scores[i];
    expect_scores(s, "classes renamed", after.scores, wanted);
    EXPECT_NEAR(after.loss, before.loss, 1e-9 * (1 + fabs(before.loss)));
}

TEST(every_head_scores_queries_apart) { for_heads(check_queries); }
TEST(every_head_forgets_the_order_of_the_support) { for_heads(check_supports); }
TEST(every_head_forgets_the_names_of_the_classes) { for_heads(check_classes); }

/* x moved along a direction that is also multiplied with the gradient */
static double move(struct random *r, size_t n, double step, double *up, double *down, const double *gradient)
{
    double slope = 0;
    for (size_t i = 0; i < n; i++) {
        const double direction = random_normal(r);
        up[i] += step * direction;
        down[i] -= step * direction;
        slope += direction * gradient[i];
    }
    return slope;
}

/* The slope along a random direction of one part of the inputs, by the gradient and by a difference; false after a failure. */
static bool slopes(struct stage *s, const struct play *p, struct random r, int part, double step,
                   const struct outcome *at, double *backward, double *seen)
{
    static struct play up, down;
    static struct outcome high, low;
    up = down = *p;
    if (part == 0) *backward = move(&r, play_support_count(p), step, up.support, down.support, at->d_support);
    if (part == 1) *backward = move(&r, play_query_count(p), step, up.query, down.query, at->d_query);
    if (part == 2) *backward = move(&r, stage_param_count(s), step, up.params, down.params, at->d_params);
    if (!stage_run(s, &up, TAPE_INFERENCE, &high) || !stage_run(s, &down, TAPE_INFERENCE, &low)) return false;
    *seen = (high.loss - low.loss) / (2 * step);
    return true;
}

/* A kink of an activation may lie within the first step; a shorter one does not reach it. */
static void expect_slope(struct stage *s, const struct play *p, struct random *r, const char *what)
{
    static struct outcome at;
    if (!stage_run(s, p, TAPE_TRAINING, &at)) return;
    for (int part = 0; part < 3; part++) {
        double backward = 0, seen = 0;
        bool near = false;
        const struct random direction = random_branch(r, (uint64_t)random_below(r, 1 << 20));
        for (double step = 1e-6; !near && step > 5e-9; step /= 10) {
            if (!slopes(s, p, direction, part, step, &at, &backward, &seen)) return;
            near = fabs(seen - backward) <= 2e-6 * (1 + fabs(seen));
        }
        if (!near)
            test_failed(__FILE__, __LINE__, "%s (%s), part %d: slope %.12g by backward, %.12g by differences",
                        s->head->name, what, part, backward, seen);
    }
}

/* deepemd's gradient leaves out the weights of locations, and its fit, unless it is told otherwise. */
static void whole_gradient(struct stage *s)
{
    if (strcmp(s->head->name, "deepemd")) return;
    stage_set(s, "shots", "first");
    stage_set(s, "wgrad", "1");
}

static void check_gradient(struct stage *s, const struct play *p, struct random *r)
{
    whole_gradient(s);
    if (!s->head->fitted) expect_slope(s, p, r, "defaults");
}

TEST(every_head_has_the_gradient_of_its_loss) { for_heads(check_gradient); }

/* Choice k of an option by name, or value k of an integer with few of them; false behind the last. */
static bool choice(const struct option *o, int k, char out[NUMBER_BYTES])
{
    if (o->type == OPTION_NAME && strcmp(o->name, "solver")) {
        if (o->choices[k]) snprintf(out, NUMBER_BYTES, "%s", o->choices[k]);
        return o->choices[k] != NULL;
    }
    snprintf(out, NUMBER_BYTES, "%d", (int)o->min + k);
    return o->type == OPTION_INT && o->max - o->min < 8 && o->min + k <= o->max;
}

static void check_choices(struct stage *s, const struct play *p, struct random *r)
{
    static struct outcome out;
    char value[NUMBER_BYTES];
    for (const struct option *o = s->head->options; o->type != OPTION_END; o++) {
        for (int k = 0; choice(o, k, value); k++) {
            stage_set(s, o->name, value);
            whole_gradient(s);
            if (!s->head->fitted) expect_slope(s, p, r, value);
            else stage_run(s, p, TAPE_INFERENCE, &out);
        }
        options_default(s->head->options, s->settings.bytes);
        if (s->head->presets) s->head->presets(s->settings.bytes);
    }
}

/* Fitted heads have none: their choices must run. */
TEST(every_choice_of_a_head_has_its_gradient) { for_heads(check_choices); }

static void check_precisions(struct stage *s, const struct play *p, struct random *r)
{
    static struct outcome wide, narrow;
    const enum tape_mode mode = s->head->fitted ? TAPE_INFERENCE : TAPE_TRAINING;
    const double tolerance = s->head->base ? 2e-3 : 2e-4; /* Adam makes steps of one size of gradients of any */
    struct stage single;
    (void)r;
    REQUIRE(stage_open(&single, s->head->name, DT_F32, 2, C));
    if (stage_run(s, p, mode, &wide) && stage_run(&single, p, mode, &narrow)) {
        EXPECT_ALL_NEAR(narrow.scores, wide.scores, NQ * WAY, tolerance);
        EXPECT_ALL_NEAR(narrow.d_support, wide.d_support, play_support_count(p), 2e-3);
        EXPECT_ALL_NEAR(narrow.d_query, wide.d_query, play_query_count(p), 2e-3);
        EXPECT_ALL_NEAR(narrow.d_params, wide.d_params, stage_param_count(s), 2e-3);
    }
    stage_close(&single);
}

TEST(every_head_agrees_in_both_precisions) { for_heads(check_precisions); }

static void check_threads(struct stage *s, const struct play *p, struct random *r)
{
    static struct outcome two, one;
    const enum tape_mode mode = s->head->fitted ? TAPE_INFERENCE : TAPE_TRAINING;
    struct stage alone;
    (void)r;
    REQUIRE(stage_open(&alone, s->head->name, DT_F64, 1, C));
    if (stage_run(s, p, mode, &two) && stage_run(&alone, p, mode, &one)) {
        EXPECT(!memcmp(two.scores, one.scores, NQ * WAY * sizeof *one.scores));
        EXPECT(!memcmp(two.d_support, one.d_support, play_support_count(p) * sizeof *one.d_support));
        EXPECT(!memcmp(two.d_query, one.d_query, play_query_count(p) * sizeof *one.d_query));
        EXPECT(!memcmp(two.d_params, one.d_params, stage_param_count(s) * sizeof *one.d_params));
    }
    stage_close(&alone);
}

TEST(no_head_depends_on_the_number_of_threads) { for_heads(check_threads); }

static void check_training(struct stage *s, const struct play *p, struct random *r)
{
    struct head_result out = {0};
    (void)r;
    if (!s->head->fitted) return;
    tape_reset(s->w.t, TAPE_TRAINING);
    const struct episode e = {.support = world_leaf(&s->w, DIMS(p->ns, C, RS), p->support),
                              .support_labels = op_labels(s->w.t, p->support_labels, p->ns, WAY),
                              .query = world_leaf(&s->w, DIMS(NQ, C, RQ), p->query),
                              .way = WAY};
    EXPECT(!s->head->forward(s->w.t, s->settings.bytes, s->p, &e, 0, &out));
    EXPECT_STATUS(tape_status(s->w.t), ST_USAGE);
    EXPECT(strstr(error_text(), "is fitted to each episode and has nothing to train"));
}

TEST(fitted_heads_refuse_to_be_trained) { for_heads(check_training); }

static bool has_option(const struct head *h, const char *name)
{
    for (const struct option *o = h->options; o && o->type != OPTION_END; o++)
        if (!strcmp(o->name, name)) return true;
    return false;
}

/* What a head says about itself is what lists and commands go by. */
TEST(heads_that_pool_say_so)
{
    size_t pooling = 0;
    for (size_t i = 0; head_table[i]; i++) {
        const struct head *h = head_table[i];
        if (h->pools != has_option(h, "pool"))
            test_failed(__FILE__, __LINE__, "%s says %d about pooling, but its options say %d", h->name, h->pools,
                        has_option(h, "pool"));
        pooling += h->pools;
    }
    EXPECT(pooling > 10);
}

static void check_sums(struct stage *s, const struct play *p, struct random *r)
{
    static struct outcome out;
    (void)r;
    if (!stage_run(s, p, TAPE_INFERENCE, &out)) return;
    bool sums = true;
    for (size_t q = 0; q < NQ; q++) {
        double sum = 0;
        for (size_t c = 0; c < WAY; c++) sum += out.scores[q * WAY + c];
        sums = sums && fabs(sum - 1) < 1e-9;
    }
    if (sums != s->head->probabilities)
        test_failed(__FILE__, __LINE__, "%s says %d about probabilities, but its scores say %d", s->head->name,
                    s->head->probabilities, sums);
}

TEST(heads_whose_scores_are_probabilities_say_so) { for_heads(check_sums); }

TEST(a_head_that_is_not_there_is_told_with_the_nearest_name)
{
    const struct head *h = NULL;
    EXPECT_STATUS(head_find("proot", &h), ST_USAGE);
    EXPECT_TEXT(error_text(), "there is no head 'proot'; did you mean 'proto'?");
    EXPECT_STATUS(head_find("something quite different", &h), ST_USAGE);
    EXPECT(strstr(error_text(), "there is no head 'something quite different'; 'centra list heads'"));
    EXPECT(!h);
    for (size_t i = 0; head_table[i]; i++) EXPECT(head_find(head_table[i]->name, &h) == OK && h == head_table[i]);
}
