/* maths.c - networks in tf32 and bf16 beside the same in f32, on a device that has them. */
#include "tests/device.h"
#include "tests/nets/rig.h"
#include "tests/test.h"
#include <stdlib.h>
#include <string.h>

struct seen { /* everything that a training pass leaves behind; owned */
    double *features, *gradients, *means;
    size_t n_features, n_gradients, n_means;
    size_t parts, part[64]; /* the numbers of each parameter, one behind the other in `gradients` */
};

static double *random_numbers(size_t n, uint64_t stream)
{
    struct random r = {11, stream, 0};
    double *x = calloc(n, sizeof *x);
    for (size_t i = 0; x && i < n; i++) x[i] = random_normal(&r);
    return x;
}

static double *all_gradients(struct net_rig *r, struct seen *s)
{
    s->n_gradients = s->parts = 0;
    for (size_t i = 0; i < params_count(r->p); i++) {
        const struct param *p = params_at(r->p, i);
        if (!p->trained || s->parts == sizeof s->part / sizeof *s->part) continue;
        s->part[s->parts++] = tensor_count(&p->value);
        s->n_gradients += tensor_count(&p->value);
    }
    double *out = calloc(s->n_gradients, sizeof *out), *at = out;
    for (size_t i = 0; out && i < params_count(r->p); i++) {
        const struct param *p = params_at(r->p, i);
        if (!p->trained) continue;
        EXPECT(world_read(&r->w, &p->grad, at));
        at += tensor_count(&p->grad);
    }
    return out;
}

static bool pass(const char *net, enum maths maths, enum net_mode mode, size_t n, size_t side, struct seen *out)
{
    struct net_rig r;
    struct net_pass how = {.mode = mode};
    bool good = false;
    memset(out, 0, sizeof *out);
    if (!net_rig_open(&r, NULL, 1, DT_F32, net)) return false;
    double *x = random_numbers(n * 3 * side * side, 1), *dy = NULL;
    r.w.dev->maths = maths;
    tape_reset(r.w.t, mode == NET_EVAL ? TAPE_INFERENCE : TAPE_TRAINING);
    var *y = x ? r.net->forward(r.w.t, &r.settings, r.p, &how, world_constant(&r.w, DIMS(n, 3, side, side), x)) : NULL;
    if (!y || tape_status(r.w.t) != OK) {
        test_failed(__FILE__, __LINE__, "%s in %s: %s", net, maths_name(maths), error_text());
        goto done;
    }
    out->n_features = tensor_count(&y->value);
    out->features = calloc(out->n_features, sizeof *out->features);
    dy = random_numbers(out->n_features, 2);
    good = out->features && dy && world_read(&r.w, &y->value, out->features);
    if (good && mode != NET_EVAL) {
        EXPECT(params_zero_grad(r.p) == OK);
        good = world_back(&r.w, y, dy) == OK;
        if (!good) test_failed(__FILE__, __LINE__, "%s in %s, backward: %s", net, maths_name(maths), error_text());
        out->gradients = all_gradients(&r, out);
        out->means = net_rig_gather(&r, "running_mean", &out->n_means);
    }
done:
    free(x);
    free(dy);
    net_rig_close(&r);
    return good;
}

static void seen_free(struct seen *s)
{
    free(s->features);
    free(s->gradients);
    free(s->means);
}

/* |a - b| / |b| */
static double apart(const double *a, const double *b, size_t n)
{
    double difference = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        difference += (a[i] - b[i]) * (a[i] - b[i]);
        size += b[i] * b[i];
    }
    return sqrt(difference / size);
}

/* The least cosine between the gradients of one parameter: a layer whose derivative is wrong has one near 0, however
 * little of the whole it is. */
static double least_cosine(const struct seen *a, const struct seen *b)
{
    double least = 1;
    for (size_t i = 0, at = 0; i < a->parts; at += a->part[i++]) {
        double aa = 0, bb = 0, ab = 0;
        for (size_t k = at; k < at + a->part[i]; k++) {
            aa += a->gradients[k] * a->gradients[k];
            bb += b->gradients[k] * b->gradients[k];
            ab += a->gradients[k] * b->gradients[k];
        }
        least = fmin(least, ab / sqrt(aa * bb));
    }
    return least;
}

static bool device_knows(enum maths maths)
{
    struct net_rig r;
    if (!net_rig_open(&r, NULL, 1, DT_F32, "conv4")) return false;
    const bool knows = r.w.dev->maths_known >> maths & 1;
    net_rig_close(&r);
    if (!knows) test_skip("the device under test has no such maths");
    return knows;
}

/* Rounding flips some activations and choices of pooling, hence gradients differ by more than features. PyTorch's autocast to
 * bf16 on the same networks and sizes is 0.17 (Conv-4) and 0.31 (ResNet-12) apart from f32, with a least cosine of 0.91. */
static void compare(enum maths maths, double of_features, double of_gradients, double cosine)
{
    static const struct {
        const char *net;
        size_t n, side;
    } cases[] = {{"conv4", 8, 84}, {"conv4", 3, 37}, {"conv4-19", 4, 40}, {"resnet12", 6, 84}, {"resnet12", 5, 50}};
    if (!device_knows(maths)) return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int mode = NET_TRAIN; mode <= NET_EVAL; mode++) {
            struct seen exact, close;
            const bool both = pass(cases[i].net, MATHS_F32, (enum net_mode)mode, cases[i].n, cases[i].side, &exact) &&
                              pass(cases[i].net, maths, (enum net_mode)mode, cases[i].n, cases[i].side, &close);
            EXPECT(both);
            if (!both) return;
            const double f = apart(close.features, exact.features, exact.n_features);
            if (!(f < of_features))
                test_failed(__FILE__, __LINE__, "%s, side %zu, mode %d: features are %g apart", cases[i].net,
                            cases[i].side, mode, f);
            if (exact.gradients && close.gradients) { /* frozen statistics stay 0: nothing to compare */
                const double g = apart(close.gradients, exact.gradients, exact.n_gradients);
                const double m = mode == NET_TRAIN ? apart(close.means, exact.means, exact.n_means) : 0;
                const double c = least_cosine(&close, &exact);
                if (!(g < of_gradients && m < of_features && c > cosine))
                    test_failed(__FILE__, __LINE__,
                                "%s, side %zu: gradients are %g apart, the least cosine %g, running means %g",
                                cases[i].net, cases[i].side, g, c, m);
            }
            seen_free(&exact);
            seen_free(&close);
        }
}

TEST(networks_in_bf16_stay_close_to_f32) { compare(MATHS_BF16, 0.03, 0.4, 0.8); }

TEST(networks_in_tf32_stay_close_to_f32) { compare(MATHS_TF32, 0.004, 0.13, 0.95); }

TEST(a_device_refuses_maths_that_it_does_not_have)
{
    struct net_rig r;
    if (test_is_for_cpu()) return;
    REQUIRE(net_rig_open(&r, NULL, 1, DT_F32, "conv4"));
    EXPECT(device_set_maths(r.w.dev, "bf16") == ST_UNSUPPORTED);
    EXPECT_TEXT(error_text(), "device cpu cannot compute in bf16; use f32");
    EXPECT(device_set_maths(r.w.dev, "f16") == ST_USAGE);
    EXPECT_TEXT(error_text(), "there are no maths 'f16'; there are f32, tf32 and bf16");
    EXPECT(device_set_maths(r.w.dev, "f32") == OK);
    net_rig_close(&r);
}
