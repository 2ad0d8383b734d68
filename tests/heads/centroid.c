/* centroid.c - the head that aligns with base classes: what each part of it does to scores, and what it refuses. What must hold
 * for any head is in registry.c. */
#include "heads/fit.h"
#include "tests/heads/rig.h"
#include "tests/heads/stage.h"
#include "tests/test.h"

enum { WAY = 3, C = 6, NQ = 6 };
static const size_t shots[WAY] = {2, 2, 2};

/* Class c of the episode, and base classes c and c + 3, lie along channel c; `noise` blurs what the shots have in the channels of no class,
 * `blur` the base everywhere. */
static void align_play(struct play *p, struct stage *s, struct random *r, double noise, double blur)
{
    play_random(p, s, r, WAY, shots, C, 1, NQ, 1);
    for (size_t i = 0; i < p->ns; i++)
        for (size_t k = 0; k < C; k++)
            p->support[i * C + k] = 2.0 * (k == (size_t)p->support_labels[i]) +
                                    (k < WAY ? 0.1 : noise) * random_normal(r);
    for (size_t i = 0; i < NQ; i++)
        for (size_t k = 0; k < C; k++)
            p->query[i * C + k] = 2.0 * (k == (size_t)p->query_labels[i]) + 0.3 * random_normal(r);
    for (size_t i = 0; i < STAGE_BASE_CLASSES * STAGE_BASE_EACH; i++)
        for (size_t k = 0; k < C; k++)
            p->base[i * C + k] = 2.0 * (k == i / STAGE_BASE_EACH % WAY) + blur * random_normal(r);
}

static double loss_with(struct stage *s, const struct play *p, const char *option, const char *value)
{
    static struct outcome out;
    options_default(s->head->options, s->settings.bytes);
    stage_set(s, "lr", "0.01"); /* with few channels the start weights are large */
    if (option) stage_set(s, option, value);
    EXPECT(stage_run(s, p, TAPE_INFERENCE, &out));
    return out.loss;
}

TEST(alignment_with_clean_base_classes_helps_blurred_shots)
{
    static struct play p;
    struct stage s;
    struct random r = test_random();
    double alone = 0, aligned = 0;
    REQUIRE(stage_open(&s, "centroid", DT_F64, 1, C));
    for (int i = 0; i < 5; i++) {
        align_play(&p, &s, &r, 0.8, 0.1);
        alone += loss_with(&s, &p, "related", "0");
        aligned += loss_with(&s, &p, NULL, NULL);
    }
    if (!(aligned < alone)) test_failed(__FILE__, __LINE__, "loss %g with the base, %g without", aligned, alone);
    stage_close(&s);
}

/* Without steps and rounds nothing is learned; without rounds and base classes the base is not looked at. */
TEST(the_base_matters_only_in_rounds_with_related_classes)
{
    static struct play p, other;
    struct stage s;
    struct random r = test_random();
    REQUIRE(stage_open(&s, "centroid", DT_F64, 1, C));
    align_play(&p, &s, &r, 0.3, 0.3);
    other = p;
    for (size_t i = 0; i < sizeof other.base / sizeof *other.base; i++) other.base[i] = random_normal(&r);
    EXPECT(loss_with(&s, &p, "rounds", "0") == loss_with(&s, &other, "rounds", "0"));
    EXPECT(loss_with(&s, &p, "related", "0") == loss_with(&s, &other, "related", "0"));
    EXPECT(loss_with(&s, &p, NULL, NULL) != loss_with(&s, &other, NULL, NULL));
    EXPECT(loss_with(&s, &p, "rounds", "0") != loss_with(&s, &p, "related", "0")); /* rounds go on with the shots */
    EXPECT(loss_with(&s, &p, "seed", "1") != loss_with(&s, &p, "seed", "2"));
    EXPECT(loss_with(&s, &p, "layer-lr", "0") != loss_with(&s, &p, NULL, NULL));
    stage_close(&s);
}

/* A class for which no base picture is taken draws none; the others do. */
TEST(a_class_without_related_pictures_leaves_the_others_theirs)
{
    static struct play p;
    struct stage s;
    struct random r = test_random();
    REQUIRE(stage_open(&s, "centroid", DT_F64, 1, C));
    align_play(&p, &s, &r, 0.3, 0.1);
    for (size_t i = 0; i < STAGE_BASE_CLASSES * STAGE_BASE_EACH; i++)
        for (size_t k = 0; k < C; k++) p.base[i * C + k] = 2.0 * (k == 0) - (k == 2) + 0.1 * random_normal(&r);
    EXPECT(loss_with(&s, &p, NULL, NULL) != loss_with(&s, &p, "related", "0"));
    stage_close(&s);
}

/* A layer and directions that do not move leave the drawn start: cosines to it, and nothing else. */
TEST(rates_of_zero_leave_the_start)
{
    static struct play p;
    static struct outcome out, again;
    struct stage s;
    struct random r = test_random();
    REQUIRE(stage_open(&s, "centroid", DT_F64, 1, C));
    align_play(&p, &s, &r, 0.3, 0.3);
    stage_set(&s, "lr", "0");
    stage_set(&s, "layer-lr", "0");
    REQUIRE(stage_run(&s, &p, TAPE_INFERENCE, &out));
    stage_set(&s, "steps", "0");
    stage_set(&s, "rounds", "0");
    REQUIRE(stage_run(&s, &p, TAPE_INFERENCE, &again));
    EXPECT_ALL_NEAR(out.scores, again.scores, NQ * WAY, 1e-14);
    for (size_t i = 0; i < NQ * WAY; i++) EXPECT(fabs(out.scores[i]) <= 15 * (1 + 1e-12));
    stage_close(&s);
}

/* The first fit, plainly: Adam on the cross entropy of 5 cosines, all shots at once; w [WAY, C] comes and goes. */
static void plain_fit(const struct play *p, int steps, double rate, double *w)
{
    double m[WAY * C] = {0}, v[WAY * C] = {0};
    for (int step = 1; step <= steps; step++) {
        double g[WAY * C] = {0};
        for (size_t i = 0; i < p->ns; i++) {
            const double *x = p->support + i * C;
            double cosine[WAY], length[WAY], share[WAY], size = 0, sum = 0;
            for (size_t k = 0; k < C; k++) size += x[k] * x[k];
            for (size_t c = 0; c < WAY; c++) {
                cosine[c] = length[c] = 0;
                for (size_t k = 0; k < C; k++) {
                    cosine[c] += w[c * C + k] * x[k];
                    length[c] += w[c * C + k] * w[c * C + k];
                }
                cosine[c] /= sqrt(size * length[c]);
                sum += share[c] = exp(5 * cosine[c]);
            }
            for (size_t c = 0; c < WAY; c++) {
                const double by = 5 * (share[c] / sum - (c == (size_t)p->support_labels[i])) / (double)p->ns;
                for (size_t k = 0; k < C; k++)
                    g[c * C + k] += by * (x[k] / sqrt(size * length[c]) - cosine[c] * w[c * C + k] / length[c]);
            }
        }
        for (size_t k = 0; k < WAY * C; k++) {
            m[k] = 0.9 * m[k] + 0.1 * g[k];
            v[k] = 0.999 * v[k] + 0.001 * g[k] * g[k];
            w[k] -= rate * (m[k] / (1 - pow(0.9, step))) / (sqrt(v[k] / (1 - pow(0.999, step))) + 1e-8);
        }
    }
}

TEST(the_first_fit_of_centroid_is_adam_on_the_cosines)
{
    static struct play p;
    static struct outcome out;
    struct stage s;
    struct random r = test_random();
    struct fit_weights start = {0};
    double w[WAY * C];
    REQUIRE(stage_open(&s, "centroid", DT_F64, 1, C));
    align_play(&p, &s, &r, 0.3, 0.3);
    for (size_t i = 0; i < p.ns; i++) p.support_labels[i] = (int32_t)(i / 2); /* sorted, as the fit has them */
    stage_set(&s, "rounds", "0");
    stage_set(&s, "margin", "0");
    stage_set(&s, "lr", "0.02");
    for (int steps = 0; steps < 4; steps++) {
        stage_set(&s, "steps", (const char *[]){"0", "1", "2", "5"}[steps]);
        REQUIRE(stage_run(&s, &p, TAPE_INFERENCE, &out));
        const struct fit_task task = {
            .shots = p.ns, .way = WAY, .channels = C, .x = p.support, .labels = p.support_labels};
        EXPECT_OK(fit_draw(s.w.t, &(struct fit_settings){0}, &task, &start));
        memcpy(w, start.weight, sizeof w);
        plain_fit(&p, steps == 3 ? 5 : steps, 0.02, w);
        for (size_t i = 0; i < NQ * WAY; i++) {
            double dot = 0, a = 0, b = 0;
            for (size_t k = 0; k < C; k++) {
                const double x = p.query[i / WAY * C + k], y = w[i % WAY * C + k];
                dot += x * y;
                a += x * x;
                b += y * y;
            }
            EXPECT_NEAR(out.scores[i], 15 * dot / sqrt(a * b), 1e-9);
        }
    }
    stage_close(&s);
}

TEST(centroid_says_what_is_missing)
{
    static struct play p;
    struct stage s;
    struct random r = test_random();
    struct head_result out = {0};
    struct head_base base;
    REQUIRE(stage_open(&s, "centroid", DT_F64, 1, C));
    align_play(&p, &s, &r, 0.3, 0.3);
    for (int wrong = 0; wrong < 2; wrong++) {
        tape_reset(s.w.t, TAPE_INFERENCE);
        struct episode e = {.support = world_leaf(&s.w, DIMS(p.ns, C, 1), p.support),
                            .support_labels = op_labels(s.w.t, p.support_labels, p.ns, WAY),
                            .query = world_leaf(&s.w, DIMS(NQ, C, 1), p.query),
                            .way = WAY};
        p.channels = wrong ? C + 1 : C;
        if (wrong) e.base = stage_base(&s, &p, &base);
        EXPECT(!s.head->forward(s.w.t, s.settings.bytes, s.p, &e, 0, &out));
        EXPECT_STATUS(tape_status(s.w.t), wrong ? ST_SHAPE : ST_USAGE);
        EXPECT(strstr(error_text(), wrong ? "the base features have 7 channels" : "needs pictures of base classes"));
    }
    stage_close(&s);
}
