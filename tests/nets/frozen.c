/* frozen.c - networks whose weights are frozen: the same bits, other weights after every change, nothing kept too long. */
#include "tests/nets/rig.h"
#include "tests/test.h"
#include "train/optimiser.h"
#include <stdlib.h>

enum { SIDE = 40, PICTURES = UNDER_SANITIZER ? 1 : 3, MOST = 1 << 18 };

static double features[2][MOST];

/* Encodes the same pictures; how many numbers they give. */
static size_t encode(struct net_rig *r, double *out)
{
    static double pictures[PICTURES * 3 * SIDE * SIDE];
    struct random random = test_random();
    struct net_pass pass = {.mode = NET_EVAL};
    for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++) pictures[i] = random_unit(&random) - 0.5;
    tape_reset(r->w.t, TAPE_INFERENCE);
    var *x = world_constant(&r->w, DIMS(PICTURES, 3, SIDE, SIDE), pictures);
    const var *y = r->net->forward(r->w.t, &r->settings, r->p, &pass, x);
    EXPECT_OK(tape_status(r->w.t));
    const size_t n = y ? tensor_count(&y->value) : 0;
    EXPECT(n > 0 && n <= MOST);
    if (n && n <= MOST) EXPECT(world_read(&r->w, &y->value, out));
    return n <= MOST ? n : 0;
}

static size_t forms(const struct net_rig *r)
{
    size_t n = 0;
    for (size_t i = 0; i < params_count(r->p); i++) n += params_at(r->p, i)->ready.memory != NULL;
    return n;
}

static void expect_same(struct net_rig *r, const char *net)
{
    const size_t n = encode(r, features[1]);
    if (memcmp(features[0], features[1], n * sizeof *features[0]))
        test_failed(__FILE__, __LINE__, "%s: frozen weights give other numbers", net);
}

TEST(frozen_networks_have_the_same_bits)
{
    static const char *const nets[] = {"conv4", "conv4-19", "resnet12", "wrn widen=2"};
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        struct net_rig r;
        if (!net_rig_open(&r, NULL, 2, DT_F32, nets[i])) continue;
        encode(&r, features[0]);
        EXPECT_INT(forms(&r), 0); /* before they are frozen, nothing is kept */
        params_freeze(r.p);
        expect_same(&r, nets[i]);
        expect_same(&r, nets[i]);
        if (r.w.dev->on_host) EXPECT(forms(&r) > 0);
        params_thaw(r.p);
        EXPECT_INT(forms(&r), 0);
        expect_same(&r, nets[i]);
        net_rig_close(&r);
    }
}

/* Forms are made for the maths in use; another choice of maths does not take them. */
TEST(frozen_networks_have_the_same_bits_in_every_maths)
{
    static const enum maths in[] = {MATHS_BF16, MATHS_TF32, MATHS_F32};
    struct net_rig r;
    REQUIRE(net_rig_open(&r, NULL, 1, DT_F32, "resnet12"));
    r.w.dev->deterministic = true;
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < 3; k++) {
            if (!(r.w.dev->maths_known >> in[i] & r.w.dev->maths_known >> in[k] & 1)) {
                test_skip("the device under test has no such maths");
                goto done;
            }
            r.w.dev->maths = in[k];
            params_thaw(r.p);
            encode(&r, features[0]);
            params_freeze(r.p);
            r.w.dev->maths = in[i];
            encode(&r, features[1]); /* makes the forms */
            EXPECT(forms(&r) > 0 || in[i] == MATHS_F32);
            r.w.dev->maths = in[k];
            expect_same(&r, maths_name(in[k]));
        }
    }
done:
    net_rig_close(&r);
}

/* One step of learning from gradients of 1. */
static void learn(struct net_rig *r)
{
    static const struct optimiser_settings sgd = {.kind = OPTIMISER_SGD};
    struct optimiser *o = NULL;
    struct device *d = params_device(r->p);
    EXPECT_OK(optimiser_new(r->p, &sgd, &o));
    for (size_t i = 0; i < params_count(r->p); i++) {
        struct param *e = params_at(r->p, i);
        if (e->trained) EXPECT_OK(PRIM_CALL(d, e->value.type, fill, (d, 1, &e->grad)));
    }
    if (o) EXPECT_OK(optimiser_step(o, 0.01));
    optimiser_free(o);
}

TEST(frozen_weights_that_learn_are_used_as_they_are_then)
{
    struct net_rig r, never;
    REQUIRE(net_rig_open(&r, NULL, 2, DT_F32, "conv4"));
    if (!net_rig_open(&never, NULL, 2, DT_F32, "conv4")) goto done;
    learn(&never);
    const size_t n = encode(&never, features[0]);
    params_freeze(r.p);
    encode(&r, features[1]);
    EXPECT(memcmp(features[0], features[1], n * sizeof *features[0]) != 0);
    learn(&r);
    expect_same(&r, "conv4");
    net_rig_close(&never);
done:
    net_rig_close(&r);
}

TEST(frozen_weights_on_a_training_tape_are_plain_parameters)
{
    struct net_rig r;
    struct net_pass pass = {.mode = NET_EVAL};
    static double pictures[3 * SIDE * SIDE];
    REQUIRE(net_rig_open(&r, NULL, 1, DT_F32, "conv4"));
    params_freeze(r.p);
    tape_reset(r.w.t, TAPE_TRAINING);
    EXPECT(r.net->forward(r.w.t, &r.settings, r.p, &pass, world_constant(&r.w, DIMS(1, 3, SIDE, SIDE), pictures)));
    EXPECT_INT(forms(&r), 0);
    net_rig_close(&r);
}
