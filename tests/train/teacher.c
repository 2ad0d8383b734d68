/* teacher.c - distillation: the loss by hand and by differences, what the teacher sees, and that pupils learn from it. */
#include "train/teacher.h"
#include "image/transform.h"
#include "tests/api/netfile.h"
#include "tests/heads/rig.h"
#include "tests/test.h"
#include "tests/train/rig.h"
#include "train/resample.h"
#include "weights/weights.h"
#include <stdio.h>
#include <stdlib.h>

static const char *at(const char *name)
{
    static char path[4][700];
    static unsigned next;
    char *p = path[next++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", test_folder(), name);
    return p;
}

/* A Conv-4 of width 6 with start values, which says how it wants its pictures. */
static const struct meta says[] = {{"backbone", "conv4"},
                                   {"options", "net.width=6"},
                                   {"input", "16"},
                                   {"mean", "0.5 0.4 0.3"},
                                   {"std", "0.5 0.25 0.2"}};
static bool write_teacher(const char *path, size_t metas)
{
    return netfile_write(path,
                         &(struct netfile){.net = "conv4", .options = "net.width=6", .metas = metas, .meta = says});
}

static status open_teacher(struct device *d, const char *name, const char *fingerprint, const struct transform *shown,
                           struct teacher **out)
{
    return teacher_open(d, &(struct teacher_options){at(name), fingerprint, 0, shown}, out);
}

struct pupil { /* a projection from 3 channels to 2 in f64 */
    struct world w;
    struct params *p;
};

static bool pupil_open(struct pupil *x, const double *projection)
{
    struct random r = {.seed = 4};
    *x = (struct pupil){0};
    if (!rig_open(&x->w, NULL, 1, DT_F64)) return false;
    x->p = params_new(x->w.dev);
    EXPECT_OK(x->p ? distil_params(3, 2, DT_F64, &r, x->p) : ST_MEMORY);
    if (projection)
        EXPECT_OK(x->w.dev->upload(x->w.dev, params_at(x->p, 0)->value.data, projection, 6 * sizeof(double)));
    return x->p && params_count(x->p) == 1;
}

static void pupil_close(struct pupil *x)
{
    params_free(x->p);
    world_close(&x->w);
}

/* Averages of the maps are (1, 0, 5) and (0, 2, 7); the projection takes the first two channels. */
TEST(distillation_is_one_minus_the_cosine_with_the_teacher)
{
    static const double maps[] = {0, 2, 1, -1, 4, 6, 3, -3, 1, 3, 7, 7}, take[] = {1, 0, 0, 0, 1, 0};
    static const double wanted[][5] = {
        {3, 0, 0, 1, 0}, {-1, 0, 0, -4, 2}, {0, 9, 1, 0, 1}, {1, 1, 0, 1, 0.1464466094067262}};
    for (size_t i = 0; i < 4; i++) {
        struct pupil x;
        double seen;
        REQUIRE(pupil_open(&x, take));
        var *m = world_leaf(&x.w, DIMS(2, 3, 2), maps);
        const var *taught = world_constant(&x.w, DIMS(2, 2), wanted[i]);
        const var *loss = distil_loss(x.w.t, x.p, m, &taught->value);
        REQUIRE(loss && world_read(&x.w, &loss->value, &seen));
        EXPECT_NEAR(seen, wanted[i][4], 1e-12);
        pupil_close(&x);
    }
}

/* At its two places the first map says (0, 1) and (2, -1), the second (3, 1) and (-3, 3). */
TEST(distillation_of_places_compares_each_with_the_teachers_there)
{
    static const double maps[] = {0, 2, 1, -1, 4, 6, 3, -3, 1, 3, 7, 7}, take[] = {1, 0, 0, 0, 1, 0};
    static const double taught[][8] = {{0, 4, 5, -2, 6, -1, 2, 1}, /* the same ways */
                                       {0, 4, 5, 2, 6, 1, 2, -1}}; /* the second map's the other way round */
    struct pupil x;
    double seen;
    for (size_t i = 0; i < 2; i++) {
        REQUIRE(pupil_open(&x, take));
        var *m = world_leaf(&x.w, DIMS(2, 3, 2), maps);
        const var *said = world_constant(&x.w, DIMS(2, 2, 2), taught[i]);
        const var *loss = distil_places_loss(x.w.t, x.p, m, &said->value);
        REQUIRE(loss && world_read(&x.w, &loss->value, &seen));
        double wanted = 0;
        static const double own[4][2] = {{0, 1}, {2, -1}, {3, 1}, {-3, 3}};
        for (size_t k = 0; k < 4; k++) {
            const double *t = taught[i] + k / 2 * 4 + k % 2, *f = own[k]; /* channels are two apart */
            wanted +=
                (1 - (f[0] * t[0] + f[1] * t[2]) / sqrt((f[0] * f[0] + f[1] * f[1]) * (t[0] * t[0] + t[2] * t[2]))) / 4;
        }
        EXPECT_NEAR(seen, wanted, 1e-12);
        pupil_close(&x);
    }
}

static double loss_of(struct pupil *x, const double *maps, const double *projection, const double *taught,
                      double *dmaps, double *dprojection)
{
    double seen = (double)NAN;
    struct param *e = params_at(x->p, 0);
    EXPECT_OK(x->w.dev->upload(x->w.dev, e->value.data, projection, 6 * sizeof(double)));
    tape_reset(x->w.t, TAPE_TRAINING);
    EXPECT_OK(params_zero_grad(x->p));
    var *m = world_leaf(&x->w, DIMS(2, 3, 4), maps);
    const var *f = world_constant(&x->w, DIMS(2, 2), taught), *g = world_constant(&x->w, DIMS(2, 2, 4), taught + 4);
    var *loss = op_add(x->w.t, distil_loss(x->w.t, x->p, m, &f->value), distil_places_loss(x->w.t, x->p, m, &g->value));
    EXPECT(loss && world_read(&x->w, &loss->value, &seen));
    if (!dmaps || !loss) return seen;
    EXPECT_OK(tape_backward(x->w.t, loss));
    EXPECT(world_read(&x->w, &m->grad, dmaps) && world_read(&x->w, &e->grad, dprojection));
    return seen;
}

TEST(distillation_has_the_gradient_of_its_loss)
{
    enum { MAPS = 24, ALL = 30 };
    struct random r = test_random();
    double at_[ALL], grad[ALL], taught[20];
    struct pupil x;
    REQUIRE(pupil_open(&x, NULL));
    for (size_t i = 0; i < ALL; i++) at_[i] = random_normal(&r);
    for (size_t i = 0; i < 20; i++) taught[i] = random_normal(&r);
    loss_of(&x, at_, at_ + MAPS, taught, grad, grad + MAPS);
    for (size_t i = 0; i < ALL; i++) {
        const double step = 1e-5, kept = at_[i];
        at_[i] = kept + step;
        const double more = loss_of(&x, at_, at_ + MAPS, taught, NULL, NULL);
        at_[i] = kept - step;
        const double less = loss_of(&x, at_, at_ + MAPS, taught, NULL, NULL);
        at_[i] = kept;
        EXPECT_NEAR(grad[i], (more - less) / (2 * step), 1e-8);
    }
    pupil_close(&x);
}

/* The teacher wants (v - 0.5) / 0.5 and so on: pictures normalised so already, and others that mean the same, agree. */
TEST(a_teacher_sees_pictures_as_it_was_trained_with)
{
    enum { PIXELS = 16 * 16, NUMBERS_OF = 2 * 3 * PIXELS };
    static const struct transform own = {.side = 16, .mean = {0.5F, 0.4F, 0.3F}, .std = {0.5F, 0.25F, 0.2F}};
    const struct transform other = transform_standard(TRANSFORM_RESIZE_CROP, 16, 0);
    struct random r = test_random();
    struct world w;
    double pictures[2][NUMBERS_OF], seen[2][12];
    REQUIRE(write_teacher(at("t.safetensors"), 5) && rig_open(&w, NULL, 1, DT_F32));
    for (size_t i = 0; i < NUMBERS_OF; i++) {
        const double v = random_unit(&r);
        const size_t c = i / PIXELS % 3;
        pictures[0][i] = (v - (double)own.mean[c]) / (double)own.std[c];
        pictures[1][i] = (v - (double)other.mean[c]) / (double)other.std[c];
    }
    for (size_t k = 0; k < 2; k++) {
        struct teacher *t = NULL;
        struct guidance out;
        EXPECT_OK(open_teacher(w.dev, "t.safetensors", NULL, k ? &other : &own, &t));
        REQUIRE(t);
        EXPECT_INT(teacher_channels(t), 6);
        const var *x = world_constant(&w, DIMS(2, 3, 16, 16), pictures[k]);
        EXPECT_OK(teacher_features(t, &x->value, 0, &out));
        EXPECT_DIMS(out.pooled, 2, 6);
        EXPECT(world_read(&w, &out.pooled, seen[k]));
        teacher_free(t);
    }
    EXPECT_ALL_NEAR(seen[1], seen[0], 12, 1e-5);
    EXPECT(fabs(seen[0][0]) > 1e-6 && fabs(seen[0][0] - seen[0][6]) > 1e-9);
    world_close(&w);
}

/* A teacher with a side of its own is shown pictures of 8 and says what another says of them at 32; its places are those of the map,
 * 2 x 2, and average to what it says of the whole. */
TEST(a_teacher_sees_pictures_at_the_side_that_it_is_given)
{
    enum { SMALL = 2 * 3 * 8 * 8 };
    static const struct transform small = {.side = 8, .mean = {0.5F, 0.4F, 0.3F}, .std = {0.5F, 0.25F, 0.2F}};
    static const struct transform large = {.side = 32, .mean = {0.5F, 0.4F, 0.3F}, .std = {0.5F, 0.25F, 0.2F}};
    struct random r = test_random();
    struct world w;
    struct resampler enlarge;
    struct teacher *t[2] = {NULL, NULL};
    struct guidance said[2];
    double pictures[SMALL], pooled[2][12], places[2][48];
    REQUIRE(write_teacher(at("t.safetensors"), 5) && rig_open(&w, NULL, 1, DT_F32));
    for (size_t i = 0; i < SMALL; i++) pictures[i] = random_normal(&r);
    EXPECT_OK(teacher_open(w.dev, &(struct teacher_options){at("t.safetensors"), NULL, 32, &small}, &t[0]));
    EXPECT_OK(teacher_open(w.dev, &(struct teacher_options){at("t.safetensors"), NULL, 0, &large}, &t[1]));
    EXPECT_OK(resampler_new(8, 32, &enlarge));
    REQUIRE(t[0] && t[1]);
    var *x[2] = {world_constant(&w, DIMS(2, 3, 8, 8), pictures), NULL};
    x[1] = resample(w.t, &enlarge, x[0]);
    REQUIRE(x[1]);
    for (size_t k = 0; k < 2; k++) {
        EXPECT_OK(teacher_features(t[k], &x[k]->value, 2, &said[k]));
        EXPECT_DIMS(said[k].places, 2, 6, 4);
        EXPECT(world_read(&w, &said[k].pooled, pooled[k]) && world_read(&w, &said[k].places, places[k]));
    }
    EXPECT_ALL_NEAR(pooled[0], pooled[1], 12, 1e-6);
    EXPECT_ALL_NEAR(places[0], places[1], 48, 1e-6);
    for (size_t i = 0; i < 12; i++)
        EXPECT_NEAR(pooled[0][i],
                    (places[0][4 * i] + places[0][4 * i + 1] + places[0][4 * i + 2] + places[0][4 * i + 3]) / 4, 1e-6);
    EXPECT(fabs(places[0][0] - places[0][1]) > 1e-9);
    resampler_free(&enlarge);
    teacher_free(t[0]);
    teacher_free(t[1]);
    world_close(&w);
}

static const char PRE[] = "train.stage=pretrain head.name=linear train.batch=8 train.epochs=60 ";

static double last_loss(const char *recipe, int steps)
{
    struct lessons l;
    struct taught now = {0};
    double sum = 0;
    if (!lessons_open(&l, 2, recipe)) return (double)NAN;
    for (int i = 0; i < steps; i++) {
        EXPECT_OK(lessons_step(&l, &now));
        if (i >= steps - 4) sum += now.loss / 4;
    }
    lessons_close(&l);
    return sum;
}

/* What the teacher adds to the loss begins near 1, whatever the classes, and goes towards 0. */
TEST(a_pupil_comes_near_its_teacher)
{
    char recipe[1000], alone[300];
    REQUIRE(write_teacher(at("t.safetensors"), 5));
    snprintf(recipe, sizeof recipe, "%sdistil.weight=5 distil.places=5 distil.side=32 distil.teacher=%s", PRE,
             at("t.safetensors"));
    snprintf(alone, sizeof alone, "%s", PRE);
    const double first = last_loss(recipe, 1) * 4, plain = last_loss(alone, 1) * 4;
    EXPECT(first > plain + 1 && first < plain + 20); /* between 0.1 and 2 times the weight */
    EXPECT(last_loss(recipe, 60) < 0.4 * first);
}

TEST(a_weight_of_zero_leaves_the_network_as_without_a_teacher)
{
    char recipe[1000], loss[2][65];
    REQUIRE(write_teacher(at("t.safetensors"), 5));
    for (int i = 0; i < 2; i++) {
        struct lessons l;
        struct taught now;
        snprintf(recipe, sizeof recipe, "%sdistil.weight=0%s%s", PRE, i ? " distil.teacher=" : "",
                 i ? at("t.safetensors") : "");
        REQUIRE(lessons_open(&l, 1, recipe));
        for (int k = 0; k < 3; k++) EXPECT_OK(lessons_step(&l, &now));
        snprintf(loss[i], sizeof loss[i], "%.9g", now.loss);
        EXPECT(!!params_find(l.trainer->model.params, "pre.distil.weight") == i);
        lessons_close(&l);
    }
    EXPECT_TEXT(loss[1], loss[0]);
}

TEST(distillation_gives_the_same_bits_with_any_number_of_threads)
{
    char recipe[1000], hash[2][65];
    REQUIRE(write_teacher(at("t.safetensors"), 5));
    snprintf(recipe, sizeof recipe, "%sdistil.teacher=%s", PRE, at("t.safetensors"));
    for (size_t i = 0; i < 2; i++) {
        struct lessons l;
        struct taught now;
        REQUIRE(lessons_open(&l, 1 + 2 * i, recipe));
        for (int k = 0; k < 3; k++) EXPECT_OK(lessons_step(&l, &now));
        params_hash(l.trainer->model.params, hash[i]);
        lessons_close(&l);
    }
    EXPECT_TEXT(hash[1], hash[0]);
}

TEST(distillation_allocates_nothing_after_the_first_steps)
{
    struct lessons l;
    struct lesson lesson;
    struct taught now;
    char recipe[1000];
    REQUIRE(write_teacher(at("t.safetensors"), 5));
    snprintf(recipe, sizeof recipe, "%strain.batch=4 distil.places=1 distil.side=32 distil.teacher=%s", PRE,
             at("t.safetensors"));
    REQUIRE(lessons_open(&l, 2, recipe));
    for (int i = 0; i < 3; i++) EXPECT_OK(lessons_step(&l, &now));
    const size_t before = alloc_count();
    for (int i = 0; i < 2; i++) {
        EXPECT_OK(course_next(l.trainer->course, &lesson));
        EXPECT_OK(trainer_step(l.trainer, &lesson, 3 + (uint64_t)i, l.pictures, &now));
    }
    EXPECT_INT(alloc_count() - before, 0);
    lessons_close(&l);
}

TEST(teachers_that_do_not_fit_are_refused)
{
    static const struct transform any = {.side = 16, .std = {1, 1, 1}};
    struct world w;
    struct teacher *t = NULL;
    struct run_settings s;
    arena *memory = arena_new(4096);
    REQUIRE(memory && write_teacher(at("t.safetensors"), 5) && write_teacher(at("silent.safetensors"), 0));
    REQUIRE(rig_open(&w, NULL, 1, DT_F32));
    EXPECT_STATUS(open_teacher(w.dev, "silent.safetensors", NULL, &any, &t), ST_FORMAT);
    EXPECT(strstr(error_text(), "does not say which network it is for; centra models add makes it do so"));
    EXPECT_STATUS(open_teacher(w.dev, "t.safetensors", "0123456789abcdef", &any, &t), ST_USAGE);
    EXPECT(strstr(error_text(), "but distil.fingerprint is 0123456789ab..."));
    EXPECT_STATUS(open_teacher(w.dev, "none", NULL, &any, &t), ST_IO);
    EXPECT(!t);
    EXPECT_STATUS(tiny_settings(&s, memory, "distil.teacher=x"), ST_USAGE);
    EXPECT_TEXT(error_text(), "distil.teacher is set, but only pre-training (train.stage pretrain) has a teacher");
    arena_free(memory);
    world_close(&w);
}

TEST(opening_a_teacher_survives_failing_allocations)
{
    static const struct transform any = {.side = 16, .std = {1, 1, 1}};
    struct world w;
    REQUIRE(write_teacher(at("t.safetensors"), 5) && rig_open(&w, NULL, 1, DT_F32));
    const size_t live = alloc_live();
    bool done = false;
    size_t n = 1;
    for (; n < 5000 && !done; n++) {
        struct teacher *t = NULL;
        alloc_fail_at(n);
        const status st = open_teacher(w.dev, "t.safetensors", NULL, &any, &t);
        done = !alloc_did_fail();
        alloc_fail_at(0);
        EXPECT_STATUS(st, done ? OK : ST_MEMORY);
        teacher_free(t);
        EXPECT_INT(alloc_live(), live);
    }
    EXPECT(done && n > 20);
    world_close(&w);
}
