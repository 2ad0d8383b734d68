/* mobilenetv2.c - MobileNetV2: shapes of every width, stage and size, and agreement with a network trained by others. */
#include "base/file.h"
#include "base/npy.h"
#include "image/transform.h"
#include "tests/nets/rig.h"
#include "tests/test.h"
#include "weights/foreign.h"
#include <stdio.h>
#include <stdlib.h>

struct named_option {
    const char *name, *value;
};

/* The network with up to three options set; parameters as it starts. */
static bool open_with(struct net_rig *r, size_t threads, dtype type, const struct named_option *options)
{
    struct random random = {1, 2, 0};
    if (!net_rig_open(r, NULL, threads, type, "conv4")) return false;
    params_free(r->p);
    r->p = params_new(r->w.dev);
    status st = net_find("mobilenetv2", &r->net);
    if (st == OK) options_default(r->net->options, &r->settings);
    for (; st == OK && options->name; options++)
        st = option_set(r->net->options, "--net.", options->name, options->value, &r->settings);
    if (st == OK) st = r->net->params(&r->settings, type, &random, r->p);
    EXPECT_OK(st);
    if (st != OK) net_rig_close(r);
    return st == OK;
}
#define OPTIONS(...) ((const struct named_option[]){__VA_ARGS__{NULL, NULL}})

static var *run(struct net_rig *r, enum net_mode mode, enum tape_mode tape_mode, size_t n, size_t high, size_t wide)
{
    struct net_pass how = {.mode = mode};
    struct random noise = {5, 6, 0};
    double *x = calloc(n * 3 * high * wide, sizeof *x);
    tape_reset(r->w.t, tape_mode);
    for (size_t i = 0; x && i < n * 3 * high * wide; i++) x[i] = random_normal(&noise);
    var *pictures = x ? world_constant(&r->w, DIMS(n, 3, high, wide), x) : NULL;
    free(x);
    return r->net->forward(r->w.t, &r->settings, r->p, &how, pictures);
}

TEST(mobilenetv2_has_the_published_numbers_of_parameters)
{
    static const struct {
        const char *width;
        size_t trained; /* convolutions and norms, without the classifier's 1,281,000 */
    } cases[] = {{"1", 2223872}, {"0.5", 687680}, {"1.4", 4315776}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct net_rig r;
        size_t trained = 0;
        if (!open_with(&r, 1, DT_F32, OPTIONS({"width", cases[i].width}, ))) continue;
        for (size_t k = 0; k < params_count(r.p); k++)
            if (params_at(r.p, k)->trained) trained += tensor_count(&params_at(r.p, k)->value);
        EXPECT_INT(trained, cases[i].trained);
        EXPECT_INT(params_count(r.p), 5 * 52);
        net_rig_close(&r);
    }
}

TEST(mobilenetv2_gives_maps_of_every_stage_width_and_size)
{
    static const struct {
        const char *stage, *width, *border;
        size_t high, wide, channels, rows, columns;
    } cases[] = {{"last", "1", "symmetric", 96, 96, 1280, 3, 3},
                 {"block17", "0.35", "tensorflow", 96, 128, 112, 3, 4},
                 {"block13", "0.25", "symmetric", 97, 131, 24, 7, 9},
                 {"block13", "0.1", "tensorflow", 97, 130, 16, 7, 9},
                 {"last", "1.4", "tensorflow", 100, 96, 1792, 4, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct net_rig r;
        if (!open_with(&r, 2, DT_F32,
                       OPTIONS({"stage", cases[i].stage}, {"width", cases[i].width}, {"border", cases[i].border}, )))
            continue;
        EXPECT_INT(r.net->channels(&r.settings), cases[i].channels);
        const var *y = run(&r, NET_EVAL, TAPE_INFERENCE, 1, cases[i].high, cases[i].wide);
        EXPECT(y);
        if (y) EXPECT_DIMS(y->value, 1, cases[i].channels, cases[i].rows, cases[i].columns);
        net_rig_close(&r);
    }
}

TEST(mobilenetv2_refuses_small_pictures)
{
    struct net_rig r;
    REQUIRE(open_with(&r, 1, DT_F32, OPTIONS({"width", "0.1"}, )));
    EXPECT(!run(&r, NET_EVAL, TAPE_INFERENCE, 1, 96, 95));
    EXPECT_STATUS(tape_status(r.w.t), ST_SHAPE);
    EXPECT_TEXT(error_text(),
                "mobilenetv2 needs pictures [n, 3, height, width] of at least 96 x 96 pixels, not [1, 3, 96, 95]");
    net_rig_close(&r);
}

/* What folds norms into convolutions, and what does not. */
TEST(mobilenetv2_gives_the_same_features_with_and_without_records)
{
    static double one[24 * 7 * 7], other[24 * 7 * 7];
    struct net_rig r;
    REQUIRE(open_with(&r, 2, DT_F64, OPTIONS({"stage", "block13"}, {"width", "0.25"}, {"border", "tensorflow"}, )));
    const var *y = run(&r, NET_EVAL, TAPE_INFERENCE, 1, 100, 98);
    EXPECT(y && world_read(&r.w, &y->value, one));
    params_freeze(r.p);
    y = run(&r, NET_EVAL, TAPE_INFERENCE, 1, 100, 98);
    EXPECT(y && world_read(&r.w, &y->value, other));
    EXPECT(!memcmp(one, other, sizeof one));
    params_thaw(r.p);
    y = run(&r, NET_FROZEN, TAPE_TRAINING, 1, 100, 98);
    EXPECT(y && tensor_count(&y->value) == 24 * 7 * 7 && world_read(&r.w, &y->value, other));
    for (size_t i = 0; i < sizeof one / sizeof *one; i++) EXPECT_NEAR(other[i], one[i], 1e-9);
    net_rig_close(&r);
}

/* A step against the gradient lowers what it is the gradient of. */
TEST(mobilenetv2_learns)
{
    struct net_rig r;
    double before = 0, after = 0;
    REQUIRE(open_with(&r, 2, DT_F64, OPTIONS({"stage", "block17"}, {"width", "0.1"}, )));
    for (int step = 0; step < 2; step++) {
        var *y = run(&r, NET_TRAIN, TAPE_TRAINING, 2, 96, 96);
        var *loss = op_mean(r.w.t, op_mul(r.w.t, y, y), 15, DROP_AXES);
        REQUIRE(loss && world_read(&r.w, &loss->value, step ? &after : &before));
        if (step) break;
        EXPECT_OK(params_zero_grad(r.p));
        EXPECT_OK(tape_backward(r.w.t, loss));
        for (size_t i = 0; i < params_count(r.p); i++) {
            struct param *p = params_at(r.p, i);
            if (p->trained) EXPECT_OK(PRIM_CALL(r.w.dev, DT_F64, axpy, (r.w.dev, -0.01, &p->grad, &p->value)));
        }
    }
    EXPECT(after < 0.999 * before);
    net_rig_close(&r);
}

/* The folder of trained networks (CENTRA_MODELS_SHARED, else beside CENTRA_DATA, else ../shared/models), or NULL after
 * skipping the test. */
static const char *shared_models(void)
{
    static char path[4096];
    const char *given = getenv("CENTRA_MODELS_SHARED"), *data = getenv("CENTRA_DATA");
    if (given && *given) snprintf(path, sizeof path, "%s", given);
    else if (data && *data) snprintf(path, sizeof path, "%s/../models", data);
    else snprintf(path, sizeof path, "%s", CENTRA_SOURCE_DIR "/../shared/models");
    if (file_exists(path)) return path;
    test_skip("no trained networks: set CENTRA_MODELS_SHARED to the folder that has them");
    return NULL;
}

static char *inside(const char *folder, const char *name)
{
    static char path[4300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* The network with the weights of the file, converted; *file stays open for what is not in the network. */
static bool open_trained(struct net_rig *r, const char *folder, const char *stage, struct weights **file)
{
    struct weights *ours = NULL;
    if (!open_with(r, 2, DT_F32, OPTIONS({"stage", stage}, {"border", "tensorflow"}, ))) return false;
    EXPECT_OK(weights_open(inside(folder, "mobilenetv2-imagenet.safetensors"), file));
    const struct foreign *f = *file ? foreign_find(*file) : NULL;
    EXPECT(f && !strcmp(f->backbone, "mobilenetv2"));
    if (f) EXPECT_OK(foreign_convert(f, *file, &ours));
    if (ours) {
        EXPECT_TEXT(weights_meta(ours, "options"), "net.width=1 net.border=tensorflow");
        EXPECT_OK(weights_load(ours, r->p, "", NULL));
    }
    const bool good = ours != NULL;
    weights_close(ours);
    return good;
}

static var *trained_forward(struct net_rig *r, const char *folder)
{
    static float values[3 * 224 * 224];
    static double x[3 * 224 * 224];
    struct picture p = {0};
    struct net_pass pass = {.mode = NET_EVAL};
    struct transform t = transform_standard(TRANSFORM_SHORTER_CROP, 224, 0);
    for (int c = 0; c < 3; c++) t.mean[c] = t.std[c] = 0.5f;
    EXPECT_OK(picture_read(inside(folder, "check/grace_hopper224.ppm"), true, &p));
    EXPECT_OK(transform_apply(&t, &p, NULL, values));
    picture_free(&p);
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = (double)values[i];
    tape_reset(r->w.t, TAPE_INFERENCE);
    return r->net->forward(r->w.t, &r->settings, r->p, &pass, world_constant(&r->w, DIMS(1, 3, 224, 224), x));
}

/* |seen - recorded| as a share of |recorded|. */
static void expect_close(const char *folder, const char *name, const double *seen, size_t n)
{
    struct npy a = {0};
    double error = 0, size = 0;
    char file[64];
    snprintf(file, sizeof file, "check/%s", name);
    EXPECT_OK(npy_read(inside(folder, file), 1 << 20, &a));
    EXPECT_INT(a.count, n);
    if (a.data && a.count == n && npy_convert(&a, NPY_F64, name) == OK) {
        const double *recorded = a.data;
        for (size_t i = 0; i < n; i++) {
            error += (seen[i] - recorded[i]) * (seen[i] - recorded[i]);
            size += recorded[i] * recorded[i];
        }
        if (!(sqrt(error / size) < 1e-4))
            test_failed(__FILE__, __LINE__, "%s: %g away from what was recorded", name, sqrt(error / size));
    }
    npy_free(&a);
}

enum { CHANNELS = 1280, OUTPUTS = 1001 };

static void expect_logits(const char *folder, const struct weights *file, const double *pooled)
{
    static float by[OUTPUTS * CHANNELS], add[OUTPUTS];
    static double logits[OUTPUTS];
    const struct named_array *w = weights_find(file, "classifier.weight"), *b = weights_find(file, "classifier.bias");
    REQUIRE(w && b);
    EXPECT_OK(named_array_get(w, "classifier", DT_F32, 2, (size_t[]){OUTPUTS, CHANNELS}, by));
    EXPECT_OK(named_array_get(b, "classifier", DT_F32, 1, (size_t[]){OUTPUTS}, add));
    for (size_t o = 0; o < OUTPUTS; o++) {
        logits[o] = (double)add[o];
        for (size_t c = 0; c < CHANNELS; c++) logits[o] += (double)by[o * CHANNELS + c] * pooled[c];
    }
    expect_close(folder, "logits.npy", logits, OUTPUTS);
}

TEST(mobilenetv2_agrees_with_a_trained_network_at_every_stage)
{
    static const struct {
        const char *stage, *recorded;
        size_t numbers;
    } stages[] = {{"block13", "block13.npy", 96 * 14 * 14},
                  {"block17", "block17.npy", 320 * 7 * 7},
                  {"last", NULL, CHANNELS * 7 * 7}}; /* its average and what is made of that are recorded */
    static double seen[CHANNELS * 7 * 7], pooled[CHANNELS];
    const char *folder = shared_models();
    if (!folder) return;
    for (size_t i = 0; i < 3; i++) {
        struct net_rig r;
        struct weights *file = NULL;
        if (!open_trained(&r, folder, stages[i].stage, &file)) continue;
        const var *y = trained_forward(&r, folder);
        EXPECT(y && tensor_count(&y->value) == stages[i].numbers && world_read(&r.w, &y->value, seen));
        if (stages[i].recorded) expect_close(folder, stages[i].recorded, seen, stages[i].numbers);
        for (size_t k = 0; i == 2 && k < CHANNELS * 49; k++) pooled[k / 49] += seen[k] / 49;
        if (i == 2) {
            expect_close(folder, "pool.npy", pooled, CHANNELS);
            expect_logits(folder, file, pooled);
        }
        weights_close(file);
        net_rig_close(&r);
    }
}

TEST(mobilenetv2_survives_every_failed_allocation)
{
    struct net_rig r;
    size_t n = 1;
    REQUIRE(open_with(&r, 1, DT_F32, OPTIONS({"width", "0.1"}, )));
    if (!r.w.dev->on_host) {
        test_skip("only the host's allocations can be made to fail");
        goto done;
    }
    params_freeze(r.p); /* forms of weights and folded norms are made then, too */
    for (bool failed = true; failed && n < 2000; n++) {
        alloc_fail_at(n);
        const var *y = run(&r, NET_EVAL, TAPE_INFERENCE, 1, 96, 96);
        failed = alloc_did_fail();
        alloc_fail_at(0);
        if (!failed) EXPECT(y);
        else if (!y && tape_status(r.w.t) != OK) EXPECT_STATUS(tape_status(r.w.t), ST_MEMORY);
    }
    EXPECT(n > 10);
    const size_t before = alloc_count();
    EXPECT(run(&r, NET_EVAL, TAPE_INFERENCE, 1, 96, 96));
    EXPECT_INT(alloc_count() - before, 1); /* the pictures of this test, and nothing else */
done:
    net_rig_close(&r);
}
