/* run.c - runs: stopped, killed and resumed they end with the same numbers; folders are guarded. */
#include "train/run.h"
#include "base/file.h"
#include "tests/heads/rig.h"
#include "tests/test.h"
#include "tests/train/rig.h"
#include "train/arrays.h"
#include "train/folder.h"
#include "train/metrics.h"
#include "weights/weights.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct plot {       /* when to stop */
    uint64_t steps; /* after so many steps of this sitting */
    bool at_epoch, at_validation, killed;
    uint64_t seen;
};

static bool follow(void *context, const struct run_progress *p)
{
    struct plot *plot = context;
    if (plot->at_epoch && p->phase == RUN_EPOCH_DONE) return false;
    if (plot->at_validation && p->phase == RUN_VALIDATING) return false;
    if (p->phase != RUN_STEP || ++plot->seen != plot->steps) return true;
    if (plot->killed) kill(getpid(), SIGKILL);
    return false;
}

struct sitting {
    const char *recipe, *name; /* added to the tiny one; of the folder */
    bool resume, force;
    bool apart; /* as if the device's memory were not the host's */
    size_t threads;
    size_t fail_at;   /* the allocation that fails; 0: none */
    const char *root; /* where the run's folder lies; NULL: the test's */
    struct plot plot;
};

static const char *folder_of(const char *name)
{
    static char path[2][512];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", test_folder(), name);
    return path[turn];
}

static status sit(struct sitting s, struct run_result *out)
{
    struct world w;
    struct run_settings settings;
    char data[512];
    arena *memory = arena_new(4096);
    snprintf(data, sizeof data, "%s/data", test_folder());
    if (!file_exists(data) && !data_folder(4, 5)) return fail(ST_IO, "no data");
    status st = tiny_settings(&settings, memory, s.recipe);
    if (st == OK && !rig_open(&w, NULL, s.threads ? s.threads : 2, DT_F32)) st = fail(ST_IO, "no device");
    if (st == OK) {
        char folder[600];
        snprintf(folder, sizeof folder, "%s/%s", s.root ? s.root : test_folder(), s.name);
        const struct run_options o = {.device = w.dev,
                                      .threads = w.threads,
                                      .settings = &settings,
                                      .data = data,
                                      .folder = folder,
                                      .resume = s.resume,
                                      .force = s.force,
                                      .checkpoint_steps = 2,
                                      .progress = follow,
                                      .context = &s.plot};
        if (s.apart) w.dev->on_host = false;
        alloc_fail_at(s.fail_at);
        st = run_train(&o, out);
        alloc_fail_at(0);
        world_close(&w);
    }
    arena_free(memory);
    return st;
}

/* The numbers of a file of a run. */
static void numbers(const char *run, const char *file, char hex[65])
{
    struct weights *w = NULL;
    char path[600];
    hex[0] = 0;
    snprintf(path, sizeof path, "%s/%s", folder_of(run), file);
    EXPECT_OK(weights_open(path, &w));
    if (w) EXPECT_OK(weights_fingerprint(w, hex));
    weights_close(w);
}

static void expect_same_metrics(const char *a, const char *b)
{
    arena *memory = arena_new(4096);
    struct metrics_line *x = NULL, *y = NULL;
    size_t nx = 0, ny = 0;
    char path[600];
    snprintf(path, sizeof path, "%s/metrics.jsonl", folder_of(a));
    EXPECT_OK(metrics_read(path, memory, &x, &nx));
    snprintf(path, sizeof path, "%s/metrics.jsonl", folder_of(b));
    EXPECT_OK(metrics_read(path, memory, &y, &ny));
    EXPECT_INT(nx, ny);
    for (size_t i = 0; i < nx && nx == ny; i++)
        EXPECT(x[i].epoch == y[i].epoch && x[i].step == y[i].step && x[i].loss == y[i].loss &&
               x[i].accuracy == y[i].accuracy && x[i].rate == y[i].rate && x[i].best == y[i].best &&
               x[i].validation.count == y[i].validation.count &&
               (!x[i].validation.count ||
                (x[i].validation.mean == y[i].validation.mean && x[i].validation.half == y[i].validation.half)));
    arena_free(memory);
}

static void expect_same_run(const char *a, const char *b)
{
    static const char *const files[] = {"best.safetensors", "last.ckpt"};
    for (int i = 0; i < 2; i++) {
        char x[65], y[65];
        numbers(a, files[i], x);
        numbers(b, files[i], y);
        EXPECT_TEXT(x, y);
    }
    expect_same_metrics(a, b);
}

TEST(a_run_that_was_stopped_anywhere_ends_as_if_it_had_not_been)
{
    static const struct plot stops[] = {{.at_epoch = true}, {.steps = 1}, {.steps = 5}, {.at_validation = true}};
    struct run_result whole, part;
    REQUIRE(sit((struct sitting){.name = "whole"}, &whole) == OK);
    EXPECT(whole.epochs == 3 && whole.steps == 9 && !whole.stopped && whole.best_epochs > 0);
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        REQUIRE(sit((struct sitting){.name = "part", .force = i > 0, .plot = stops[i]}, &part) == OK);
        EXPECT(part.stopped && part.epochs < 3);
        REQUIRE(sit((struct sitting){.name = "part", .resume = true}, &part) == OK);
        EXPECT(part.epochs == 3 && part.steps == 9 && !part.stopped && part.best == whole.best);
        expect_same_run("part", "whole");
    }
}

TEST(a_run_that_was_stopped_while_its_average_was_validated_counts_no_epoch_twice)
{
    struct run_result out;
    const char *recipe = "train.average=0.5";
    REQUIRE(sit((struct sitting){.name = "whole", .recipe = recipe}, &out) == OK);
    REQUIRE(sit((struct sitting){.name = "part", .recipe = recipe, .plot = {.at_validation = true}}, &out) == OK);
    EXPECT(out.stopped);
    REQUIRE(sit((struct sitting){.name = "part", .recipe = recipe, .resume = true}, &out) == OK);
    expect_same_run("part", "whole");
}

static void weight_of(const char *run, float *out, size_t n)
{
    struct weights *w = NULL;
    char path[600];
    snprintf(path, sizeof path, "%s/best.safetensors", folder_of(run));
    EXPECT_OK(weights_open(path, &w));
    const struct named_array *a = w ? weights_at(w, 0) : NULL;
    EXPECT(a && a->bytes >= n * sizeof *out);
    if (a && a->bytes >= n * sizeof *out) memcpy(out, a->data, n * sizeof *out);
    weights_close(w);
}

/* Training is not changed by it, so the mean of what runs of one and of two epochs keep is known. */
TEST(a_run_keeps_the_average_of_its_epochs)
{
    enum { LOOKED_AT = 4 };
    static const struct {
        const char *name, *recipe;
    } runs[] = {{"one", "train.epochs=1 validate.every=0 validate.select=last"},
                {"two", "train.epochs=2 validate.every=0 validate.select=last"},
                {"mean", "train.epochs=2 validate.every=0 validate.select=last train.average=0.9"}};
    struct run_result out;
    float x[3][LOOKED_AT] = {{0}};
    for (int i = 0; i < 3; i++) {
        REQUIRE(sit((struct sitting){.name = runs[i].name, .recipe = runs[i].recipe}, &out) == OK);
        weight_of(runs[i].name, x[i], LOOKED_AT);
    }
    for (int i = 0; i < LOOKED_AT; i++) {
        EXPECT(x[0][i] != x[1][i]);
        EXPECT_NEAR(x[2][i], (x[0][i] + x[1][i]) / 2, 1e-6);
    }
}

/* The unrepeated sampler, Adam, a schedule and pre-training have states of their own. */
TEST(a_run_of_every_kind_goes_on_where_it_was)
{
    static const char *const recipes[] = {
        "train.sampler=unrepeated train.batch=1",
        "train.average=0.6",
        "train.optimiser=adam train.rate=0.001 train.schedule=cosine",
        "train.stage=pretrain head.name=frn train.batch=7 data.transform=jitter",
        "validate.every=0 validate.select=last data.transform=pad data.pad=8 data.side=20",
        "net.extractor=grid-2,1",
        "data.side=32 net.extractor=pyramid-2,1",
        "train.stage=pretrain head.name=frn train.batch=7 net.extractor=grid-2"};
    struct run_result out;
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        REQUIRE(sit((struct sitting){.recipe = recipes[i], .name = "whole", .force = i > 0}, &out) == OK);
        EXPECT_INT(out.epochs, 3);
        REQUIRE(sit((struct sitting){.recipe = recipes[i], .name = "part", .force = i > 0, .plot = {.steps = 2}},
                    &out) == OK);
        EXPECT(out.stopped);
        REQUIRE(sit((struct sitting){.recipe = recipes[i], .name = "part", .resume = true}, &out) == OK);
        expect_same_run("part", "whole");
    }
}

/* The device shows the pictures and adds up what was learnt; nothing else changes, wherever a run is cut. */
TEST(a_run_with_its_pictures_on_the_device_gives_the_same_numbers)
{
    static const char *const recipes[] = {"", "train.batch=2 train.optimiser=adam train.rate=0.001",
                                          "data.transform=jitter net.bn-joint=yes",
                                          "train.stage=pretrain head.name=linear train.batch=7 data.transform=pad "
                                          "data.pad=8 data.side=20 validate.every=0 "
                                          "validate.select=last"};
    struct run_result host, part;
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        const bool again = i > 0;
        const struct sitting device = {.recipe = recipes[i], .name = "device", .apart = true};
        struct sitting cut = device, rest = device;
        REQUIRE(sit((struct sitting){.recipe = recipes[i], .name = "host", .force = again}, &host) == OK);
        cut.force = again;
        cut.plot.steps = i + 1;
        REQUIRE(sit(cut, &part) == OK);
        EXPECT(part.stopped);
        rest.resume = true;
        REQUIRE(sit(rest, &part) == OK);
        EXPECT(part.loss == host.loss && part.accuracy == host.accuracy && part.best == host.best);
        expect_same_run("device", "host");
    }
}

TEST(a_run_that_breaks_down_on_the_device_keeps_its_last_good_checkpoint)
{
    struct run_result out;
    char kept[2][65];
    const char *recipe = "train.rate=1000 train.momentum=1000 train.epochs=100 validate.every=0 validate.select=last";
    struct sitting s = {.name = "run", .recipe = recipe, .apart = true};
    for (int i = 0; i < 2; i++) { /* the second goes on from what the first left behind, and breaks down again */
        EXPECT_STATUS(sit(s, &out), ST_NUMERIC);
        EXPECT(strstr(error_text(), "training broke down in step ") && strstr(error_text(), "'layer"));
        numbers("run", "last.ckpt", kept[i]);
        s.resume = true;
    }
    EXPECT(kept[0][0]);
    EXPECT_TEXT(kept[1], kept[0]);
}

TEST(a_run_can_be_given_more_epochs)
{
    struct run_result out;
    REQUIRE(sit((struct sitting){.name = "whole"}, &out) == OK);
    REQUIRE(sit((struct sitting){.name = "part", .recipe = "train.epochs=1"}, &out) == OK);
    EXPECT(out.epochs == 1 && !out.stopped);
    REQUIRE(sit((struct sitting){.name = "part", .resume = true}, &out) == OK);
    EXPECT_INT(out.epochs, 3);
    expect_same_run("part", "whole");
    REQUIRE(sit((struct sitting){.name = "part", .resume = true}, &out) == OK); /* nothing is left to do */
    EXPECT(out.epochs == 3 && out.steps == 9);
    expect_same_run("part", "whole");
}

TEST(a_run_that_was_killed_goes_on_from_its_last_checkpoint)
{
    struct run_result out;
    int how = 0;
    if (UNDER_ASAN || UNDER_TSAN) {
        test_skip("a forked child can hang on the sanitizer's locks");
        return;
    }
    REQUIRE(data_folder(4, 5) && sit((struct sitting){.name = "whole"}, &out) == OK);
    for (uint64_t steps = 2; steps <= 5; steps += 3) {
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            sit((struct sitting){.name = "part", .force = true, .plot = {.steps = steps, .killed = true}}, &out);
            _exit(0);
        }
        REQUIRE(waitpid(child, &how, 0) == child);
        EXPECT(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
        REQUIRE(sit((struct sitting){.name = "part", .resume = true}, &out) == OK);
        expect_same_run("part", "whole");
    }
}

static void copy_file(const char *from, const char *to)
{
    char *bytes = NULL;
    size_t n = 0;
    struct file_writer w;
    EXPECT_OK(file_read(from, 1 << 24, &bytes, &n));
    EXPECT_OK(file_begin(to, &w));
    file_put(&w, bytes, n);
    EXPECT_OK(file_commit(&w));
    free(bytes);
}

/* As when the end of the last epochs was written, but not the checkpoint behind it. */
TEST(a_run_goes_on_from_a_checkpoint_that_is_older_than_its_metrics)
{
    struct run_result out;
    char last[600], older[600];
    snprintf(last, sizeof last, "%s/part/last.ckpt", test_folder());
    snprintf(older, sizeof older, "%s/older.ckpt", test_folder());
    REQUIRE(sit((struct sitting){.name = "whole"}, &out) == OK);
    REQUIRE(sit((struct sitting){.name = "part", .plot = {.steps = 5}}, &out) == OK);
    copy_file(last, older);
    REQUIRE(sit((struct sitting){.name = "part", .resume = true}, &out) == OK);
    copy_file(older, last);
    REQUIRE(sit((struct sitting){.name = "part", .resume = true}, &out) == OK);
    EXPECT_INT(out.epochs, 3);
    expect_same_run("part", "whole");
}

static void expect_course(const char *more)
{
    struct run_result out;
    struct lessons l;
    struct taught now;
    struct metrics_line *lines = NULL;
    size_t count = 0, right = 0, asked = 0;
    double loss = 0;
    char path[600], seen[65], wanted[65];
    char recipe[200];
    snprintf(recipe, sizeof recipe, "train.epochs=1 %s", more);
    REQUIRE(lessons_open(&l, 1, more));
    for (int i = 0; i < 3; i++) {
        REQUIRE(lessons_step(&l, &now) == OK);
        loss += now.loss * (double)now.asked;
        right += now.right;
        asked += now.asked;
    }
    REQUIRE(sit((struct sitting){.name = "run", .force = *more, .recipe = recipe}, &out) == OK);
    snprintf(path, sizeof path, "%s/metrics.jsonl", folder_of("run"));
    REQUIRE(metrics_read(path, l.memory, &lines, &count) == OK && count == 1);
    EXPECT_NEAR(lines[0].loss, loss / (double)asked, 0);
    EXPECT_NEAR(lines[0].accuracy, (double)right / (double)asked, 0);
    struct arrays a = {0};
    EXPECT_OK(arrays_add(&a, "", l.trainer->model.params, NULL));
    snprintf(path, sizeof path, "%s/steps.safetensors", test_folder());
    EXPECT_OK(weights_write(path, a.count, a.item, 0, NULL));
    arrays_free(&a);
    numbers(".", "steps.safetensors", wanted);
    numbers("run", "best.safetensors", seen);
    EXPECT_TEXT(seen, wanted);
    lessons_close(&l);
}

/* The loader brings what the course names, cropped by the course's streams; metrics are means over the epoch. */
TEST(a_run_measures_the_steps_of_its_course)
{
    expect_course("");
    expect_course("net.extractor=grid-2,1");
}

TEST(a_run_does_not_depend_on_the_number_of_threads)
{
    struct run_result out;
    static const char *const recipes[] = {"", "net.extractor=grid-2,1"};
    for (int i = 0; i < 2; i++) {
        REQUIRE(sit((struct sitting){.name = "one", .recipe = recipes[i], .force = i, .threads = 1}, &out) == OK);
        REQUIRE(sit((struct sitting){.name = "three", .recipe = recipes[i], .force = i, .threads = 3}, &out) == OK);
        expect_same_run("one", "three");
    }
}

TEST(a_run_is_neither_overwritten_nor_shared_nor_made_up)
{
    struct run_result out;
    struct run_folder folder;
    REQUIRE(sit((struct sitting){.name = "run", .recipe = "train.epochs=1"}, &out) == OK);
    EXPECT_STATUS(sit((struct sitting){.name = "run"}, &out), ST_IO);
    EXPECT(strstr(error_text(), "--resume") != NULL && strstr(error_text(), "--force") != NULL);
    EXPECT_STATUS(sit((struct sitting){.name = "none", .resume = true}, &out), ST_IO);
    EXPECT(!file_exists(folder_of("none")));
    REQUIRE(run_folder_open(folder_of("run"), true, false, &folder) == OK);
    EXPECT_STATUS(sit((struct sitting){.name = "run", .resume = true}, &out), ST_IO);
    EXPECT(strstr(error_text(), "another run is at work") != NULL);
    run_folder_close(&folder);
    EXPECT_OK(sit((struct sitting){.name = "run", .resume = true, .recipe = "train.epochs=1"}, &out));
}

/* What is refused leaves the run in the folder as it was. */
TEST(a_run_of_another_recipe_is_refused_and_stays)
{
    struct run_result out;
    char before[65], after[65];
    REQUIRE(sit((struct sitting){.name = "run", .recipe = "train.epochs=1"}, &out) == OK);
    numbers("run", "last.ckpt", before);
    EXPECT_STATUS(
        sit((struct sitting){.name = "run", .resume = true, .recipe = "net.name=conv4-19 data.side=32"}, &out),
        ST_VALUE);
    EXPECT(strstr(error_text(), "another recipe") != NULL);
    EXPECT_STATUS(sit((struct sitting){.name = "run", .resume = true, .recipe = "net.width=6"}, &out), ST_VALUE);
    EXPECT(strstr(error_text(), "[net] width = 8 there, width = 6 here") != NULL);
    EXPECT_STATUS(sit((struct sitting){.name = "run", .force = true, .recipe = "train.way=5"}, &out), ST_VALUE);
    EXPECT_STATUS(sit((struct sitting){.name = "run", .force = true, .recipe = "validate.query=9"}, &out), ST_VALUE);
    numbers("run", "last.ckpt", after);
    EXPECT_TEXT(after, before);
}

TEST(a_run_without_memory_says_so_and_leaks_nothing)
{
    struct run_result out;
    REQUIRE(data_folder(4, 5) != NULL);
    bool failed = true;
    for (size_t n = 1; failed; n += 1 + n / 4) {
        const size_t live = alloc_live();
        const status st = sit((struct sitting){.name = "run",
                                               .recipe = "train.epochs=1 train.episodes=2 validate.episodes=2 "
                                                         "train.average=0.5",
                                               .force = true,
                                               .apart = n % 2,
                                               .fail_at = n},
                              &out);
        failed = alloc_did_fail();
        EXPECT(st == OK || st == ST_MEMORY); /* OK: a picture that could not be read was replaced */
        EXPECT_INT(alloc_live(), live);
    }
}

/* On a disk with room for the start but not for all of it. */
TEST(a_run_on_a_full_disk_stops_and_its_checkpoint_is_good)
{
    struct run_result out;
    char disk[512];
    snprintf(disk, sizeof disk, "%s/disk", test_folder());
    REQUIRE(data_folder(4, 5) != NULL && mkdir(disk, 0777) == 0);
    if (mount("tmpfs", disk, "tmpfs", 0, "size=64k")) {
        test_skip("only root can mount a small disk");
        return;
    }
    const status st = sit((struct sitting){.name = "run", .root = disk}, &out);
    EXPECT_STATUS(st, ST_IO);
    EXPECT(strstr(error_text(), "No space left") != NULL);
    char path[600], hex[65];
    struct weights *w = NULL;
    snprintf(path, sizeof path, "%s/run/last.ckpt", disk);
    EXPECT_OK(weights_open(path, &w));
    if (w) EXPECT_OK(weights_fingerprint(w, hex));
    weights_close(w);
    EXPECT_OK(umount(disk) ? ST_IO : OK);
}

TEST(the_kept_model_says_what_it_is_but_not_where_its_pictures_lie)
{
    static const char *const keys[][2] = {{"backbone", "conv4"}, {"head", "mcl-katz"}, {"extractor", "grid-2"},
                                          {"input", "16"},       {"classes", "4"},     {"epochs", NULL},
                                          {"accuracy", NULL},    {"recipe", NULL},     {"data_fingerprint", NULL}};
    struct run_result out;
    struct weights *w = NULL;
    char path[600];
    REQUIRE(sit((struct sitting){.name = "run", .recipe = "train.epochs=1 net.extractor=grid-2"}, &out) == OK);
    snprintf(path, sizeof path, "%s/best.safetensors", folder_of("run"));
    REQUIRE(weights_open(path, &w) == OK);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *value = weights_meta(w, keys[i][0]);
        EXPECT(value && *value);
        if (keys[i][1]) EXPECT_TEXT(value, keys[i][1]);
    }
    EXPECT_INT(weights_count(w), 20);
    EXPECT(!strstr(weights_meta(w, "recipe"), test_folder()));
    weights_close(w);
}
