/* golden_pool.c - the centrality plug-in against recorded runs: pooled vectors, weights, and the gradient of a linear
 * functional of the pooled vectors, through features and weights. */
#include "heads/pool.h"
#include "tests/heads/case.h"
#include "tests/heads/rig.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

struct pooling {
    struct npy support, support_labels, query, functional_query, functional_support;
};

static bool pooling_read(const struct golden *g, struct pooling *in)
{
    *in = (struct pooling){0};
    return golden_read(g, "support.npy", &in->support) && golden_read(g, "support_labels.npy", &in->support_labels) &&
           golden_read(g, "query.npy", &in->query) && golden_read(g, "functional_query.npy", &in->functional_query) &&
           golden_read(g, "functional_support.npy", &in->functional_support);
}

static void pooling_free(struct pooling *in)
{
    npy_free(&in->support);
    npy_free(&in->support_labels);
    npy_free(&in->query);
    npy_free(&in->functional_query);
    npy_free(&in->functional_support);
}

static int mode_of(const struct golden *g)
{
    const struct json *mask = json_member(json_member(g->about, "options"), "mask");
    char name[32] = "";
    if (mask && mask->string) snprintf(name, sizeof name, "mcl-%s", mask->string);
    for (int i = 0; pool_mode_names[i]; i++)
        if (!strcmp(pool_mode_names[i], name)) return i;
    test_failed(__FILE__, __LINE__, "%s: there is no pool mode '%s'", g->name, name);
    return POOL_MEAN;
}

static void expect_tensor(const struct golden *g, struct world *w, const char *file, const tensor *x)
{
    const size_t n = tensor_count(x);
    double *seen = calloc(n ? n : 1, sizeof *seen);
    if (seen && world_read(w, x, seen)) golden_expect(g, file, seen, n);
    else test_failed(__FILE__, __LINE__, "%s: %s cannot be read", g->name, file);
    free(seen);
}

static var *weigh(struct world *w, var *x, const double *weight)
{
    if (!x) return NULL;
    const unsigned all = (1u << x->value.rank) - 1;
    return op_sum(w->t, op_mul(w->t, x, world_constant(w, x->value.rank, x->value.dim, weight)), all, DROP_AXES);
}

static var *class_maps(struct world *w, const struct pooling *in, var *support)
{
    int32_t labels[256];
    size_t way = 0;
    if (in->support_labels.count > 256) return NULL;
    for (size_t i = 0; i < in->support_labels.count; i++) {
        labels[i] = (int32_t)((int64_t *)in->support_labels.data)[i];
        if ((size_t)labels[i] >= way) way = (size_t)labels[i] + 1;
    }
    return op_class_mean(w->t, support, op_labels(w->t, labels, in->support_labels.count, way), way);
}

static void pool_case(const struct golden *g, const struct pooling *in)
{
    struct world w;
    struct pooled out = {0}, both = {0};
    struct pool_settings s = {
        mode_of(g),
        {golden_number(g, "gamma", 20), golden_number(g, "beta", 10), golden_number(g, "alpha", 0.999), WALK_AUTO},
        false};
    REQUIRE(rig_open(&w, g->isa, 2, g->type));
    const size_t r = in->support.dim[2] * in->support.dim[3];
    var *support = world_leaf(&w, DIMS(in->support.dim[0], in->support.dim[1], r), in->support.data);
    var *query = world_leaf(&w, DIMS(in->query.dim[0], in->query.dim[1], r), in->query.data);
    var *proto = class_maps(&w, in, support);
    EXPECT(pool_features(w.t, &s, proto, query, &out));
    s.mode = POOL_MCL_BOTH; /* the case records both weights whichever it uses */
    EXPECT(pool_features(w.t, &s, proto, query, &both));
    var *value = op_add(w.t, weigh(&w, out.query, in->functional_query.data),
                        weigh(&w, out.classes, in->functional_support.data));
    const status st = value ? tape_backward(w.t, value) : tape_status(w.t);
    EXPECT_OK(st);
    if (st == OK) {
        expect_tensor(g, &w, "pooled_query.npy", &out.query->value);
        expect_tensor(g, &w, "pooled_support.npy", &out.classes->value);
        expect_tensor(g, &w, "weights_query.npy", &both.query_weights->value);
        expect_tensor(g, &w, "weights_support.npy", &both.class_weights->value);
        expect_tensor(g, &w, "functional_value.npy", &value->value);
        expect_tensor(g, &w, "grad_support.npy", &support->grad);
        expect_tensor(g, &w, "grad_query.npy", &query->grad);
        golden_expect_only(g, (const char *[]){"pooled_query.npy", "pooled_support.npy", "weights_query.npy",
                                               "weights_support.npy", "functional_value.npy", "grad_support.npy",
                                               "grad_query.npy", NULL});
        EXPECT(!out.query_weights == (mode_of(g) == POOL_MCL_SUPPORT));
        EXPECT(!out.class_weights == (mode_of(g) == POOL_MCL_QUERY));
    }
    world_close(&w);
}

static void check_pool(const struct golden *g)
{
    struct pooling in;
    if (pooling_read(g, &in)) pool_case(g, &in);
    pooling_free(&in);
}

TEST(pooling_gives_the_recorded_numbers) { for_golden("pool_", check_pool); }
