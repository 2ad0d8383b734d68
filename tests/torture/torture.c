/* torture.c - runs every command while the system fails in one way at a time, and asks of each run: it ends by itself and soon,
 * with a status that is ours, says why where it did not succeed, leaves no half-written file, and where it says that it
 * succeeded everything is there.
 *
 *     centra-torture PROGRAM SHIM [--sample N] [--kind NAME] [--scene NAME]
 *
 * Without --sample every allocation, every opened file and every read or write fails once; with it, about N of each. */
#include "base/file.h"
#include "base/text.h"
#include "tests/torture/child.h"
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct scene {
    const char *name;
    bool exact;
    const char *words[40];
};

static const struct scene scenes[] = {
#define SCENE(name, exact, ...) {#name, exact, {__VA_ARGS__, NULL}},
#include "tests/torture/scenes.def"
#undef SCENE
};
enum { SCENES = sizeof scenes / sizeof *scenes, SAMPLE_ALL = 1 << 30, ATTEMPTS = 3 };

/* What a good run gives. */
struct good {
    unsigned long allocations, opened, moved, flushed;
    char *out, *files;
};

static struct {
    const char *program, *shim, *kind, *scene;
    unsigned long sample;
    unsigned long runs, refused, warned, faults;
} run = {.sample = SAMPLE_ALL};

static void fault(const struct scene *s, const char *torture, const char *what, const struct outcome *o)
{
    printf("torture: %s under %s: %s (status %d): %.300s\n", s->name, torture, what, o->status, o->err);
    fflush(stdout);
    run.faults++;
}

/* Every file must be one of the good run's; a run that failed may lack some. */
static bool are_good(const char *files, const char *good)
{
    for (const char *line = files; *line;) {
        const size_t n = strcspn(line, "\n");
        const char *at = good;
        while (*at && (strncmp(at, line, n) || at[n] != '\n')) at += strcspn(at, "\n") + 1;
        if (!*at) return false;
        line += n + 1;
    }
    return true;
}

static void judge(const struct scene *s, const char *torture, const struct good *g, const struct outcome *o,
                  bool output_kept)
{
    char *files = left_behind();
    const bool stopped = !strncmp(torture, "stop:", 5) && o->status == 130;
    run.runs++;
    run.refused += o->status != 0;
    if (o->status >= 2000) fault(s, torture, "it hung", o);
    else if (o->status >= 1000 && !(o->status == 1000 + SIGPIPE && !output_kept))
        fault(s, torture, "a signal ended it", o);
    else if (o->status > 2 && o->status < 1000 && !stopped) fault(s, torture, "a strange status", o);
    else if (o->status && o->status < 1000 && !*o->err && !stopped) fault(s, torture, "it says nothing", o);
    else if (strstr(files, "/.centra-")) fault(s, torture, "a temporary file is left", o);
    else if (strstr(o->err, "warning") || strstr(o->err, "the others are done")) run.warned++;
    else if (s->exact && o->status && !are_good(files, g->files)) fault(s, torture, "half a file is left", o);
    else if (s->exact && !o->status && strcmp(files, g->files)) fault(s, torture, "files are missing or wrong", o);
    else if (s->exact && !o->status && output_kept && strcmp(o->out, g->out))
        fault(s, torture, "the output is wrong", o);
    else if (!o->status && !output_kept && *g->out) fault(s, torture, "lost output is called a success", o);
    free(files);
}

static void try(const struct scene *s, const char *torture, const struct good *g, const struct torture *t)
{
    struct outcome o = child_run(run.program, run.shim, s->words, t);
    if (t->read_only && o.status == 77) printf("torture: SKIPPED: this kernel has no Landlock for %s\n", torture);
    else judge(s, torture, g, &o, t->output == TO_FILE);
    outcome_free(&o);
}

static bool asked(const char *kind) { return !run.kind || !strcmp(run.kind, kind); }

/* One of `count` fails in each run, or about `sample` of them, evenly. */
static void each(const struct scene *s, const char *kind, unsigned long count, const struct good *g)
{
    const unsigned long stride = count > run.sample ? count / run.sample : 1;
    for (unsigned long n = 1 + stride / 2; n <= count && asked(kind); n += stride) {
        char torture[64];
        snprintf(torture, sizeof torture, "%s:%lu", kind, n);
        try(s, torture, g, &(struct torture){.shim = torture, .most_bytes = -1});
    }
}

static void others(const struct scene *s, const struct good *g)
{
    static const long sizes[] = {0, 1, 100, 1000, 4096, 10000, 65536};
    static const char *const shims[] = {"short:1", "short:2", "short:3", "signals:200", "signals:1000"};
    const bool writes = *g->files != 0, few = run.sample < 10;
    for (size_t i = 0; i < sizeof shims / sizeof *shims && asked("short"); i += few ? 3 : 1)
        try(s, shims[i], g, &(struct torture){.shim = shims[i], .most_bytes = -1});
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && asked("full"); i += few ? 3 : 1) {
        char torture[64];
        snprintf(torture, sizeof torture, "a disk full after %ld bytes of a file", sizes[i]);
        try(s, torture, g, &(struct torture){.most_bytes = sizes[i]});
    }
    if (asked("output")) {
        try(s, "a full standard output", g, &(struct torture){.most_bytes = -1, .output = TO_FULL_DEVICE});
        try(s, "a standard output that nobody reads", g, &(struct torture){.most_bytes = -1, .output = TO_CLOSED_PIPE});
    }
    if (asked("readonly") && writes)
        try(s, "read-only folders", g, &(struct torture){.most_bytes = -1, .read_only = true});
}

static bool run_well(const struct scene *s, struct good *g)
{
    char here[1024], counts[1100];
    if (!getcwd(here, sizeof here)) return false;
    snprintf(counts, sizeof counts, "%s/counts", here);
    struct outcome o = child_run(run.program, run.shim, s->words,
                                 &(struct torture){.counts = counts, .most_bytes = -1});
    FILE *f = fopen("counts", "r");
    const bool counted = f && fscanf(f, "%lu %lu %lu %lu", &g->allocations, &g->opened, &g->moved, &g->flushed) == 4;
    if (f) fclose(f);
    if (o.status || !counted) printf("torture: %s fails without any: status %d, %s\n", s->name, o.status, o.err);
    g->out = o.out;
    g->files = left_behind();
    free(o.err);
    return !o.status && counted;
}

static void torture_scene(const struct scene *s)
{
    struct good g = {0};
    const unsigned long runs = run.runs, refused = run.refused, faults = run.faults;
    if (!run_well(s, &g)) {
        run.faults++;
    } else {
        each(s, "alloc", g.allocations, &g);
        each(s, "gone", g.opened, &g);
        each(s, "broken", g.moved, &g);
        if (s->exact) each(s, "stop", g.flushed, &g); /* the library's own writing in a long call is not held */
        others(s, &g);
        printf("%-16s %6lu allocations, %3lu files, %3lu transfers: %6lu runs, %6lu refused, %lu faults\n", s->name,
               g.allocations, g.opened, g.moved, run.runs - runs, run.refused - refused, run.faults - faults);
        fflush(stdout);
    }
    free(g.out);
    free(g.files);
}

/* The folder in/ */

static bool write_file(const char *path, const void *bytes, size_t n)
{
    struct file_writer w;
    if (file_begin(path, &w) != OK) return false;
    file_put(&w, bytes, n);
    return file_commit(&w) == OK;
}

/* A small .npy: the header is padded to 128 bytes. */
static bool write_npy(const char *path, const char *type, const char *shape, const void *numbers, size_t bytes)
{
    char all[256];
    const int n = snprintf(all, sizeof all, "\x93NUMPY\x01%cv%c{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
                           0, 0, type, shape);
    memset(all + n, ' ', 128 - (size_t)n);
    all[127] = '\n';
    memcpy(all + 128, numbers, bytes);
    return write_file(path, all, 128 + bytes);
}

static bool setup_run(const char *const *words)
{
    struct outcome o = child_run(run.program, run.shim, words, &(struct torture){.most_bytes = -1});
    if (o.status) printf("torture: the setup fails: %s\n", o.err);
    const bool good = o.status == 0;
    outcome_free(&o);
    return good;
}

#define RECIPE(head, stage) \
    "[data]\nside = 16\npad = 2\n[net]\nwidth = 4\n[head]\nname = " head "\n[validate]\nepisodes = 2\nway = 2\n" \
    "query = 1\n[train]\nepochs = 1\nrate = 0.01\n" stage

static bool setup(void)
{
    static const float support[] = {1, 0, 0, 1}, query[] = {1, 2, 0, 1};
    static const int labels[] = {0, 1};
    static const char episodic[] = RECIPE("mcl-katz", "episodes = 2\nway = 2\nquery = 1\n");
    static const char pretrain[] = RECIPE("linear", "stage = pretrain\nbatch = 4\n");
    return mkdir("in", 0700) == 0 && write_npy("in/support.npy", "<f4", "(2, 2, 1)", support, sizeof support) &&
           write_npy("in/labels.npy", "<i4", "(2,)", labels, sizeof labels) &&
           write_npy("in/query.npy", "<f4", "(1, 2, 2)", query, sizeof query) &&
           write_file("in/tiny.txt", episodic, sizeof episodic - 1) &&
           write_file("in/tiny-pretrain.txt", pretrain, sizeof pretrain - 1) &&
           setup_run((const char *const[]){"data", "synth", "--out", "in/set", "--classes", "3,2,2", "--pictures", "4",
                                           "--side", "24", "--quiet", NULL}) &&
           setup_run((const char *const[]){"data", "pack", "in/set", "in/set.pack", "--quiet", NULL}) &&
           setup_run(
               (const char *const[]){"train", "in/tiny.txt", "--data", "in/set", "--out", "in/tiny", "--quiet", NULL});
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/centra-torture-XXXXXX", program[PATH_MAX], shim[PATH_MAX];
    if (argc < 3 || !realpath(argv[1], program) || !realpath(argv[2], shim)) {
        fprintf(stderr, "usage: centra-torture PROGRAM SHIM [--sample N] [--kind NAME] [--scene NAME]\n");
        return 2;
    }
    run.program = program;
    run.shim = shim;
    for (int i = 3; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--sample")) run.sample = strtoul(argv[i + 1], NULL, 10);
        if (!strcmp(argv[i], "--kind")) run.kind = argv[i + 1];
        if (!strcmp(argv[i], "--scene")) run.scene = argv[i + 1];
    }
    if (!mkdtemp(folder) || chdir(folder) || !setup()) return 1;
    for (size_t i = 0; i < SCENES; i++)
        if (!run.scene || !strcmp(run.scene, scenes[i].name)) torture_scene(&scenes[i]);
    printf("torture: %lu runs, %lu refused, %lu with warnings, %lu faults\n", run.runs, run.refused, run.warned,
           run.faults);
    empty_out();
    if (chdir("/") == 0) {
        char remove[64];
        snprintf(remove, sizeof remove, "rm -r %s", folder);
        if (system(remove)) return 1;
    }
    return run.runs == 0 || run.faults > 0;
}
