/* case.c - finding, reading and comparing golden cases. */
#include "tests/heads/case.h"
#include "base/file.h"
#include "cpu/kernels.h"
#include "tests/device.h"
#include "tests/test.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_CASES = 256, LIMIT_BYTES = 1 << 26 };

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Sorted names, owned by the caller. */
static size_t list_cases(const char *root, const char *prefix, char **names)
{
    size_t n = 0;
    DIR *folder = opendir(root);
    const struct dirent *e;
    while (folder && (e = readdir(folder)))
        if (!strncmp(e->d_name, prefix, strlen(prefix)) && n < MOST_CASES && (names[n] = strdup(e->d_name))) n++;
    if (folder) closedir(folder);
    qsort(names, n, sizeof *names, by_name);
    return n;
}

static bool read_about(struct golden *g, arena *memory)
{
    char path[600], *bytes = NULL;
    size_t n;
    snprintf(path, sizeof path, "%s/case.json", g->folder);
    status st = file_read(path, LIMIT_BYTES, &bytes, &n);
    if (st == OK) st = json_parse(path, bytes, n, memory, &g->about);
    EXPECT_OK(st);
    free(bytes);
    return st == OK;
}

/* Every instruction set that this machine has; on another device than the CPU once is enough. */
static bool takes_part(enum isa isa)
{
    const struct kernels *best;
    return kernels_of(isa) && (!test_device() || (kernels_choose("", &best) == OK && best->isa == isa));
}

static void run_case(struct golden *g, void (*check)(const struct golden *g))
{
    arena *memory = arena_new(1 << 16);
    REQUIRE(memory);
    if (read_about(g, memory))
        for (int isa = 0; isa < ISA_COUNT; isa++)
            for (dtype type = DT_F32; takes_part((enum isa)isa) && type < DT_REALS; type++) {
                g->isa = isa_name((enum isa)isa);
                g->type = type;
                check(g);
            }
    arena_free(memory);
}

void for_golden(const char *prefix, void (*check)(const struct golden *g))
{
    char *names[MOST_CASES];
    const char *root = test_golden_dir();
    if (!root) {
        test_skip("there are no golden vectors; CENTRA_GOLDEN names their folder");
        return;
    }
    const size_t n = list_cases(root, prefix, names);
    EXPECT(n > 0);
    for (size_t i = 0; i < n; i++) {
        struct golden g = {.name = names[i]};
        snprintf(g.folder, sizeof g.folder, "%s/%s", root, names[i]);
        run_case(&g, check);
        free(names[i]);
    }
}

bool golden_read(const struct golden *g, const char *file, struct npy *out)
{
    char path[700];
    *out = (struct npy){0};
    snprintf(path, sizeof path, "%s/%s", g->folder, file);
    status st = npy_read(path, LIMIT_BYTES, out);
    if (st == OK && out->type == NPY_F32) st = npy_convert(out, NPY_F64, file);
    EXPECT_OK(st);
    return st == OK;
}

double golden_number(const struct golden *g, const char *name, double standard)
{
    const struct json *v = json_member(json_member(g->about, "options"), name);
    return v && (v->kind == JSON_INT || v->kind == JSON_REAL) ? v->real : standard;
}

static const struct json *outputs(const struct golden *g)
{
    return json_member(json_member(g->about, "files"), "outputs");
}

bool golden_has(const struct golden *g, const char *output) { return json_member(outputs(g), output) != NULL; }

struct distance {
    double error, size; /* by the case's metric */
};

static struct distance measure(const char *metric, const double *seen, const double *wanted, size_t n)
{
    struct distance max = {0, 0}, l2 = {0, 0};
    for (size_t i = 0; i < n; i++) {
        const double e = fabs(seen[i] - wanted[i]), w = fabs(wanted[i]);
        max.error = e <= max.error ? max.error : e; /* NaN stays */
        max.size = fmax(max.size, w);
        l2.error += e * e;
        l2.size += w * w;
    }
    return strcmp(metric, "l2") ? max : (struct distance){sqrt(l2.error), sqrt(l2.size)};
}

void golden_expect(const struct golden *g, const char *file, const double *seen, size_t n)
{
    struct npy wanted;
    const struct json *tolerance = json_member(json_member(json_member(g->about, "tolerance"), "per_file"), file);
    const struct json *metric = json_member(tolerance, "metric"), *limits = json_member(tolerance, dtype_name(g->type));
    const struct json *rel = json_member(limits, "rel"), *abs = json_member(limits, "abs");
    if (!rel || !abs || !metric) {
        test_failed(__FILE__, __LINE__, "%s has no tolerance for %s in %s", g->name, file, dtype_name(g->type));
        return;
    }
    if (golden_read(g, file, &wanted)) {
        EXPECT_INT(wanted.count, n);
        EXPECT_INT(wanted.type, NPY_F64);
        if (wanted.count == n && wanted.type == NPY_F64) {
            const struct distance d = measure(metric->string, seen, wanted.data, n);
            const double limit = abs->real + rel->real * d.size;
            if (!(d.error <= limit))
                test_failed(__FILE__, __LINE__, "%s, %s, %s: %s is off by %g, allowed %g", g->name, g->isa,
                            dtype_name(g->type), file, d.error, limit);
        }
    }
    npy_free(&wanted);
}

void golden_expect_only(const struct golden *g, const char *const *files)
{
    const struct json *all = outputs(g);
    EXPECT(all);
    for (const struct json *o = all ? all->first : NULL; o; o = o->next) {
        bool known = false;
        for (const char *const *f = files; *f; f++) known = known || !strcmp(*f, o->key);
        if (!known) test_failed(__FILE__, __LINE__, "%s: nothing here compares %s", g->name, o->key);
    }
}
