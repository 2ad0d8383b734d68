/* nets.c - what each network promises whatever its weights: sizes, counts, start values, modes, errors in words. */
#include "tests/nets/rig.h"
#include "tests/test.h"
#include <stdlib.h>

static size_t numbers(struct net_rig *r, bool trained)
{
    size_t n = 0;
    for (size_t i = 0; i < params_count(r->p); i++)
        if (params_at(r->p, i)->trained == trained) n += tensor_count(&params_at(r->p, i)->value);
    return n;
}

TEST(networks_have_the_released_numbers_of_parameters)
{
    static const struct {
        const char *net;
        size_t trained, tensors, channels;
    } cases[] = {{"conv4", 112832, 20, 64},
                 {"conv4-19", 112704, 16, 64},
                 {"resnet12", 12424320, 80, 640},
                 {"resnet18", 11176512, 100, 512}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct net_rig r;
        if (!net_rig_open(&r, NULL, 1, DT_F32, cases[i].net)) continue;
        EXPECT_INT(numbers(&r, true), cases[i].trained);
        EXPECT_INT(params_count(r.p), cases[i].tensors);
        EXPECT_INT(r.net->channels(&r.settings), cases[i].channels);
        net_rig_close(&r);
    }
}

/* Largest and root mean square of a parameter. */
static void measure(struct net_rig *r, const char *name, double *largest, double *rms)
{
    const struct param *p = params_find(r->p, name);
    *largest = *rms = (double)NAN;
    REQUIRE(p);
    const size_t n = tensor_count(&p->value);
    double *x = calloc(n, sizeof *x);
    REQUIRE(x);
    EXPECT(world_read(&r->w, &p->value, x));
    *largest = *rms = 0;
    for (size_t i = 0; i < n; i++) {
        *largest = fmax(*largest, fabs(x[i]));
        *rms += x[i] * x[i] / (double)n;
    }
    *rms = sqrt(*rms);
    free(x);
}

TEST(start_values_follow_the_released_rules)
{
    struct net_rig r;
    double largest, rms;
    REQUIRE(net_rig_open(&r, NULL, 1, DT_F32, "conv4"));
    measure(&r, "layer2.0.weight", &largest, &rms); /* Xavier */
    EXPECT(largest <= 0.0721688 && largest > 0.0721);
    EXPECT_NEAR(rms, 0.0721688 / sqrt(3), 0.0005);
    measure(&r, "layer2.1.weight", &largest, &rms);
    EXPECT(largest == 1 && rms == 1);
    measure(&r, "layer2.1.running_var", &largest, &rms);
    EXPECT(largest == 1 && rms == 1);
    measure(&r, "layer2.1.bias", &largest, &rms);
    EXPECT(largest == 0);
    net_rig_close(&r);
    REQUIRE(net_rig_open(&r, NULL, 1, DT_F32, "resnet12"));
    measure(&r, "layer1.0.conv2.weight", &largest, &rms); /* Kaiming */
    EXPECT_NEAR(rms, sqrt(2.0 / (64 * 9)), 0.001);
    EXPECT(largest > 3 * rms);
    net_rig_close(&r);
}

static var *run(struct net_rig *r, enum net_mode mode, uint64_t calls, size_t side)
{
    struct net_pass how = {.mode = mode, .random = {3, 4, 0}, .calls = calls};
    struct random noise = {5, 6, 0};
    const size_t n = 2 * 3 * side * side;
    double *x = calloc(n, sizeof *x);
    for (size_t i = 0; x && i < n; i++) x[i] = random_normal(&noise);
    var *pictures = x ? world_constant(&r->w, DIMS(2, 3, side, side), x) : NULL;
    free(x);
    return r->net->forward(r->w.t, &r->settings, r->p, &how, pictures);
}

static bool same(struct net_rig *r, const var *a, const var *b)
{
    static double x[20000], y[20000];
    if (!a || !b || tensor_count(&a->value) > 20000 || !tensor_same_shape(&a->value, &b->value)) return false;
    return world_read(&r->w, &a->value, x) && world_read(&r->w, &b->value, y) &&
           !memcmp(x, y, tensor_count(&a->value) * sizeof *x);
}

static bool open_small_resnet(struct net_rig *r, const char *drop)
{
    if (!net_rig_open(r, NULL, 2, DT_F32, "conv4")) return false;
    params_free(r->p);
    r->p = params_new(r->w.dev);
    status st = net_find("resnet12", &r->net);
    options_default(r->net->options, &r->settings);
    if (st == OK) st = option_set(r->net->options, "--net.", "widths", "4,5,6,7", &r->settings);
    if (st == OK) st = option_set(r->net->options, "--net.", "drop", drop, &r->settings);
    if (st == OK) st = r->net->params(&r->settings, DT_F32, &(struct random){1, 1, 0}, r->p);
    EXPECT_OK(st);
    return st == OK;
}

TEST(resnet12_drops_in_training_only_and_more_as_calls_go_by)
{
    struct net_rig r;
    REQUIRE(open_small_resnet(&r, "0.1"));
    var *eval = run(&r, NET_EVAL, 0, 84), *again = run(&r, NET_EVAL, 90000, 84), *frozen = run(&r, NET_FROZEN, 0, 84);
    REQUIRE(eval && again && frozen);
    EXPECT_DIMS(eval->value, 2, 7, 5, 5);
    EXPECT(same(&r, eval, again) && same(&r, eval, frozen)); /* nothing drawn, no statistics changed */
    var *first = run(&r, NET_TRAIN, 0, 84), *repeat = run(&r, NET_TRAIN, 0, 84), *late = run(&r, NET_TRAIN, 40000, 84);
    REQUIRE(first && repeat && late);
    EXPECT(same(&r, first, repeat)); /* the same stream */
    EXPECT(!same(&r, first, late) && !same(&r, first, eval));
    EXPECT(!run(&r, NET_TRAIN, 0, 48)); /* a square of 5 does not fit 3 x 3 */
    EXPECT_STATUS(tape_status(r.w.t), ST_SHAPE);
    net_rig_close(&r);
}

/* A block's maps need the memory of two, and of the input; on a training tape each of some thirty has its own. */
TEST(networks_use_memory_again_in_inference)
{
    static const struct {
        const char *name;
        size_t side;
    } nets[] = {{"resnet12", 32}, {"wrn widen=2", 32}, {"mobilenetv2", 96}};
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        struct net_rig r;
        if (!net_rig_open(&r, NULL, 2, DT_F32, nets[i].name)) continue;
        size_t used[2];
        for (int mode = TAPE_INFERENCE; mode <= TAPE_TRAINING; mode++) {
            tape_reset(r.w.t, (enum tape_mode)mode);
            REQUIRE(run(&r, NET_EVAL, 0, nets[i].side));
            used[mode] = tape_bytes_used(r.w.t);
        }
        EXPECT(used[TAPE_INFERENCE] * 5 < used[TAPE_TRAINING] * 2);
        net_rig_close(&r);
    }
}

/* A batch goes through a network in parts, and its products are cut otherwise than those of one picture. */
TEST(a_picture_has_the_same_features_alone_and_among_others)
{
    enum { PICTURES = UNDER_SANITIZER ? 5 : 7, MOST_SIDE = 96, MOST = 1 << 17 };
    static const char *const names[] = {"conv4", "mobilenetv2", "resnet12"};
    static const size_t sides[] = {40, MOST_SIDE, 40};
    static double pictures[PICTURES * 3 * MOST_SIDE * MOST_SIDE], all[MOST], one[MOST];
    struct random random = test_random();
    struct net_pass pass = {.mode = NET_EVAL};
    for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++) pictures[i] = random_unit(&random) - 0.5;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const size_t side = sides[i], numbers = 3 * side * side;
        struct net_rig r;
        if (!net_rig_open(&r, NULL, 2, DT_F32, names[i])) continue;
        if (!r.w.dev->on_host) { /* a GPU's products may depend on their number */
            net_rig_close(&r);
            continue;
        }
        for (size_t k = 0; k <= PICTURES; k++) { /* all of them, then each */
            tape_reset(r.w.t, TAPE_INFERENCE);
            var *x = world_constant(&r.w, DIMS(k ? 1 : PICTURES, 3, side, side),
                                    pictures + (k ? (k - 1) * numbers : 0));
            const var *y = r.net->forward(r.w.t, &r.settings, r.p, &pass, x);
            REQUIRE(y && tensor_count(&y->value) <= MOST && world_read(&r.w, &y->value, k ? one : all));
            const size_t n = tensor_count(&y->value);
            if (k && memcmp(one, all + (k - 1) * n, n * sizeof *one))
                test_failed(__FILE__, __LINE__, "%s: picture %zu has other features alone", names[i], k - 1);
        }
        net_rig_close(&r);
    }
}

/* Folded convolutions on an inference tape against norms of their own on a training tape, with running statistics that a
 * batch has moved. */
TEST(networks_fold_their_norms_in_inference_only)
{
    static const char *const names[] = {"conv4", "conv4-19", "resnet12", "wrn widen=2"};
    static double folded[40000], apart[40000];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct net_rig r;
        if (!net_rig_open(&r, NULL, 2, DT_F64, names[i])) continue;
        REQUIRE(run(&r, NET_TRAIN, 0, 32));
        var *y = run(&r, NET_EVAL, 0, 32);
        REQUIRE(y && world_read(&r.w, &y->value, apart));
        const size_t n = tensor_count(&y->value);
        tape_reset(r.w.t, TAPE_INFERENCE);
        y = run(&r, NET_EVAL, 0, 32);
        REQUIRE(y && n <= 40000 && world_read(&r.w, &y->value, folded));
        for (size_t k = 0; k < n; k++) EXPECT_NEAR(folded[k], apart[k], 1e-9 * (1 + fabs(apart[k])));
        net_rig_close(&r);
    }
}

TEST(networks_refuse_in_words)
{
    struct net_rig r;
    const struct net *net;
    EXPECT_STATUS(net_find("resnet21", &net), ST_USAGE);
    EXPECT_TEXT(error_text(), "there is no network 'resnet21'; did you mean 'resnet12'?");
    REQUIRE(net_rig_open(&r, NULL, 1, DT_F32, "conv4"));
    struct net_pass how = {.mode = NET_EVAL};
    var *gray = world_constant(&r.w, DIMS(1, 1, 2, 2), NUMBERS(1, 2, 3, 4));
    EXPECT(!r.net->forward(r.w.t, &r.settings, r.p, &how, gray));
    EXPECT_STATUS(tape_status(r.w.t), ST_SHAPE);
    EXPECT_TEXT(error_text(),
                "conv4 needs pictures [n, 3, height, width] of at least 16 x 16 pixels, not [1, 1, 2, 2]");
    struct { /* larger than any settings */
        int64_t words[16];
    } settings = {{0}};
    REQUIRE(net_find("resnet12", &net) == OK);
    options_default(net->options, &settings);
    EXPECT_OK(option_set(net->options, "--net.", "widths", "64,160,320", &settings));
    EXPECT_STATUS(net->params(&settings, DT_F32, &(struct random){0}, r.p), ST_USAGE);
    EXPECT_TEXT(error_text(),
                "widths is '64,160,320', but must be four numbers from 1 to 4096 with commas: 64,160,320,640");
    REQUIRE(net_find("wrn", &net) == OK);
    options_default(net->options, &settings);
    EXPECT_OK(option_set(net->options, "--net.", "depth", "27", &settings));
    EXPECT_STATUS(net->params(&settings, DT_F32, &(struct random){0}, r.p), ST_USAGE);
    EXPECT_TEXT(error_text(), "depth is 27, but must be 6 n + 4: 10, 16, 22, 28, 34, ...");
    net_rig_close(&r);
}

TEST(the_table_of_networks_is_sorted)
{
    for (size_t i = 0; net_table[i] && net_table[i + 1]; i++)
        EXPECT(strcmp(net_table[i]->name, net_table[i + 1]->name) < 0);
}
