/* pretrain.c - the pre-training losses against recorded runs, their start values, and their validation. */
#include "train/pretrain.h"
#include "heads/head.h"
#include "tests/heads/case.h"
#include "tests/heads/rig.h"
#include "tests/test.h"

enum { MOST = 1024 };

/* A loss on a device with parameters of its own. */
struct class_room {
    struct world w;
    const struct pretrain *kind;
    struct params *p;
    union {
        max_align_t align;
        unsigned char bytes[64];
    } settings;
};

static bool room_open(struct class_room *c, const char *kind, const char *isa, dtype type,
                      const struct pretrain_size *s)
{
    struct random r = {.seed = 3};
    *c = (struct class_room){0};
    if (!rig_open(&c->w, isa, 2, type)) return false;
    status st = pretrain_find(kind, &c->kind);
    c->p = params_new(c->w.dev);
    if (st == OK && c->kind->options) options_default(c->kind->options, c->settings.bytes);
    if (st == OK && c->p) st = c->kind->params(s, type, &r, c->p);
    EXPECT_OK(st);
    return st == OK && c->p;
}

static void room_close(struct class_room *c)
{
    params_free(c->p);
    world_close(&c->w);
}

static void set(struct class_room *c, const char *name, const double *values)
{
    struct param *e = params_find(c->p, name);
    REQUIRE(e);
    const var *v = world_constant(&c->w, e->value.rank, e->value.dim, values);
    REQUIRE(v);
    EXPECT_OK(c->w.dev->copy(c->w.dev, e->value.data, v->value.data, tensor_bytes(&e->value)));
}

static void set_from(struct class_room *c, const struct golden *g, const char *name, const char *file)
{
    struct npy a;
    if (golden_read(g, file, &a)) {
        EXPECT_INT(a.count, tensor_count(&params_find(c->p, name)->value));
        set(c, name, a.data);
    }
    npy_free(&a);
}

static void expect(const struct golden *g, struct class_room *c, const char *file, const tensor *x)
{
    double seen[MOST];
    REQUIRE(tensor_count(x) <= MOST && world_read(&c->w, x, seen));
    golden_expect(g, file, seen, tensor_count(x));
}

/* The batch of the case, forward and back; its logits, or NULL after a failure. */
static var *learn(const struct golden *g, struct class_room *c, size_t classes)
{
    struct npy input, labels;
    int32_t label[32] = {0};
    var *logits = NULL, *maps = NULL, *loss = NULL;
    if (golden_read(g, "input.npy", &input) && golden_read(g, "labels.npy", &labels)) {
        for (size_t i = 0; i < labels.count && i < 32; i++) label[i] = (int32_t)((int64_t *)labels.data)[i];
        maps = world_leaf(&c->w, input.rank, input.dim, input.data);
        loss = c->kind->loss(c->w.t, c->settings.bytes, c->p, maps, op_labels(c->w.t, label, labels.count, classes),
                             &logits);
        EXPECT_OK(loss ? tape_backward(c->w.t, loss) : tape_status(c->w.t));
        if (loss) {
            expect(g, c, "loss.npy", &loss->value);
            expect(g, c, "grad_input.npy", &maps->grad);
        }
    }
    npy_free(&input);
    npy_free(&labels);
    return loss ? logits : NULL;
}

static void check_frn(const struct golden *g)
{
    struct class_room c;
    if (room_open(&c, "frn", g->isa, g->type, &(struct pretrain_size){6, 8, 9})) {
        set_from(&c, g, "pre.cat", "category_mat.npy");
        set(&c, "pre.scale", NUMBERS(golden_number(g, "scale", 1)));
        var *logits = learn(g, &c, 6);
        if (logits) {
            const var *log_prediction = op_log_softmax(c.w.t, logits, 1);
            if (log_prediction) expect(g, &c, "log_prediction.npy", &log_prediction->value);
            expect(g, &c, "grad_category_mat.npy", &params_find(c.p, "pre.cat")->grad);
            expect(g, &c, "grad_scale.npy", &params_find(c.p, "pre.scale")->grad);
            golden_expect_only(g, (const char *[]){"loss.npy", "grad_input.npy", "log_prediction.npy",
                                                   "grad_category_mat.npy", "grad_scale.npy", NULL});
        }
    }
    room_close(&c);
}

static void check_linear(const struct golden *g)
{
    struct class_room c;
    if (!strcmp(g->name, "linear_pretrain_validation")) return; /* has a test of its own */
    if (room_open(&c, "linear", g->isa, g->type, &(struct pretrain_size){6, 8, 25})) {
        set_from(&c, g, "pre.fc.weight", "params/weight.npy");
        set_from(&c, g, "pre.fc.bias", "params/bias.npy");
        const var *logits = learn(g, &c, 6);
        if (logits) {
            expect(g, &c, "logits.npy", &logits->value);
            expect(g, &c, "grad_params/weight.npy", &params_find(c.p, "pre.fc.weight")->grad);
            expect(g, &c, "grad_params/bias.npy", &params_find(c.p, "pre.fc.bias")->grad);
            golden_expect_only(g, (const char *[]){"loss.npy", "grad_input.npy", "logits.npy", "grad_params/weight.npy",
                                                   "grad_params/bias.npy", NULL});
        }
    }
    room_close(&c);
}

TEST(frn_pretraining_gives_the_recorded_numbers) { for_golden("frn_pretrain", check_frn); }
TEST(linear_pretraining_gives_the_recorded_numbers) { for_golden("linear_pretrain", check_linear); }

/* The head that a kind names, as validation calls it: no parameters, no query labels. */
static void check_validation(const struct golden *g)
{
    const struct pretrain *kind;
    const struct head *head;
    struct world w;
    struct npy support, query, labels;
    struct head_result r = {0};
    int32_t label[32] = {0};
    char settings[64] = {0};
    double scores[MOST];
    EXPECT_OK(pretrain_find("linear", &kind));
    EXPECT_OK(head_find(kind->head, &head));
    if (!golden_read(g, "support.npy", &support) || !golden_read(g, "query.npy", &query) ||
        !golden_read(g, "support_labels.npy", &labels) || !rig_open(&w, g->isa, 2, g->type))
        return;
    for (size_t i = 0; i < labels.count && i < 32; i++) label[i] = (int32_t)((int64_t *)labels.data)[i];
    struct episode e = {.way = 5};
    e.support = world_constant(&w, DIMS(support.dim[0], support.dim[1], 9), support.data);
    e.query = world_constant(&w, DIMS(query.dim[0], query.dim[1], 9), query.data);
    e.support_labels = op_labels(w.t, label, labels.count, 5);
    EXPECT(head->settings_bytes <= sizeof settings);
    EXPECT(head->forward(w.t, settings, NULL, &e, 0, &r));
    if (r.scores && world_read(&w, &r.scores->value, scores)) golden_expect(g, "scores.npy", scores, query.dim[0] * 5);
    golden_expect_only(g, (const char *[]){"scores.npy", NULL});
    npy_free(&support);
    npy_free(&query);
    npy_free(&labels);
    world_close(&w);
}

TEST(linear_validation_gives_the_recorded_scores) { for_golden("linear_pretrain_validation", check_validation); }

TEST(every_pretraining_names_a_head_that_exists)
{
    const struct head *head;
    for (size_t i = 0; pretrain_table[i]; i++) {
        EXPECT_OK(head_find(pretrain_table[i]->head, &head));
        if (i) EXPECT(strcmp(pretrain_table[i - 1]->name, pretrain_table[i]->name) < 0);
    }
    const struct pretrain *kind;
    EXPECT_STATUS(pretrain_find("linaer", &kind), ST_USAGE);
    EXPECT_TEXT(error_text(), "there is no pre-training 'linaer'; did you mean 'linear'?");
}

static void moments(struct class_room *c, const char *name, double *mean, double *square, double *largest)
{
    static double x[4096];
    const tensor *v = &params_find(c->p, name)->value;
    const size_t n = tensor_count(v);
    *mean = *square = *largest = 0;
    REQUIRE(n <= 4096 && world_read(&c->w, v, x));
    for (size_t i = 0; i < n; i++) {
        *mean += x[i] / (double)n;
        *square += x[i] * x[i] / (double)n;
        *largest = fmax(*largest, fabs(x[i]));
    }
}

TEST(pretraining_starts_as_the_paper_does)
{
    struct class_room c;
    double mean, square, largest;
    REQUIRE(room_open(&c, "frn", NULL, DT_F32, &(struct pretrain_size){10, 16, 25}));
    moments(&c, "pre.cat", &mean, &square, &largest);
    EXPECT_NEAR(mean, 0, 0.06);
    EXPECT_NEAR(square, 1, 0.1);
    moments(&c, "pre.scale", &mean, &square, &largest);
    EXPECT_NEAR(mean, 1, 0);
    moments(&c, "pre.r", &mean, &square, &largest);
    EXPECT_NEAR(largest, 0, 0);
    EXPECT(params_find(c.p, "pre.scale")->trained && !params_find(c.p, "pre.r")->trained);
    room_close(&c);
    REQUIRE(room_open(&c, "linear", NULL, DT_F32, &(struct pretrain_size){64, 64, 25}));
    moments(&c, "pre.fc.weight", &mean, &square, &largest);
    EXPECT_NEAR(mean, 0, 0.01);
    EXPECT(largest <= 0.125 && largest > 0.12);
    EXPECT_INT(params_count(c.p), 2);
    room_close(&c);
}

TEST(pretraining_refuses_maps_of_other_shapes)
{
    struct class_room c;
    REQUIRE(room_open(&c, "frn", NULL, DT_F32, &(struct pretrain_size){3, 2, 4}));
    var *vectors = world_leaf(&c.w, DIMS(2, 2), NUMBERS(1, 2, 3, 4));
    EXPECT(!c.kind->loss(c.w.t, c.settings.bytes, c.p, vectors, op_labels(c.w.t, (int32_t[]){0, 1}, 2, 3), NULL));
    EXPECT_STATUS(tape_status(c.w.t), ST_SHAPE);
    room_close(&c);
}

/* A batch of maps of one location through a kind with a margin: its loss, its gradient by the maps and the scores. */
enum { CLASSES = 3, CHANNELS = 4, BATCH = 5 };

struct lesson_result {
    double loss, dx[BATCH * CHANNELS], logits[BATCH * CLASSES], dw[CLASSES * CHANNELS];
};

static const int32_t batch_labels[BATCH] = {2, 0, 1, 1, 0};

static bool teach(const char *kind, const char *margin, const double *x, const double *w, struct lesson_result *out)
{
    struct class_room c;
    var *logits = NULL;
    if (!room_open(&c, kind, NULL, DT_F64, &(struct pretrain_size){CLASSES, CHANNELS, 1})) return false;
    if (margin) EXPECT_OK(option_set(c.kind->options, "head.", "margin", margin, c.settings.bytes));
    set(&c, "pre.fc.weight", w);
    var *maps = world_leaf(&c.w, DIMS(BATCH, CHANNELS, 1), x);
    const tensor *labels = op_labels(c.w.t, batch_labels, BATCH, CLASSES);
    var *loss = c.kind->loss(c.w.t, c.settings.bytes, c.p, maps, labels, &logits);
    const bool done = loss && tape_backward(c.w.t, loss) == OK && world_read(&c.w, &loss->value, &out->loss) &&
                      world_read(&c.w, &maps->grad, out->dx) && world_read(&c.w, &logits->value, out->logits) &&
                      world_read(&c.w, &params_find(c.p, "pre.fc.weight")->grad, out->dw);
    EXPECT_OK(tape_status(c.w.t));
    room_close(&c);
    return done;
}

static void draw_batch(double *x, double *w)
{
    struct random r = test_random();
    for (size_t i = 0; i < BATCH * CHANNELS; i++) x[i] = random_normal(&r);
    for (size_t i = 0; i < CLASSES * CHANNELS; i++) w[i] = random_normal(&r);
}

TEST(margins_are_taken_from_the_true_class_in_the_loss_alone)
{
    static const char *const kinds[] = {"neg-cosine", "neg-softmax"};
    for (int k = 0; k < 2; k++) {
        double x[BATCH * CHANNELS], w[CLASSES * CHANNELS], wanted = 0;
        const double scale = k ? 5 : 30, margin = -0.1;
        struct lesson_result none, some;
        draw_batch(x, w);
        REQUIRE(teach(kinds[k], "0", x, w, &none) && teach(kinds[k], "-0.1", x, w, &some));
        EXPECT(!memcmp(none.logits, some.logits, sizeof none.logits));
        EXPECT(some.loss < none.loss); /* a margin below zero makes it easier */
        for (size_t i = 0; i < BATCH; i++) {
            double sum = 0;
            const double *z = some.logits + i * CLASSES, truth = z[batch_labels[i]] - scale * margin;
            for (size_t c = 0; c < CLASSES; c++) sum += exp((c == (size_t)batch_labels[i] ? truth : z[c]) - truth);
            wanted += log(sum) / BATCH;
        }
        EXPECT_NEAR(some.loss, wanted, 1e-12);
    }
}

TEST(negative_cosine_forgets_lengths_and_negative_softmax_does_not)
{
    double x[BATCH * CHANNELS], w[CLASSES * CHANNELS];
    struct lesson_result before, after;
    draw_batch(x, w);
    for (int k = 0; k < 2; k++) {
        const char *kind = k ? "neg-softmax" : "neg-cosine";
        double longer[BATCH * CHANNELS];
        for (size_t i = 0; i < BATCH * CHANNELS; i++) longer[i] = 3 * x[i];
        REQUIRE(teach(kind, NULL, x, w, &before) && teach(kind, NULL, longer, w, &after));
        if (k) EXPECT_NEAR(after.logits[0], 3 * before.logits[0], 1e-12);
        else EXPECT_ALL_NEAR(after.logits, before.logits, BATCH * CLASSES, 1e-13);
        for (size_t i = 0; !k && i < BATCH * CLASSES; i++) EXPECT(fabs(before.logits[i]) <= 30);
    }
}

/* Where the true class's cosine is above 0, its angle grows by the margin; the scores that are counted have none. */
TEST(the_angular_margin_is_in_the_loss_alone)
{
    double x[BATCH * CHANNELS], w[CLASSES * CHANNELS], wanted = 0;
    struct lesson_result none, some;
    draw_batch(x, w);
    REQUIRE(teach("angular", "0", x, w, &none) && teach("angular", "0.1", x, w, &some));
    EXPECT(!memcmp(none.logits, some.logits, sizeof none.logits));
    EXPECT(some.loss > none.loss);
    for (size_t i = 0; i < BATCH; i++) {
        double sum = 0;
        const double *z = some.logits + i * CLASSES, own = z[batch_labels[i]];
        const double truth = own > 0 ? 20 * cos(acos(own / 20) + 0.1) : own;
        for (size_t c = 0; c < CLASSES; c++) sum += exp((c == (size_t)batch_labels[i] ? truth : z[c]) - truth);
        wanted += log(sum) / BATCH;
    }
    EXPECT_NEAR(some.loss, wanted, 1e-9);
}

TEST(margin_losses_have_the_gradient_that_differences_show)
{
    static const char *const kinds[] = {"neg-cosine", "neg-softmax", "angular"};
    struct random r = test_random();
    const double step = 1e-6;
    for (int k = 0; k < 3; k++) {
        double x[3][BATCH * CHANNELS], w[3][CLASSES * CHANNELS], slope = 0;
        struct lesson_result at, up, down;
        draw_batch(x[0], w[0]);
        REQUIRE(teach(kinds[k], NULL, x[0], w[0], &at));
        for (size_t i = 0; i < BATCH * CHANNELS; i++) {
            const double direction = random_normal(&r);
            x[1][i] = x[0][i] + step * direction;
            x[2][i] = x[0][i] - step * direction;
            slope += direction * at.dx[i];
        }
        for (size_t i = 0; i < CLASSES * CHANNELS; i++) {
            const double direction = random_normal(&r);
            w[1][i] = w[0][i] + step * direction;
            w[2][i] = w[0][i] - step * direction;
            slope += direction * at.dw[i];
        }
        REQUIRE(teach(kinds[k], NULL, x[1], w[1], &up) && teach(kinds[k], NULL, x[2], w[2], &down));
        EXPECT_NEAR(slope, (up.loss - down.loss) / (2 * step), 1e-6 * (1 + fabs(slope)));
    }
}
