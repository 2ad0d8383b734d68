/* conv_threads.c - convolutions of large layers: the same bits with any number of threads, nothing allocated the second
 * time, memory for every worker, and the same numbers by both methods. */
#include "tests/cpu/prims_rig.h"
#include <stdlib.h>

enum { RESULTS = 4, STEPS = 2 };

struct layer {
    const char *name;
    size_t n, side, in, out;
    enum cpu_conv how;
    bool pool; /* what conv2d_affine writes */
};

/* Each way that shapes choose: blocks of tiles, shared spectra, few channels, products row by row, panel by panel. */
static const struct layer layers[] = {
    {"many tiles", 5, 42, 20, 40, CPU_CONV_AUTO, false},   {"many tiles, pooled", 5, 42, 20, 40, CPU_CONV_AUTO, true},
    {"few tiles", 3, 14, 48, 200, CPU_CONV_AUTO, false},   {"few tiles, pooled", 3, 15, 48, 200, CPU_CONV_AUTO, true},
    {"a first layer", 3, 40, 3, 64, CPU_CONV_AUTO, false}, {"a first layer, pooled", 3, 41, 3, 64, CPU_CONV_AUTO, true},
    {"direct", 3, 21, 20, 40, CPU_CONV_DIRECT, false},     {"direct, pooled", 3, 21, 20, 40, CPU_CONV_DIRECT, true},
    {"by panels", 3, 14, 48, 200, CPU_CONV_PANELS, false}, {"by panels, pooled", 2, 15, 33, 70, CPU_CONV_PANELS, true}};

struct results { /* y, y of conv2d_affine, dx, dw */
    tensor t[RESULTS];
};

static tensor numbers(arena *a, struct random *r, int rank, const size_t *dim)
{
    tensor x;
    void *memory = NULL;
    EXPECT_OK(tensor_make(&x, DT_F32, rank, dim, NULL));
    if (arena_take(a, tensor_bytes(&x), 1, &memory) != OK) abort(); /* a test without memory cannot go on */
    x.data = memory;
    for (size_t i = 0; i < tensor_count(&x); i++) ((float *)x.data)[i] = (float)random_unit(r) - 0.5F;
    return x;
}

static void run_layer(const struct layer *l, size_t threads, arena *a, struct results *out)
{
    struct random r = test_random();
    pool *p = NULL;
    struct device *d = NULL;
    const struct kernels *kernels = NULL;
    const struct conv_shape s = {1, 1};
    tensor x = numbers(a, &r, DIMS(l->n, l->side, l->side, l->in)), w = numbers(a, &r, DIMS(l->out, l->in, 3, 3));
    tensor dy = numbers(a, &r, DIMS(l->n, l->side, l->side, l->out)), scale = numbers(a, &r, DIMS(l->out));
    const struct conv_affine_args affine = {
        .x = &x, .w = &w, .shape = s, .scale = &scale, .shift = &scale, .slope = 0.1, .pool = l->pool};
    for (int i = 0; i < RESULTS; i++) out->t[i] = numbers(a, &r, 4, i < 2 ? dy.dim : i == 2 ? x.dim : w.dim);
    EXPECT_OK(kernels_choose(NULL, &kernels));
    EXPECT_OK(pool_new(threads, &p));
    EXPECT_OK(cpu_open(p, kernels, &d));
    cpu_of(d)->conv = l->how;
    for (int step = 0; step < STEPS; step++) {
        const size_t before = alloc_count();
        EXPECT_OK(d->prim[DT_F32].conv2d(d, &x, &w, s, &out->t[0]));
        EXPECT_OK(d->prim[DT_F32].conv2d_affine(d, &affine, &out->t[1]));
        EXPECT_OK(d->prim[DT_F32].conv2d_grad_x(d, &w, NULL, &dy, s, step == 0, &out->t[2]));
        EXPECT_OK(d->prim[DT_F32].conv2d_grad_w(d, &x, &dy, s, &out->t[3]));
        if (step && alloc_count() != before)
            test_failed(__FILE__, __LINE__, "%s: %zu allocations with %zu threads", l->name, alloc_count() - before,
                        threads);
    }
    d->close(d);
    pool_free(p);
}

TEST(convolutions_have_the_same_bits_with_any_number_of_threads_and_settle_their_memory)
{
    static const size_t threads[] = {1, 2, 3, 8};
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        arena *a = arena_new(1 << 20);
        struct results first, other;
        for (size_t k = 0; k < sizeof threads / sizeof *threads; k++) {
            run_layer(&layers[i], threads[k], a, k ? &other : &first);
            for (int t = 0; k && t < RESULTS; t++)
                if (memcmp(first.t[t].data, other.t[t].data, tensor_bytes(&first.t[t])))
                    test_failed(__FILE__, __LINE__, "%s: result %d has other bits with %zu threads than with 1",
                                layers[i].name, t, threads[k]);
        }
        arena_free(a);
    }
}

enum { FORWARD, AFFINE, GRAD_X, GRAD_W, CALLS };

static status call_once(struct device *d, const struct layer *l, int call, arena *a)
{
    struct random r = test_random();
    const struct conv_shape s = {1, 1};
    const struct prims *p = &d->prim[DT_F32];
    tensor x = numbers(a, &r, DIMS(l->n, l->side, l->side, l->in)), w = numbers(a, &r, DIMS(l->out, l->in, 3, 3));
    tensor y = numbers(a, &r, DIMS(l->n, l->side, l->side, l->out)), scale = numbers(a, &r, DIMS(l->out));
    const struct conv_affine_args affine = {
        .x = &x, .w = &w, .shape = s, .scale = &scale, .shift = &scale, .slope = 0.1};
    switch (call) {
    case FORWARD: return p->conv2d(d, &x, &w, s, &y);
    case AFFINE: return p->conv2d_affine(d, &affine, &y);
    case GRAD_X: return p->conv2d_grad_x(d, &w, NULL, &y, s, false, &x);
    default: return p->conv2d_grad_w(d, &x, &y, s, &w);
    }
}

/* Which worker runs a piece is chance, so a call gives all of them their memory, also those that had nothing to do: more
 * than there are pieces here. Each on a device of its own, as others may have taken more before. */
TEST(convolutions_give_every_worker_its_memory_before_they_run)
{
    enum { THREADS = 64 };
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        for (int call = 0; call < CALLS; call++) {
            struct layer l = layers[i];
            pool *p = NULL;
            struct device *d = NULL;
            const struct kernels *kernels = NULL;
            arena *a = arena_new(1 << 20);
            size_t least = SIZE_MAX, most = 0;
            l.n = 1;
            EXPECT_OK(kernels_choose(NULL, &kernels));
            EXPECT_OK(pool_new(THREADS, &p));
            EXPECT_OK(cpu_open(p, kernels, &d));
            cpu_of(d)->conv = l.how;
            EXPECT_OK(call_once(d, &l, call, a));
            for (size_t k = 0; k < THREADS; k++) {
                least = least < cpu_of(d)->scratch[k].bytes ? least : cpu_of(d)->scratch[k].bytes;
                most = most > cpu_of(d)->scratch[k].bytes ? most : cpu_of(d)->scratch[k].bytes;
            }
            if (least != most || (l.in == 3 && call == GRAD_W && most == 0)) /* that of a first layer needs some */
                test_failed(__FILE__, __LINE__, "%s, call %d: a worker has %zu bytes, another %zu", l.name, call, least,
                            most);
            d->close(d);
            pool_free(p);
            arena_free(a);
        }
}

/* Spectra of all weights at once, of one panel's at a time, and frozen ones; several groups of tiles in the last layer, and
 * outputs that fill no panel. */
TEST(weights_made_panel_by_panel_give_the_same_bits)
{
    static const struct layer all[] = {{"one panel", 2, 9, 5, 3, CPU_CONV_WINOGRAD, false},
                                       {"three and a part", 3, 14, 48, 100, CPU_CONV_WINOGRAD, false},
                                       {"pooled", 2, 15, 33, 70, CPU_CONV_WINOGRAD, true},
                                       {"many tiles", 1, 60, 1200, 20, CPU_CONV_WINOGRAD, false}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        arena *a = arena_new(1 << 20);
        struct layer by_panels = all[i];
        struct results at_once, panel;
        by_panels.how = CPU_CONV_PANELS;
        run_layer(&all[i], 2, a, &at_once);
        run_layer(&by_panels, 2, a, &panel);
        for (int t = 0; t < RESULTS - 1; t++) /* dw has no such weights */
            if (memcmp(at_once.t[t].data, panel.t[t].data, tensor_bytes(&panel.t[t])))
                test_failed(__FILE__, __LINE__, "%s: result %d has other bits", all[i].name, t);
        arena_free(a);
    }
}

/* So many channels that a layer's spectra come in groups. */
TEST(convolutions_of_many_channels_agree_by_both_methods)
{
    const struct layer by_products = {"products", 1, 56, 700, 8, CPU_CONV_DIRECT, false};
    struct layer by_winograd = by_products;
    struct results one, other;
    arena *a = arena_new(1 << 20);
    by_winograd.how = CPU_CONV_WINOGRAD;
    run_layer(&by_products, 2, a, &one);
    run_layer(&by_winograd, 2, a, &other);
    for (int t = 0; t < RESULTS; t++) {
        const float *x = one.t[t].data, *y = other.t[t].data;
        float most = 0, apart = 0;
        for (size_t i = 0; i < tensor_count(&one.t[t]); i++) {
            most = fmaxf(most, fabsf(x[i]));
            apart = fmaxf(apart, fabsf(x[i] - y[i]));
        }
        if (!(apart < 1e-5F * most))
            test_failed(__FILE__, __LINE__, "result %d: %g apart, of %g", t, (double)apart, (double)most);
    }
    arena_free(a);
}
