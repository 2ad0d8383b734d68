/* training.c - runs that several processes share: the same course and, to rounding, the same numbers as one alone. */
#include "base/file.h"
#include "tests/heads/rig.h"
#include "tests/peers/circle.h"
#include "tests/test.h"
#include "tests/train/rig.h"
#include "train/metrics.h"
#include "train/run.h"
#include "weights/weights.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct sitting {
    const char *recipe, *name;
    bool resume, in_order;
    bool apart;               /* as if the device's memory were not the host's */
    int odd;                  /* the rank that has ... */
    const char *seed;         /* another seed, */
    const char *data;         /* other pictures, */
    const char *version;      /* another version, */
    uint64_t stops;           /* and wants to stop after so many steps */
    struct run_result result; /* of rank 0 */
};

struct sitter {
    const struct sitting *s;
    bool odd;
    uint64_t seen;
};

static bool follow(void *context, const struct run_progress *p)
{
    struct sitter *f = context;
    return !(f->odd && f->s->stops && p->phase == RUN_STEP && ++f->seen == f->s->stops);
}

static status sit_one(void *context, struct peers *p)
{
    struct sitting *s = context;
    struct world w;
    struct run_settings settings;
    struct run_result result;
    struct sitter f = {.s = s, .odd = p->rank == s->odd};
    char data[512], folder[512], recipe[512];
    arena *memory = arena_new(4096);
    snprintf(data, sizeof data, "%s/%s", test_folder(), f.odd && s->data ? s->data : "data");
    snprintf(folder, sizeof folder, "%s/%s", test_folder(), s->name);
    snprintf(recipe, sizeof recipe, "%s%s%s", s->recipe, f.odd && s->seed ? " train.seed=" : "",
             f.odd && s->seed ? s->seed : "");
    status st = tiny_settings(&settings, memory, recipe);
    if (st == OK && !strcmp(settings.net.name, "resnet12")) /* the width of the tiny recipe is Conv-4's */
        settings.net.options.item[0] = settings.net.options.item[--settings.net.options.count];
    if (st == OK && !rig_open(&w, NULL, 1, DT_F32)) st = fail(ST_IO, "no device");
    if (st == OK) {
        const struct run_options o = {.device = w.dev,
                                      .threads = w.threads,
                                      .peers = p,
                                      .in_order = s->in_order,
                                      .settings = &settings,
                                      .data = data,
                                      .folder = folder,
                                      .resume = s->resume,
                                      .force = !s->resume,
                                      .checkpoint_steps = 2,
                                      .version = f.odd && s->version ? s->version : "1.0",
                                      .progress = follow,
                                      .context = &f};
        if (s->apart) w.dev->on_host = false;
        st = run_train(&o, &result);
        if (p->rank == 0) s->result = result;
        world_close(&w);
    }
    arena_free(memory);
    return st;
}

static bool sit(int size, struct sitting *s)
{
    struct circle_end end[CIRCLE_MOST];
    const bool good = circle_run(size, sit_one, s, end);
    for (int r = 0; r < size && !good; r++)
        if (end[r].st != OK) test_failed(__FILE__, __LINE__, "rank %d of %d: %s", r, size, end[r].text);
    return good;
}

static void make_data(void)
{
    char path[512];
    snprintf(path, sizeof path, "%s/data", test_folder());
    if (!file_exists(path)) REQUIRE(data_folder(4, 5));
}

/* The largest difference of two files' numbers, relative to the largest number of their tensor. */
static double distance(const char *a, const char *b, const char *file)
{
    struct weights *w[2] = {NULL, NULL};
    double most = 0;
    for (int i = 0; i < 2; i++) {
        char path[600];
        snprintf(path, sizeof path, "%s/%s/%s", test_folder(), i ? b : a, file);
        if (weights_open(path, &w[i]) != OK) test_failed(__FILE__, __LINE__, "%s", error_text());
    }
    for (size_t i = 0; w[0] && w[1] && i < weights_count(w[0]); i++) {
        const struct named_array *x = weights_at(w[0], i), *y = weights_find(w[1], x->name);
        double scale = 1e-3, far = 0;
        if (!y || y->bytes != x->bytes) return INFINITY;
        for (size_t k = 0; k < x->bytes / sizeof(float); k++) {
            const double u = (double)((const float *)x->data)[k], v = (double)((const float *)y->data)[k];
            scale = fmax(scale, fabs(u));
            far = fmax(far, fabs(u - v));
        }
        most = fmax(most, far / scale);
    }
    for (int i = 0; i < 2; i++) weights_close(w[i]);
    return most;
}

static double loss_of(const char *run, size_t epoch)
{
    arena *memory = arena_new(4096);
    struct metrics_line *lines = NULL;
    size_t n = 0;
    char path[600];
    snprintf(path, sizeof path, "%s/%s/metrics.jsonl", test_folder(), run);
    EXPECT_OK(metrics_read(path, memory, &lines, &n));
    const double loss = epoch < n ? lines[epoch].loss : (double)NAN;
    arena_free(memory);
    return loss;
}

/* Two epochs: what differs by rounding grows with every step. */
static const char *const kinds[] = {
    "train.epochs=2 train.parts=4 train.batch=4 train.episodes=8",
    "train.epochs=2 train.parts=4 train.batch=5 train.episodes=7 net.bn-joint=yes", /* uneven parts; a short step */
    "train.epochs=2 train.parts=4 train.batch=4 train.episodes=5 train.optimiser=adam train.rate=0.001",
    "train.epochs=2 train.parts=4 train.stage=pretrain head.name=linear train.batch=9",
    "train.epochs=2 train.parts=4 train.batch=4 train.sampler=unrepeated"};

TEST(ranks_that_share_a_run_end_with_the_numbers_of_one)
{
    make_data();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct sitting one = {.recipe = kinds[i], .name = "one", .odd = -1};
        REQUIRE(sit(1, &one));
        for (int size = 2; size <= 4; size++) {
            struct sitting many = {.recipe = kinds[i], .name = "many", .odd = -1};
            REQUIRE(sit(size, &many));
            EXPECT_INT(many.result.steps, one.result.steps);
            EXPECT_NEAR(loss_of("many", 0), loss_of("one", 0), 1e-5);
            EXPECT_NEAR(many.result.accuracy, one.result.accuracy, 0.05);
            EXPECT(distance("one", "many", "last.ckpt") < 2e-4);
        }
    }
}

TEST(parts_are_computed_and_not_left_out)
{
    make_data();
    struct sitting four = {.recipe = kinds[0], .name = "four", .odd = -1};
    struct sitting whole = {.recipe = "train.epochs=2 train.batch=4 train.episodes=8", .name = "whole", .odd = -1};
    struct sitting less = {.recipe = "train.epochs=2 train.batch=1 train.episodes=2", .name = "less", .odd = -1};
    REQUIRE(sit(1, &four) && sit(1, &whole) && sit(1, &less));
    EXPECT(four.result.steps == 4 && whole.result.steps == 4 && less.result.steps == 4);
    /* statistics of the parts make another run of it, but one of the same lessons */
    EXPECT(distance("four", "whole", "last.ckpt") > 1e-3);
    EXPECT(fabs(loss_of("four", 0) - loss_of("whole", 0)) < 0.5);
    EXPECT(distance("four", "less", "last.ckpt") > 1e-3);
}

TEST(a_shared_run_in_order_repeats_bit_for_bit)
{
    make_data();
    struct sitting a = {.recipe = kinds[1], .name = "a", .odd = -1, .in_order = true}, b = a, free_order = a;
    b.name = "b";
    free_order.name = "c";
    free_order.in_order = false;
    REQUIRE(sit(3, &a) && sit(3, &b) && sit(3, &free_order));
    EXPECT(distance("a", "b", "last.ckpt") == 0 && distance("a", "b", "best.safetensors") == 0);
    EXPECT(loss_of("a", 0) == loss_of("b", 0) && loss_of("a", 1) == loss_of("b", 1));
    EXPECT(distance("a", "c", "last.ckpt") > 0); /* or the order would not matter */
}

TEST(a_shared_run_with_its_pictures_on_devices_gives_the_same_numbers)
{
    make_data();
    struct sitting host = {.recipe = kinds[1], .name = "host", .odd = -1, .in_order = true}, device = host;
    device.name = "device";
    device.apart = true;
    REQUIRE(sit(2, &host) && sit(2, &device));
    EXPECT(distance("host", "device", "last.ckpt") == 0);
    EXPECT_NEAR(loss_of("device", 1), loss_of("host", 1), 1e-9);
    EXPECT(device.result.accuracy == host.result.accuracy && device.result.best == host.result.best);
}

TEST(a_shared_run_that_one_rank_stopped_goes_on_with_any_number)
{
    make_data();
    struct sitting whole = {.recipe = kinds[0], .name = "whole", .odd = -1};
    REQUIRE(sit(4, &whole));
    for (int size = 1; size <= 4; size++) {
        struct sitting part = {.recipe = kinds[0], .name = "part", .odd = 2, .stops = 1}, rest = part;
        REQUIRE(sit(4, &part));
        EXPECT(part.result.stopped && part.result.steps == 2); /* one step later: the others have to hear of it */
        rest.resume = true;
        rest.stops = 0;
        REQUIRE(sit(size, &rest));
        EXPECT(!rest.result.stopped && rest.result.steps == whole.result.steps);
        EXPECT(distance("whole", "part", "last.ckpt") < 2e-4);
    }
}

TEST(ranks_that_are_about_to_do_something_else_are_named)
{
    static const struct {
        struct sitting s;
        const char *text;
    } cases[] = {{{.odd = 1, .seed = "7"}, "rank 1 has seed 7, but rank 0 has 1; all must have the same"},
                 {{.odd = 2, .version = "1.1"}, "rank 2 has version 1.1, but rank 0 has 1.0; all must have the same"},
                 {{.odd = 2, .data = "fewer"}, "rank 2 has another training set than rank 0; all must have the same"}};
    char from[400], to[400], line[2000];
    make_data();
    snprintf(from, sizeof from, "%s/data", test_folder());
    snprintf(to, sizeof to, "%s/fewer", test_folder());
    snprintf(line, sizeof line, "cp -r %s %s && cp %s/train/c00/00.ppm %s/train/c00/01.ppm", from, to, from, to);
    REQUIRE(system(line) == 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct circle_end end[CIRCLE_MOST];
        struct sitting s = cases[i].s;
        s.recipe = "train.batch=3";
        s.name = "odd";
        EXPECT(!circle_run(3, sit_one, &s, end));
        for (int r = 0; r < 3; r++) EXPECT_TEXT(end[r].text, cases[i].text);
    }
}

TEST(more_ranks_than_a_step_has_episodes_are_refused)
{
    struct circle_end end[CIRCLE_MOST];
    struct sitting s = {.recipe = "train.batch=2", .name = "few", .odd = -1};
    make_data();
    EXPECT(!circle_run(3, sit_one, &s, end));
    EXPECT_TEXT(end[1].text, "train.batch is 2, which cannot be cut into 3 parts, one or more for each process; set "
                             "train.batch to at least 3");
    s.recipe = "train.batch=8 train.parts=2";
    EXPECT(!circle_run(3, sit_one, &s, end));
    EXPECT_TEXT(end[1].text, "train.parts is 2, too few for 3 processes");
}

/* The folder of rank 0 cannot be written: it fails with the reason, and nobody waits for ever. */
TEST(a_rank_that_cannot_write_ends_the_run_for_all)
{
    struct circle_end end[CIRCLE_MOST];
    char path[512];
    make_data();
    snprintf(path, sizeof path, "%s/full", test_folder());
    REQUIRE(folder_make(path) == OK);
    snprintf(path, sizeof path, "%s/full/best.safetensors", test_folder());
    REQUIRE(folder_make(path) == OK); /* a folder where a file should go */
    struct sitting s = {.recipe = "train.batch=3", .name = "full", .odd = -1};
    EXPECT(!circle_run(3, sit_one, &s, end));
    EXPECT(end[0].st == ST_IO && strstr(end[0].text, "best.safetensors"));
    EXPECT_TEXT(end[1].text, "another rank has failed");
}

/* With statistics of the whole step it does not matter that it was cut: the numbers are those of a step in one piece. */
TEST(ranks_with_synchronised_norms_are_as_one_with_whole_steps)
{
    static const char *const recipes[] = {
        "train.epochs=2 net.sync-bn=yes train.batch=4 train.episodes=8",
        "train.epochs=2 net.sync-bn=yes train.batch=5 train.episodes=10 net.bn-joint=yes", /* uneven parts */
        "train.epochs=1 net.sync-bn=yes train.batch=4 train.episodes=4 net.name=resnet12 net.widths=4,4,4,8"};
    make_data();
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        struct sitting one = {.recipe = recipes[i], .name = "one", .odd = -1};
        REQUIRE(sit(1, &one));
        for (int size = 2; size <= 4; size += 2) {
            struct sitting many = {.recipe = recipes[i], .name = "many", .odd = -1};
            REQUIRE(sit(size, &many));
            EXPECT_NEAR(loss_of("many", 0), loss_of("one", 0), 1e-5);
            EXPECT(distance("one", "many", "last.ckpt") < 5e-4);
        }
    }
}
