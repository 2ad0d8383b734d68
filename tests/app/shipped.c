/* shipped.c - the models that come along keep what models/README.md states: on built-in pictures the figure recorded here, on the
 * real test classes, where they are, those of its table. */
#include "base/file.h"
#include "data/tar.h"
#include "tests/app/program.h"
#include "tests/data/sample.h"
#include "tests/data/tar_write.h"
#include "tests/test.h"
#include <math.h>
#include <stdlib.h>

static const struct {
    const char *name, *set, *split; /* no split: all classes of the set */
    const char *patterns;           /* fewer for a larger network */
    double on_patterns;             /* percent, 5-way 1-shot, 300 episodes */
    int each;                       /* how many real pictures of each class: a large network takes long; 0: all */
} shipped[] = {
    {"resnet12-general", "flowers102.tar", NULL, "synth:1?train=2&val=2&test=8&pictures=25", 36.16, 0},
    {"conv4-mini", "mini84ravi-test.tar", "test", "synth:1", 40.92, 0},
    {"conv4-cub", "cub-valtest.tar", "test", "synth:1", 44.43, 0},
    {"conv4-cub-1shot", "cub-valtest.tar", "test", "synth:1", 45.92, 0},
    {"resnet12-cub-1shot", "cub-valtest.tar", "test", "synth:1?train=2&val=2&test=8&pictures=25", 33.00, 20}};
enum { SHIPPED = sizeof shipped / sizeof *shipped };

static const char *weights_of(size_t i)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/models/%s.safetensors", CENTRA_SOURCE_DIR, shipped[i].name);
    return path;
}

static double after(const char *all, const char *key)
{
    const char *at = strstr(all, key);
    return at ? strtod(at + strlen(key), NULL) : NAN;
}

static void play(size_t i, const char *data, const char *split, const char *shot, const char *episodes,
                 double *accuracy, double *interval)
{
    const char *words[] = {"eval", "--weights",  weights_of(i), "--data", data,      "--shot",
                           shot,   "--episodes", episodes,      "--json", "--quiet", split ? "--split" : NULL,
                           split,  NULL};
    struct ran r = program_run("", words);
    EXPECT_INT(r.status, 0);
    *accuracy = after(r.out, "\"accuracy\": ");
    *interval = after(r.out, "\"ci95\": ");
    ran_free(&r);
}

TEST(shipped_models_are_those_that_were_measured_on_built_in_pictures)
{
    if (test_is_about_figures()) return;
    for (size_t i = 0; i < SHIPPED; i++) {
        double accuracy, interval;
        play(i, shipped[i].patterns, "test", "1", "300", &accuracy, &interval);
        EXPECT_NEAR(accuracy, shipped[i].on_patterns,
                    0.2); /* a few of 22,500 answers may tip over on another processor */
    }
}

/* The row of the table: file | network | trained on | 5-shot | 1-shot | good for. */
static double stated(const char *table, size_t i, int shot)
{
    char key[128];
    snprintf(key, sizeof key, "\n| `%s.safetensors` |", shipped[i].name);
    const char *at = strstr(table, key);
    for (int bars = 0; at && bars < (shot == 5 ? 4 : 5); bars++) at = strchr(at + 1, '|');
    return at ? after(at, "| ") : NAN;
}

/* The first pictures of each class of a split, as a tar of their own. */
struct fewer {
    const unsigned char *bytes;
    text to;
    char class[256]; /* of the last one */
    const char *split;
    int each, taken;
};

static status take_few(void *context, const char *name, size_t at, size_t n)
{
    struct fewer *f = context;
    const size_t split = strlen(f->split), folder = (size_t)(strrchr(name, '/') - name);
    if (strncmp(name, f->split, split) != 0 || name[split] != '/' || folder >= sizeof f->class) return OK;
    if (strncmp(f->class, name, folder) != 0 || f->class[folder]) {
        snprintf(f->class, sizeof f->class, "%.*s", (int)folder, name);
        f->taken = 0;
    }
    if (f->taken++ < f->each) tar_add(&f->to, USTAR, '0', name, f->bytes + at, n);
    return OK;
}

/* Gives the path of the smaller tar. */
static const char *fewer_of(const char *path, const char *split, int each)
{
    const char *out = sample_path("fewer.tar");
    char *bytes = NULL;
    size_t n = 0;
    const status st = file_read(path, (size_t)1 << 28, &bytes, &n);
    EXPECT_OK(st);
    if (st != OK) return path;
    struct fewer f = {.bytes = (const unsigned char *)bytes, .split = split, .each = each};
    EXPECT_OK(tar_walk(path, f.bytes, n, take_few, &f));
    tar_end(&f.to);
    sample_file("fewer.tar", f.to.data, f.to.length);
    text_free(&f.to);
    free(bytes);
    return out;
}

TEST(shipped_models_have_the_stated_accuracy_on_real_test_classes)
{
    if (test_is_about_figures()) return;
    const char *folder = sample_real();
    char *table = NULL, path[4096];
    size_t bytes;
    if (!folder) return;
    REQUIRE(file_read(CENTRA_SOURCE_DIR "/models/README.md", 1 << 20, &table, &bytes) == OK);
    for (size_t i = 0; i < SHIPPED; i++) {
        const char *set = path;
        snprintf(path, sizeof path, "%s/%s", folder, shipped[i].set);
        if (shipped[i].each) set = fewer_of(path, shipped[i].split, shipped[i].each);
        for (int shot = 1; shot <= 5; shot += 4) {
            double accuracy, interval;
            play(i, set, shipped[i].split, shot == 1 ? "1" : "5", "400", &accuracy, &interval);
            EXPECT_NEAR(accuracy, stated(table, i, shot), 2 * interval); /* four standard errors */
        }
    }
    free(table);
}
