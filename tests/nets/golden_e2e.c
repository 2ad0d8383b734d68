/* golden_e2e.c - two training steps of a network under the mutual walk, and an evaluation after them, as recorded.
 *
 * Support and query are encoded in two calls, support first, so both update the running statistics. The two optimisers
 * are written out here in the plainest form: what is tested is the path from the pictures to the gradients. */
#include "cpu/kernels.h"
#include "nets/extract.h"
#include "tests/nets/rig.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 2, MOST_ROWS = 16 };

struct e2e {
    const struct golden *g;
    struct net_rig r;
    int32_t support_labels[MOST_ROWS], query_labels[MOST_ROWS];
    size_t n_support, n_query, way;
    double losses[STEPS + 1];
    double *moments; /* [2, count] of all parameters; owned */
};

static bool read_labels(struct e2e *e, const char *file, int32_t *out, size_t *n)
{
    struct npy x;
    bool ok = golden_read(e->g, file, &x) && x.count <= MOST_ROWS;
    for (size_t i = 0; ok && i < x.count; i++) out[i] = (int32_t)((int64_t *)x.data)[i];
    *n = ok ? x.count : 0;
    npy_free(&x);
    return ok;
}

/* [n, C, 1, r] as [n, C, r], the features that heads compare. */
static var *encode(struct e2e *e, const char *name, enum net_mode mode)
{
    const struct json *encoding = json_member(json_member(e->g->about, "options"), "forward_encoding");
    const bool pyramid = encoding && strncmp(encoding->string, "PyramidFCN-3,2,1", 16) == 0;
    struct net_pass how = {.mode = mode};
    tape *t = e->r.w.t;
    var *x = formula_leaf(&e->r.w, json_member(json_member(e->g->about, "tensors"), name));
    x = e->r.net->forward(t, &e->r.settings, e->r.p, &how, x);
    x = extract_pyramid(t, x, pyramid ? 3 : 0, (size_t[]){3, 2, 1});
    return x ? op_reshape(t, x, DIMS(x->value.dim[0], x->value.dim[1], x->value.dim[3])) : NULL;
}

static var *episode(struct e2e *e, enum net_mode mode, struct walk_vars *out)
{
    tape *t = e->r.w.t;
    const struct walk s = {golden_number(e->g, "gamma", 20), golden_number(e->g, "beta", 10),
                           golden_number(e->g, "alpha", 0.5), WALK_AUTO};
    tape_reset(t, TAPE_TRAINING);
    EXPECT_OK(params_zero_grad(e->r.p));
    var *support = encode(e, "support", mode), *query = encode(e, "query", mode);
    var *proto = op_class_mean(t, support, op_labels(t, e->support_labels, e->n_support, e->way), e->way);
    return op_walk_nll(t, proto, query, op_labels(t, e->query_labels, e->n_query, e->way), &s, WALK_PROB, out);
}

/* One parameter's step number `step` (from 1); m and v are its moments. */
static double nesterov(const struct golden *g, double w, double d, double *m, int step)
{
    const double momentum = golden_number(g, "momentum", 0.9);
    d += golden_number(g, "weight_decay", 0) * w;
    *m = step == 1 ? d : momentum * *m + d;
    return w - golden_number(g, "lr", 0) * (d + momentum * *m);
}

static double adam(const struct golden *g, double w, double d, double *m, double *v, int step)
{
    const double a = 0.5, b = 0.9; /* the case's betas */
    *m = a * *m + (1 - a) * d;
    *v = b * *v + (1 - b) * d * d;
    const double mean = *m / (1 - pow(a, step)), square = *v / (1 - pow(b, step));
    return w - golden_number(g, "lr", 0) * mean / (sqrt(square) + 1e-8);
}

static bool update(struct e2e *e, struct param *p, size_t at, size_t all, int step)
{
    const struct json *optimizer = json_member(json_member(e->g->about, "options"), "optimizer");
    const size_t n = tensor_count(&p->value);
    double *w = calloc(2 * n, sizeof *w), *d = w ? w + n : NULL, *m = e->moments + at;
    bool ok = w && optimizer && world_read(&e->r.w, &p->value, w) && world_read(&e->r.w, &p->grad, d);
    for (size_t i = 0; ok && i < n; i++)
        w[i] = strcmp(optimizer->string, "adam") ? nesterov(e->g, w[i], d[i], m + i, step)
                                                 : adam(e->g, w[i], d[i], m + i, m + all + i, step);
    var *v = ok ? world_constant(&e->r.w, p->value.rank, p->value.dim, w) : NULL;
    ok = v && e->r.w.dev->copy(e->r.w.dev, p->value.data, v->value.data, tensor_bytes(&p->value)) == OK;
    free(w);
    return ok;
}

static void update_all(struct e2e *e, int step)
{
    size_t all = 0, at = 0;
    for (size_t i = 0; i < params_count(e->r.p); i++) all += tensor_count(&params_at(e->r.p, i)->value);
    if (!e->moments) e->moments = calloc(2 * all, sizeof *e->moments);
    REQUIRE(e->moments);
    for (size_t i = 0; i < params_count(e->r.p); i++) {
        struct param *p = params_at(e->r.p, i);
        if (p->trained) EXPECT(update(e, p, at, all, step));
        at += tensor_count(&p->value);
    }
}

/* The recorded files that begin with `prefix`, against the values or gradients of the parameters they name. */
static void compare(struct e2e *e, const char *prefix, bool gradients)
{
    const struct json *outputs = json_member(json_member(e->g->about, "files"), "outputs");
    int compared = 0;
    for (const struct json *o = outputs ? outputs->first : NULL; o; o = o->next) {
        char name[96];
        if (strncmp(o->key, prefix, strlen(prefix))) continue;
        golden_base_name(o->key + strlen(prefix), name);
        const struct param *p = params_find(e->r.p, name);
        const tensor *x = p ? gradients ? &p->grad : &p->value : NULL;
        double *seen = x ? calloc(tensor_count(x), sizeof *seen) : NULL;
        if (seen && world_read(&e->r.w, x, seen)) golden_expect(e->g, o->key, seen, tensor_count(x));
        else test_failed(__FILE__, __LINE__, "%s: no parameter for %s", e->g->name, o->key);
        free(seen);
        compared++;
    }
    EXPECT_INT(compared, 3);
}

static void compare_running(struct e2e *e, const char *end, const char *file)
{
    size_t n;
    double *x = net_rig_gather(&e->r, end, &n);
    if (x) golden_expect(e->g, file, x, n);
    EXPECT(x);
    free(x);
}

static void evaluate(struct e2e *e)
{
    struct walk_vars out;
    double prob[MOST_ROWS * MOST_ROWS];
    struct npy correct;
    var *loss = episode(e, NET_EVAL, &out);
    REQUIRE(loss && e->n_query * e->way <= MOST_ROWS * MOST_ROWS && world_read(&e->r.w, &out.prob->value, prob));
    golden_expect(e->g, "eval_probabilities.npy", prob, e->n_query * e->way);
    if (golden_read(e->g, "eval_correct.npy", &correct) && correct.count == e->n_query)
        for (size_t i = 0; i < e->n_query; i++) {
            size_t best = 0;
            for (size_t k = 1; k < e->way; k++)
                if (prob[i * e->way + k] > prob[i * e->way + best]) best = k;
            const bool right = (int32_t)best == e->query_labels[i];
            EXPECT_INT(right,
                       correct.type == NPY_F64 ? ((double *)correct.data)[i] != 0 : ((int64_t *)correct.data)[i] != 0);
        }
    npy_free(&correct);
}

static void train(struct e2e *e)
{
    struct walk_vars out;
    for (int step = 0; step <= STEPS; step++) {
        var *loss = episode(e, NET_TRAIN, &out);
        const status st = loss ? tape_backward(e->r.w.t, loss) : tape_status(e->r.w.t);
        EXPECT_OK(st);
        if (st != OK || !world_read(&e->r.w, &loss->value, &e->losses[step])) return;
        if (step == 0) compare(e, "grad_encoder.", true);
        if (step < STEPS) update_all(e, step + 1);
    }
    golden_expect(e->g, "losses.npy", e->losses, STEPS + 1);
    compare(e, "after2_encoder.", false);
    compare_running(e, "running_mean", "running_mean.npy");
    compare_running(e, "running_var", "running_var.npy");
    evaluate(e);
}

static void check_e2e(const struct golden *g)
{
    struct e2e e = {.g = g};
    const struct kernels *best;
    const struct json *encoder = json_member(json_member(g->about, "options"), "encoder");
    REQUIRE(encoder && encoder->string && kernels_choose("", &best) == OK);
    if (strcmp(g->isa, isa_name(best->isa))) return;
    e.way = (size_t)json_member(json_member(g->about, "shapes"), "n_way")->integer;
    const char *net = strcmp(encoder->string, "FourLayer_64F") ? "conv4" : "conv4-19";
    REQUIRE(net_rig_open(&e.r, g->isa, 2, g->type, net));
    if (read_labels(&e, "support_labels.npy", e.support_labels, &e.n_support) &&
        read_labels(&e, "query_labels.npy", e.query_labels, &e.n_query) &&
        net_rig_load(&e.r, json_member(g->about, "params"), "encoder."))
        train(&e);
    free(e.moments);
    net_rig_close(&e.r);
}

TEST(training_a_network_gives_the_recorded_numbers) { for_golden("e2e_", check_e2e); }
