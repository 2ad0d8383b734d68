/* golden.c - heads against recorded runs of the reference implementation, through the public calls. */
#include "centra.h"
#include "tests/device.h"
#include "tests/heads/case.h"
#include "tests/heads/rig.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

/* An array in the case's precision, and back. */
static void *to_type(dtype type, const double *x, size_t n)
{
    void *out = calloc(n ? n : 1, sizeof(double));
    for (size_t i = 0; out && i < n; i++) {
        if (type == DT_F32) ((float *)out)[i] = (float)x[i];
        else ((double *)out)[i] = x[i];
    }
    return out;
}

static void expect_array(const struct golden *g, const char *file, const void *seen, size_t n)
{
    double *wide = calloc(n ? n : 1, sizeof *wide);
    for (size_t i = 0; wide && i < n; i++)
        wide[i] = g->type == DT_F32 ? (double)((const float *)seen)[i] : ((const double *)seen)[i];
    if (wide) golden_expect(g, file, wide, n);
    free(wide);
}

struct inputs {
    struct npy support, support_labels, query, query_labels;
};

static bool inputs_read(const struct golden *g, struct inputs *in)
{
    *in = (struct inputs){0};
    return golden_read(g, "support.npy", &in->support) && golden_read(g, "query.npy", &in->query) &&
           golden_read(g, "support_labels.npy", &in->support_labels) &&
           golden_read(g, "query_labels.npy", &in->query_labels);
}

static void inputs_free(struct inputs *in)
{
    npy_free(&in->support);
    npy_free(&in->support_labels);
    npy_free(&in->query);
    npy_free(&in->query_labels);
}

/* What the case's command line says: the head, its options, and whether it has parameters. */
enum { MOST_OPTIONS = 8, MOST_PARAMS = 4 };
struct command {
    const char *head;
    centra_option list[MOST_OPTIONS];
    size_t count;
    bool weights;
};

static void command_of(const struct golden *g, struct command *c)
{
    const struct json *words = json_member(g->about, "command");
    *c = (struct command){.head = ""};
    for (const struct json *v = words ? words->first : NULL; v && v->next; v = v->next) {
        if (!strcmp(v->string, "--head")) c->head = v->next->string;
        if (!strcmp(v->string, "--weights")) c->weights = true;
        if (strncmp(v->string, "--head.", 7)) continue;
        EXPECT(c->count < MOST_OPTIONS);
        if (c->count < MOST_OPTIONS) c->list[c->count++] = (centra_option){v->string + 7, v->next->string};
    }
}

static void load_params(const struct golden *g, centra_head *h)
{
    char path[600];
    snprintf(path, sizeof path, "%s/params", g->folder);
    EXPECT_OK((status)centra_head_load(h, path));
}

static void compare_params(const struct golden *g, const centra_head *h, size_t channels, void *const *seen)
{
    centra_param_info info;
    for (size_t i = 0; i < MOST_PARAMS && centra_head_param(h, i, channels, &info) == CENTRA_OK; i++) {
        char file[100];
        size_t n = 1;
        for (size_t axis = 0; axis < info.rank; axis++) n *= info.dim[axis];
        snprintf(file, sizeof file, "grad_params/%s.npy", info.name);
        if (!golden_has(g, file)) continue; /* the released head has none */
        expect_array(g, file, seen[i], n);
    }
}

static centra_episode episode_of(const struct golden *g, const struct inputs *in, void *support, void *query)
{
    return (centra_episode){.precision = g->type == DT_F32 ? CENTRA_F32 : CENTRA_F64,
                            .channels = in->query.dim[1],
                            .support_count = in->support.dim[0],
                            .support_locations = in->support.dim[2] * in->support.dim[3],
                            .support = support,
                            .support_labels = in->support_labels.data,
                            .query_count = in->query.dim[0],
                            .query_locations = in->query.dim[2] * in->query.dim[3],
                            .query = query,
                            .query_labels = in->query_labels.data};
}

static void compare_result(const struct golden *g, const centra_episode *e, const centra_result *r, size_t way)
{
    static const char *const known[] = {"scores.npy",
                                        "loss.npy",
                                        "grad_support.npy",
                                        "grad_query.npy",
                                        "centrality_query.npy",
                                        "centrality_support.npy",
                                        "similarity.npy",
                                        "dual.npy",
                                        "grad_params/head.scale.npy",
                                        "grad_params/head.r.npy",
                                        "grad_params/head.fc1.weight.npy",
                                        "grad_params/head.fc1.bias.npy",
                                        "grad_params/head.fc2.weight.npy",
                                        "grad_params/head.fc2.bias.npy",
                                        "grad_params/head.key.weight.npy",
                                        "grad_params/head.query.weight.npy",
                                        "grad_params/head.value.weight.npy",
                                        "weights_query.npy", /* these three: tests/heads/deepemd.c */
                                        "weights_support.npy",
                                        "flow_query0.npy",
                                        NULL};
    const size_t support = e->support_count * e->channels * e->support_locations;
    const size_t query = e->query_count * e->channels * e->query_locations;
    expect_array(g, "scores.npy", r->scores, e->query_count * way);
    golden_expect(g, "loss.npy", r->loss, 1);
    if (golden_has(g, "grad_support.npy")) expect_array(g, "grad_support.npy", r->grad_support, support);
    if (golden_has(g, "grad_query.npy")) expect_array(g, "grad_query.npy", r->grad_query, query);
    if (golden_has(g, "centrality_query.npy"))
        expect_array(g, "centrality_query.npy", r->centrality_query, e->query_count * e->query_locations);
    if (golden_has(g, "centrality_support.npy"))
        expect_array(g, "centrality_support.npy", r->centrality_support, e->query_count * way * e->support_locations);
    golden_expect_only(g, known);
}

static void score(const struct golden *g, const struct inputs *in)
{
    enum { PARAM_BYTES = 1 << 16 };
    struct command c;
    centra_session *s = NULL;
    centra_head *h = NULL;
    size_t way = 0;
    double loss = NAN;
    const bool walks = golden_has(g, "centrality_query.npy") || golden_has(g, "centrality_support.npy");
    void *support = to_type(g->type, in->support.data, in->support.count);
    void *query = to_type(g->type, in->query.data, in->query.count);
    const centra_episode e = episode_of(g, in, support, query);
    command_of(g, &c);
    EXPECT_OK((status)centra_session_open(
        &(centra_session_options){.threads = 2, .isa = g->isa, .device = test_device()}, &s));
    EXPECT_OK((status)centra_head_new(s, c.head, c.list, c.count, &h));
    if (h && c.weights) load_params(g, h);
    EXPECT_OK((status)centra_episode_way(&e, &way));
    void *params[MOST_PARAMS];
    for (size_t i = 0; i < MOST_PARAMS; i++) params[i] = calloc(1, PARAM_BYTES);
    void *block[] = {calloc(e.query_count * way, 8), calloc(in->support.count, 8), calloc(in->query.count, 8),
                     calloc(e.query_count * way * e.support_locations, 8),
                     calloc(e.query_count * e.query_locations, 8)};
    const centra_result r = {.scores = block[0],
                             .loss = &loss,
                             .grad_support = block[1],
                             .grad_query = block[2],
                             .grad_params = params,
                             .centrality_support = walks ? block[3] : NULL,
                             .centrality_query = walks ? block[4] : NULL};
    const status st = h ? (status)centra_head_score(h, &e, &r) : ST_USAGE;
    EXPECT_OK(st);
    if (st == OK) {
        compare_result(g, &e, &r, way);
        compare_params(g, h, e.channels, params);
    }
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) free(block[i]);
    for (size_t i = 0; i < MOST_PARAMS; i++) free(params[i]);
    free(support);
    free(query);
    centra_head_free(h);
    centra_session_close(s);
}

/* All cosines, by the op that heads use for them: [nq, r, way*r]. One shot a class here. */
static void similarity(const struct golden *g, const struct inputs *in)
{
    struct world w;
    const size_t ns = in->support.dim[0], c = in->support.dim[1], r = in->support.dim[2] * in->support.dim[3];
    const size_t nq = in->query.dim[0], rq = in->query.dim[2] * in->query.dim[3];
    double *seen = calloc(nq * rq * ns * r, sizeof *seen);
    if (!seen || !rig_open(&w, g->isa, 1, g->type)) return;
    var *s = op_permute(w.t, world_constant(&w, DIMS(ns, c, r), in->support.data), (int[]){0, 2, 1});
    var *q = op_permute(w.t, world_constant(&w, DIMS(nq, c, rq), in->query.data), (int[]){0, 2, 1});
    var *phi = op_cosine(w.t, op_reshape(w.t, q, DIMS(nq * rq, c)), op_reshape(w.t, s, DIMS(ns * r, c)));
    EXPECT_OK(tape_status(w.t));
    if (phi && world_read(&w, &phi->value, seen)) golden_expect(g, "similarity.npy", seen, nq * rq * ns * r);
    world_close(&w);
    free(seen);
}

/* The dual variables of the machine, by the op that metaopt calls: [ns, way]. Supports are sorted by class, K each. */
static void dual(const struct golden *g, const struct inputs *in)
{
    enum { MOST_WAY = 8, MOST = 256 };
    struct world w;
    double seen[MOST];
    size_t first[MOST_WAY + 1] = {0}, way = 0;
    const size_t ns = in->support.dim[0], c = in->support.dim[1], r = in->support.dim[2] * in->support.dim[3];
    for (size_t i = 0; i < ns; i++) way = (size_t)((int64_t *)in->support_labels.data)[i] + 1;
    REQUIRE(way <= MOST_WAY && ns * way <= MOST);
    for (size_t m = 0; m <= way; m++) first[m] = m * (ns / way);
    if (!rig_open(&w, g->isa, 1, g->type)) return;
    var *x = op_mean(w.t, world_constant(&w, DIMS(ns, c, r), in->support.data), 1u << 2, DROP_AXES);
    const var *y = op_svm(w.t, x, first, way, &(struct svm){.c = golden_number(g, "C_reg", 0), .ridge = 1});
    EXPECT_OK(tape_status(w.t));
    if (y && world_read(&w, &y->value, seen)) golden_expect(g, "dual.npy", seen, ns * way);
    world_close(&w);
}

static const int32_t *indices(struct world *w, const int64_t *labels, size_t n)
{
    void *out;
    if (tape_host(w->t, n * sizeof(int32_t), &out) != OK) return NULL;
    for (size_t i = 0; i < n; i++) ((int32_t *)out)[i] = (int32_t)labels[i];
    return out;
}

/* Several episodes on one tape; the loss is the mean over all of them. */
static void batch(const struct golden *g, const struct inputs *in)
{
    enum { MOST = 4 };
    struct world w;
    const size_t b = in->support.dim[0], ns = in->support.dim[1], c = in->support.dim[2], nq = in->query.dim[1];
    const size_t r = in->support.dim[3] * in->support.dim[4], way = ns; /* one shot a class */
    const struct walk s = {golden_number(g, "gamma", 20), golden_number(g, "beta", 10), golden_number(g, "alpha", 0.5),
                           0};
    double scores[1024], gradients[2][4096], loss = NAN;
    var *support[MOST], *query[MOST], *total = NULL;
    REQUIRE(b <= MOST && b * nq * way <= 1024 && b * ns * c * r <= 4096 && b * nq * c * r <= 4096);
    REQUIRE(rig_open(&w, g->isa, 2, g->type));
    for (size_t i = 0; i < b; i++) {
        struct walk_vars v;
        support[i] = world_leaf(&w, DIMS(ns, c, r), (double *)in->support.data + i * ns * c * r);
        query[i] = world_leaf(&w, DIMS(nq, c, r), (double *)in->query.data + i * nq * c * r);
        const int32_t *sl = indices(&w, (int64_t *)in->support_labels.data + i * ns, ns);
        const int32_t *ql = indices(&w, (int64_t *)in->query_labels.data + i * nq, nq);
        var *proto = op_class_mean(w.t, support[i], op_labels(w.t, sl, ns, way), way);
        var *one = op_walk_nll(w.t, proto, query[i], op_labels(w.t, ql, nq, way), &s, WALK_PROB, &v);
        one = op_affine(w.t, one, 1 / (double)b, 0);
        total = total ? op_add(w.t, total, one) : one;
        EXPECT(one && world_read(&w, &v.prob->value, scores + i * nq * way));
    }
    const status st = total ? tape_backward(w.t, total) : tape_status(w.t);
    EXPECT_OK(st);
    if (st == OK) {
        EXPECT(world_read(&w, &total->value, &loss));
        for (size_t i = 0; i < b; i++)
            EXPECT(world_read(&w, &support[i]->grad, gradients[0] + i * ns * c * r) &&
                   world_read(&w, &query[i]->grad, gradients[1] + i * nq * c * r));
        golden_expect(g, "scores.npy", scores, b * nq * way);
        golden_expect(g, "loss.npy", &loss, 1);
        golden_expect(g, "grad_support.npy", gradients[0], b * ns * c * r);
        golden_expect(g, "grad_query.npy", gradients[1], b * nq * c * r);
        golden_expect_only(g, (const char *[]){"scores.npy", "loss.npy", "grad_support.npy", "grad_query.npy", NULL});
    }
    world_close(&w);
}

static void check_head(const struct golden *g)
{
    struct inputs in;
    if (inputs_read(g, &in)) {
        if (in.support.rank == 5) batch(g, &in);
        else score(g, &in);
        if (golden_has(g, "similarity.npy")) similarity(g, &in);
        if (golden_has(g, "dual.npy")) dual(g, &in);
    }
    inputs_free(&in);
}

TEST(mcl_heads_give_the_recorded_numbers) { for_golden("MEL_", check_head); }
TEST(proto_gives_the_recorded_numbers) { for_golden("proto", check_head); }

TEST(matching_gives_the_recorded_numbers) { for_golden("matching", check_head); }
TEST(dn4_gives_the_recorded_numbers) { for_golden("dn4_", check_head); }
TEST(mn4_gives_the_recorded_numbers) { for_golden("mn4_", check_head); }
TEST(dmn4_gives_the_recorded_numbers) { for_golden("dmn4_", check_head); }
TEST(relation_gives_the_recorded_numbers) { for_golden("relation", check_head); }
TEST(r2d2_gives_the_recorded_numbers) { for_golden("r2d2", check_head); }
TEST(ctx_gives_the_recorded_numbers) { for_golden("ctx_", check_head); }
TEST(deepemd_gives_the_recorded_numbers)
{
    for_golden("deepemd_1shot", check_head);
    for_golden("deepemd_5shot_train", check_head); /* deepemd_5shot is a fit: tests/heads/deepemd.c */
}
TEST(metaopt_gives_the_recorded_numbers) { for_golden("metaopt", check_head); }
TEST(label_prop_gives_the_recorded_numbers) { for_golden("label_prop", check_head); }

/* dsn_flip has a test of its own (tests/heads/mirror.c). */
TEST(dsn_gives_the_recorded_numbers)
{
    for_golden("dsn_1shot", check_head);
    for_golden("dsn_5shot", check_head);
    for_golden("dsnplusmcl", check_head);
}

/* frn_pretrain and frn_aux are losses, not episodes. */
TEST(frn_gives_the_recorded_numbers)
{
    for_golden("frn_1shot", check_head);
    for_golden("frn_5shot", check_head);
    for_golden("frn_wide", check_head);
}
