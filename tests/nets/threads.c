/* threads.c - networks there and back: features and gradients do not depend on the number of threads. Narrow ones, which have
 * every layer of those that are trained and are quick under a sanitizer too. */
#include "tests/device.h"
#include "tests/nets/rig.h"
#include "tests/test.h"
#include <stdlib.h>

enum { PICTURES = 3 };

/* Features and the gradients of all parameters, one behind the other; free() them. */
static double *there_and_back(const char *net, size_t side, size_t threads, size_t *count)
{
    struct net_rig r;
    struct random random = test_random();
    struct net_pass pass = {.mode = NET_TRAIN, .random = {3, 4, 0}};
    const size_t pixels = PICTURES * 3 * side * side;
    double *x = calloc(pixels, sizeof *x), *out = NULL;
    *count = 0;
    if (!x || !net_rig_open(&r, NULL, threads, DT_F32, net)) {
        free(x);
        return NULL;
    }
    for (size_t i = 0; i < pixels; i++) x[i] = random_normal(&random);
    EXPECT_OK(params_zero_grad(r.p));
    var *y = r.net->forward(r.w.t, &r.settings, r.p, &pass, world_constant(&r.w, DIMS(PICTURES, 3, side, side), x));
    const size_t features = y ? tensor_count(&y->value) : 0;
    EXPECT(features > 0 && features <= pixels);
    for (size_t i = 0; i < features; i++) x[i] = random_unit(&random) - 0.5; /* the gradient that goes back */
    if (y && features <= pixels) EXPECT_OK(world_back(&r.w, y, x));
    size_t all = features, at = features;
    for (size_t i = 0; i < params_count(r.p); i++) all += tensor_count(&params_at(r.p, i)->value);
    out = calloc(all, sizeof *out);
    if (out && y) EXPECT(world_read(&r.w, &y->value, out));
    for (size_t i = 0; out && i < params_count(r.p); at += tensor_count(&params_at(r.p, i++)->value))
        if (params_at(r.p, i)->trained) EXPECT(world_read(&r.w, &params_at(r.p, i)->grad, out + at));
    *count = all;
    net_rig_close(&r);
    free(x);
    return out;
}

TEST(networks_have_the_same_bits_for_any_number_of_threads_there_and_back)
{
    static const struct {
        const char *net;
        size_t side;
    } cases[] = {{"conv4 width=16", 40}, {"resnet12 widths=8,16,16,24", 84}, {"wrn widen=1", 32}};
    if (test_is_for_cpu()) return; /* elsewhere there are no threads of ours */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n, m;
        double *one = there_and_back(cases[i].net, cases[i].side, 1, &n);
        double *three = there_and_back(cases[i].net, cases[i].side, 3, &m);
        REQUIRE(one && three && n == m);
        size_t moved = 0;
        for (size_t k = 0; k < n; k++) moved += one[k] != 0 && isfinite(one[k]);
        EXPECT(moved > n / 2);
        if (memcmp(one, three, n * sizeof *one))
            test_failed(__FILE__, __LINE__, "%s: three threads give other numbers than one", cases[i].net);
        free(one);
        free(three);
    }
}
