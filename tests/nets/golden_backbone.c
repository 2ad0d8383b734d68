/* golden_backbone.c - the networks against recorded runs: outputs in both modes, gradients, running statistics. */
#include "cpu/kernels.h"
#include "tests/nets/rig.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

enum { MOST_NUMBERS = 8 };

struct seen { /* what was computed, under the recorded names */
    struct {
        const char *name;
        double *x; /* owned */
        size_t n;
    } item[MOST_NUMBERS];
    int count;
};

static void keep(struct seen *s, const char *name, double *x, size_t n)
{
    if (s->count >= MOST_NUMBERS || !x) {
        free(x);
        return;
    }
    s->item[s->count].name = name;
    s->item[s->count].x = x;
    s->item[s->count++].n = n;
}

static double *read_numbers(struct net_rig *r, const tensor *x)
{
    double *out = calloc(tensor_count(x) + 1, sizeof *out);
    if (out && x->data && world_read(&r->w, x, out)) return out;
    free(out);
    return NULL;
}

static void keep_tensor(struct seen *s, struct net_rig *r, const char *name, const tensor *x)
{
    keep(s, name, read_numbers(r, x), tensor_count(x));
}

/* One pass there and back with the case's pictures and pattern. */
static bool pass(struct net_rig *r, const struct golden *g, enum net_mode mode, struct seen *s)
{
    int rank;
    size_t dim[MAX_RANK];
    struct net_pass how = {.mode = mode, .random = {1, 1, 0}};
    const bool train = mode == NET_TRAIN;
    tape_reset(r->w.t, TAPE_TRAINING);
    EXPECT_OK(params_zero_grad(r->p));
    var *x = formula_leaf(&r->w, json_member(g->about, "input_tensor"));
    var *y = r->net->forward(r->w.t, &r->settings, r->p, &how, x);
    double *pattern = formula_numbers(json_member(g->about, "pattern_tensor"), &rank, dim);
    const status st = y && pattern ? world_back(&r->w, y, pattern) : tape_status(r->w.t);
    EXPECT_OK(st);
    if (st == OK && y && pattern) {
        keep_tensor(s, r, train ? "train_output" : "eval_output", &y->value);
        keep_tensor(s, r, train ? "grad_input" : "grad_input_eval", &x->grad);
        double *value = calloc(1, sizeof *value), *out = read_numbers(r, &y->value);
        for (size_t i = 0; value && out && i < tensor_count(&y->value); i++) *value += out[i] * pattern[i];
        free(out);
        keep(s, train ? "functional_value" : "functional_value_eval", value, 1);
    }
    free(pattern);
    return st == OK && y;
}

static void compare(const struct golden *g, struct net_rig *r, const struct seen *s, const char *file)
{
    char name[96];
    golden_base_name(file, name);
    for (int i = 0; i < s->count; i++)
        if (!strcmp(s->item[i].name, name)) {
            golden_expect_part(g, file, s->item[i].x, s->item[i].n);
            return;
        }
    const struct param *p = strncmp(name, "grad_", 5) ? NULL : params_find(r->p, name + 5);
    double *x = p && p->trained ? read_numbers(r, &p->grad) : NULL;
    if (x) golden_expect_part(g, file, x, tensor_count(&p->grad));
    else test_failed(__FILE__, __LINE__, "%s: nothing here computes %s", g->name, file);
    free(x);
}

static void check_passes(const struct golden *g, struct net_rig *r)
{
    struct seen s = {.count = 0};
    size_t n;
    if (pass(r, g, NET_EVAL, &s) && pass(r, g, NET_TRAIN, &s)) {
        double *mean = net_rig_gather(r, "running_mean", &n);
        keep(&s, "running_mean_after", mean, n);
        double *variance = net_rig_gather(r, "running_var", &n);
        keep(&s, "running_var_after", variance, n);
        const struct json *outputs = json_member(json_member(g->about, "files"), "outputs");
        EXPECT(outputs && outputs->first);
        for (const struct json *o = outputs ? outputs->first : NULL; o; o = o->next) compare(g, r, &s, o->key);
    }
    for (int i = 0; i < s.count; i++) free(s.item[i].x);
}

static bool set_number(struct net_rig *r, const struct golden *g, const char *option, const char *recorded)
{
    char value[32];
    if (!json_member(json_member(g->about, "options"), recorded)) return true;
    snprintf(value, sizeof value, "%d", (int)golden_number(g, recorded, 0));
    const status st = option_set(r->net->options, "--net.", option, value, &r->settings);
    EXPECT_OK(st);
    return st == OK;
}

/* The parameters anew, with the case's own settings. */
static bool resize(struct net_rig *r, const struct golden *g)
{
    if (!set_number(r, g, "depth", "depth") || !set_number(r, g, "widen", "widen_factor")) return false;
    params_free(r->p);
    r->p = params_new(r->w.dev);
    const status st = !r->p ? ST_MEMORY : r->net->params(&r->settings, r->w.type, &(struct random){1, 2, 0}, r->p);
    EXPECT_OK(st);
    return st == OK;
}

static void check_backbone(const struct golden *g)
{
    struct net_rig r;
    const struct kernels *best;
    const struct json *net = json_member(g->about, "head");
    REQUIRE(net && net->string && kernels_choose("", &best) == OK);
    /* the primitives are compared on every instruction set elsewhere: here one small case does, to save time */
    if (strcmp(g->name, "backbone_conv4") && strcmp(g->isa, isa_name(best->isa))) return;
    /* under a sanitizer the large ones take minutes: small pictures there, and narrow networks in threads.c */
    if (UNDER_SANITIZER && strcmp(g->name, "backbone_conv4") && strcmp(g->name, "backbone_wrn28")) return;
    REQUIRE(net_rig_open(&r, g->isa, 2, g->type, net->string));
    if (resize(&r, g) && net_rig_load(&r, json_member(g->about, "params"), "")) check_passes(g, &r);
    net_rig_close(&r);
}

TEST(networks_give_the_recorded_numbers) { for_golden("backbone_", check_backbone); }
