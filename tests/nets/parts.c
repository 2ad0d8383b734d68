/* parts.c - support and query in one pass, each normalised by its own statistics: what two passes compute. */
#include "tests/device.h"
#include "tests/nets/rig.h"
#include "tests/test.h"
#include <stdlib.h>

enum { FIRST = 2, ALL = 5 };

struct seen { /* what a step leaves behind; owned */
    double *features, *gradients, *running;
    size_t n_features, n_gradients, n_running;
};

static void seen_free(struct seen *s)
{
    free(s->features);
    free(s->gradients);
    free(s->running);
}

static double *random_numbers(size_t n, uint64_t stream)
{
    struct random r = {19, stream, 0};
    double *x = calloc(n, sizeof *x);
    for (size_t i = 0; x && i < n; i++) x[i] = random_normal(&r);
    return x;
}

static var *encode(struct net_rig *r, const double *x, size_t n, size_t side, size_t first)
{
    struct net_pass how = {.mode = NET_TRAIN, .first = first};
    return r->net->forward(r->w.t, &r->settings, r->p, &how, world_constant(&r->w, DIMS(n, 3, side, side), x));
}

/* All numbers of what is trained, or of what is not. */
static double *gather(struct net_rig *r, bool trained, size_t *count)
{
    *count = 0;
    for (size_t i = 0; i < params_count(r->p); i++)
        if (params_at(r->p, i)->trained == trained) *count += tensor_count(&params_at(r->p, i)->value);
    double *out = calloc(*count + 1, sizeof *out), *at = out;
    for (size_t i = 0; out && i < params_count(r->p); i++) {
        const struct param *p = params_at(r->p, i);
        if (p->trained != trained) continue;
        EXPECT(world_read(&r->w, trained ? &p->grad : &p->value, at));
        at += tensor_count(&p->value);
    }
    return out;
}

static bool step(const char *net, dtype type, enum maths maths, size_t side, bool together, struct seen *out)
{
    struct net_rig r;
    *out = (struct seen){0};
    if (!net_rig_open(&r, NULL, 2, type, net)) return false;
    r.w.dev->maths = maths;
    tape_reset(r.w.t, TAPE_TRAINING);
    const size_t picture = 3 * side * side;
    double *x = random_numbers(ALL * picture, 1), *dy = NULL;
    EXPECT(x && params_zero_grad(r.p) == OK);
    var *y = together && x ? encode(&r, x, ALL, side, FIRST) : NULL;
    if (!together && x) {
        var *support = encode(&r, x, FIRST, side, 0);
        var *query = encode(&r, x + FIRST * picture, ALL - FIRST, side, 0);
        y = op_concat(r.w.t, 2, (var *[]){support, query}, 0);
    }
    if (!y) test_failed(__FILE__, __LINE__, "%s: %s", net, error_text());
    if (y) {
        out->n_features = tensor_count(&y->value);
        out->features = calloc(out->n_features, sizeof *out->features);
        dy = random_numbers(out->n_features, 2);
        EXPECT(world_read(&r.w, &y->value, out->features) && world_back(&r.w, y, dy) == OK);
        out->gradients = gather(&r, true, &out->n_gradients);
        out->running = gather(&r, false, &out->n_running);
    }
    free(x);
    free(dy);
    net_rig_close(&r);
    return y != NULL;
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

static void compare(const char *net, dtype type, enum maths maths, size_t side, double most, double of_gradients)
{
    struct seen one, two;
    if (step(net, type, maths, side, true, &one) && step(net, type, maths, side, false, &two)) {
        EXPECT(one.n_features == two.n_features && one.n_gradients == two.n_gradients);
        const double f = apart(one.features, two.features, two.n_features);
        const double g = apart(one.gradients, two.gradients, two.n_gradients);
        const double m = apart(one.running, two.running, two.n_running);
        if (!(f < most && g < of_gradients && m < most))
            test_failed(__FILE__, __LINE__, "%s: features are %g apart, gradients %g, running statistics %g", net, f, g,
                        m);
        seen_free(&two);
    }
    seen_free(&one);
}

TEST(networks_normalise_two_parts_of_a_pass_as_two_passes)
{
    static const struct {
        const char *net;
        size_t side;
    } cases[] = {{"conv4", 21},       {"conv4-19", 20}, {"resnet12 widths=4,5,6,7", 33},
                 {"wrn widen=1", 20}, {"resnet18", 33}, {"mobilenetv2", 96}};
    const size_t count = UNDER_SANITIZER ? 4 : sizeof cases / sizeof *cases;
    for (size_t i = 0; i < count; i++) compare(cases[i].net, DT_F64, MATHS_F32, cases[i].side, 1e-9, 1e-9);
}

/* Convolutions may round otherwise where there are more pictures, which flips some activations. */
TEST(networks_in_bf16_normalise_two_parts_of_a_pass_as_two_passes)
{
    struct net_rig r;
    REQUIRE(net_rig_open(&r, NULL, 1, DT_F32, "conv4"));
    const bool knows = r.w.dev->maths_known >> MATHS_BF16 & 1;
    net_rig_close(&r);
    if (!knows) {
        test_skip("the device under test has no bf16");
        return;
    }
    compare("conv4", DT_F32, MATHS_BF16, 84, 0.02, 0.2);
    compare("resnet12", DT_F32, MATHS_BF16, 84, 0.02, 0.3);
}
