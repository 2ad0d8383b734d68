/* rig.c - networks for the tests, filled by formula. */
#include "tests/nets/rig.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

bool net_rig_open(struct net_rig *r, const char *isa, size_t threads, dtype type, const char *net)
{
    struct random random = {1, 2, 0};
    *r = (struct net_rig){.net = NULL};
    if (!rig_open(&r->w, isa, threads, type)) return false;
    char name[32] = "", option[32] = "", value[32] = "";
    const bool more = sscanf(net, "%31s %31[^=]=%31s", name, option, value) == 3;
    status st = net_find(name, &r->net);
    r->p = params_new(r->w.dev);
    if (st == OK && r->p && r->net->settings_bytes <= sizeof r->settings) {
        options_default(r->net->options, &r->settings);
        if (more) st = option_set(r->net->options, "--net.", option, value, &r->settings);
        if (st == OK) st = r->net->params(&r->settings, type, &random, r->p);
        if (st == OK) return true;
    }
    test_failed(__FILE__, __LINE__, "no network '%s': %s", net, error_text());
    net_rig_close(r);
    return false;
}

void net_rig_close(struct net_rig *r)
{
    params_free(r->p);
    world_close(&r->w);
}

static double formula(uint64_t index, uint64_t i, double scale, double offset)
{
    uint64_t z = ((index << 32) + i + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return offset + scale * ((double)(z >> 40) / 8388608.0 - 1.0);
}

double *formula_numbers(const struct json *about, int *rank, size_t dim[MAX_RANK])
{
    const struct json *shape = json_member(about, "shape"), *index = json_member(about, "index");
    const struct json *scale = json_member(about, "scale"), *offset = json_member(about, "offset");
    size_t n = 1;
    *rank = 0;
    if (!shape || !index || !scale || !offset || shape->count > MAX_RANK) {
        test_failed(__FILE__, __LINE__, "case.json describes no tensor here");
        return NULL;
    }
    for (const struct json *s = shape->first; s; s = s->next) n *= dim[(*rank)++] = (size_t)s->integer;
    double *out = malloc(n * sizeof *out);
    for (size_t i = 0; out && i < n; i++) out[i] = formula((uint64_t)index->integer, i, scale->real, offset->real);
    return out;
}

var *formula_leaf(struct world *w, const struct json *about)
{
    int rank;
    size_t dim[MAX_RANK];
    double *x = formula_numbers(about, &rank, dim);
    var *v = x ? world_leaf(w, rank, dim, x) : NULL;
    free(x);
    return v;
}

static bool load_one(struct net_rig *r, struct param *p, const struct json *about)
{
    int rank;
    size_t dim[MAX_RANK];
    double *x = formula_numbers(about, &rank, dim);
    tape_reset(r->w.t, TAPE_INFERENCE);
    var *v = x ? world_constant(&r->w, rank, dim, x) : NULL;
    free(x);
    if (!v || !tensor_same_shape(&v->value, &p->value)) return false;
    return r->w.dev->copy(r->w.dev, p->value.data, v->value.data, tensor_bytes(&p->value)) == OK;
}

bool net_rig_load(struct net_rig *r, const struct json *list, const char *prefix)
{
    size_t loaded = 0;
    for (const struct json *e = list ? list->first : NULL; e; e = e->next) {
        const char *name = json_member(e, "name")->string;
        struct param *p = strncmp(name, prefix, strlen(prefix)) ? NULL : params_find(r->p, name + strlen(prefix));
        if (p && load_one(r, p, e)) loaded++;
        else test_failed(__FILE__, __LINE__, "%s has no place or another shape in %s", name, r->net->name);
    }
    EXPECT_INT(loaded, params_count(r->p));
    return loaded == params_count(r->p);
}

double *net_rig_gather(struct net_rig *r, const char *end, size_t *n)
{
    double *out = NULL;
    *n = 0;
    for (size_t i = 0; i < params_count(r->p); i++) {
        const struct param *p = params_at(r->p, i);
        const size_t more = tensor_count(&p->value), length = strlen(p->name);
        if (length < strlen(end) || strcmp(p->name + length - strlen(end), end)) continue;
        double *grown = realloc(out, (*n + more) * sizeof *out);
        if (!grown || !world_read(&r->w, &p->value, grown + *n)) {
            free(grown ? grown : out);
            return NULL;
        }
        out = grown;
        *n += more;
    }
    return out;
}

static bool ends(const char *s, const char *end)
{
    return strlen(s) >= strlen(end) && !strcmp(s + strlen(s) - strlen(end), end);
}

void golden_base_name(const char *file, char out[96])
{
    static const char *const tails[] = {".npy", ".head", ".pick", ".stat"};
    snprintf(out, 96, "%s", file);
    for (int i = 0; i < 4; i++)
        if (ends(out, tails[i])) out[strlen(out) - strlen(tails[i])] = '\0';
}

void golden_expect_part(const struct golden *g, const char *file, const double *seen, size_t n)
{
    enum { HEAD = 64, PICK = 256 };
    double part[PICK], stat[3] = {0};
    if (ends(file, ".head.npy")) golden_expect(g, file, seen, n < HEAD ? n : HEAD);
    else if (ends(file, ".pick.npy")) {
        for (size_t j = 0; j < PICK; j++) part[j] = seen[j * n / PICK];
        golden_expect(g, file, part, PICK);
    } else if (ends(file, ".stat.npy")) {
        for (size_t i = 0; i < n; i++) {
            stat[0] += seen[i];
            stat[1] += seen[i] * seen[i];
            stat[2] += fabs(seen[i]);
        }
        stat[1] = sqrt(stat[1]);
        golden_expect(g, file, stat, 3);
    } else golden_expect(g, file, seen, n);
}
