/* checkpoint.c - checkpoints come back bit for bit; damaged and foreign ones are refused; the old one survives. */
#include "train/checkpoint.h"
#include "base/file.h"
#include "eval/model.h"
#include "tests/heads/rig.h"
#include "tests/test.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct rig {
    struct world w;
    struct model m;
    struct optimiser *o;
    char path[512];
};

static const struct checkpoint_of OF = {"[net]\nname = conv4\n\n[train]\nrate = 0.1\n", "abc"};
static const struct checkpoint AT = {.epoch = 3,
                                     .index = 7,
                                     .step = 31,
                                     .pictures = 99,
                                     .loss = 1.0 / 3,
                                     .right = 5,
                                     .asked = 9,
                                     .seconds = 0.1,
                                     .best = 0.7,
                                     .best_half = 0.01,
                                     .best_epochs = 2};

static bool open_rig(struct rig *r, const char *width, uint64_t seed)
{
    const struct optimiser_settings s = {.kind = OPTIMISER_SGD, .momentum = 0.9};
    *r = (struct rig){.o = NULL};
    snprintf(r->path, sizeof r->path, "%s/last.ckpt", test_folder());
    if (!rig_open(&r->w, NULL, 1, DT_F32)) return false;
    const bool good = model_new(r->w.dev, "conv4", NULL, &r->m) == OK &&
                      option_set(r->m.net->options, "net.", "width", width, r->m.net_settings) == OK &&
                      model_start(&r->m, DT_F32, seed) == OK && optimiser_new(r->m.params, &s, &r->o) == OK &&
                      optimiser_step(r->o, 0.5) == OK;
    if (!good) test_failed(__FILE__, __LINE__, "no rig: %s", error_text());
    return good;
}

static void close_rig(struct rig *r)
{
    optimiser_free(r->o);
    model_free(&r->m);
    world_close(&r->w);
}

static status save(struct rig *r, const struct checkpoint *c)
{
    return checkpoint_write(r->path, c, &OF, r->m.params, r->o);
}

static status load(struct rig *r, struct checkpoint *c) { return checkpoint_read(r->path, &OF, r->m.params, r->o, c); }

static bool same_params(struct params *a, struct params *b)
{
    bool same = params_count(a) == params_count(b);
    for (size_t i = 0; same && i < params_count(a); i++)
        same = !memcmp(params_at(a, i)->value.data, params_at(b, i)->value.data, tensor_bytes(&params_at(a, i)->value));
    return same;
}

TEST(checkpoint_brings_back_every_bit_and_counter)
{
    struct rig a, b;
    struct checkpoint c;
    REQUIRE(open_rig(&a, "4", 1) && open_rig(&b, "4", 2));
    ((float *)params_at(optimiser_state(a.o), 0)->value.data)[0] = 42;
    REQUIRE(save(&a, &AT) == OK);
    EXPECT(!same_params(a.m.params, b.m.params));
    optimiser_set_steps(b.o, 77);
    REQUIRE(load(&b, &c) == OK);
    EXPECT(same_params(a.m.params, b.m.params) && same_params(optimiser_state(a.o), optimiser_state(b.o)));
    EXPECT_INT(optimiser_steps(b.o), 1);
    EXPECT(c.epoch == 3 && c.index == 7 && c.step == 31 && c.pictures == 99 && c.loss == AT.loss && c.right == 5 &&
           c.asked == 9 && c.seconds == 0.1 && c.best == 0.7 && c.best_half == 0.01 && c.best_epochs == 2);
    close_rig(&a);
    close_rig(&b);
}

/* Cut anywhere, or with one byte changed, the file is refused and the model stays as it was. */
TEST(checkpoint_that_is_cut_or_changed_is_refused)
{
    struct rig a, b;
    struct checkpoint c = {0};
    char *bytes = NULL;
    size_t n = 0, seen = 0;
    REQUIRE(open_rig(&a, "2", 1) && open_rig(&b, "2", 2));
    REQUIRE(save(&a, &AT) == OK && file_read(a.path, 1 << 24, &bytes, &n) == OK);
    float before;
    memcpy(&before, params_at(b.m.params, 0)->value.data, sizeof before);
    for (size_t at = 0; at < n; at += at < 600 ? 7 : 97, seen++) {
        FILE *f = fopen(a.path, "wb");
        REQUIRE(f);
        if (seen % 2) { /* cut */
            fwrite(bytes, 1, at, f);
        } else {
            bytes[at] = (char)(bytes[at] ^ 4);
            fwrite(bytes, 1, n, f);
            bytes[at] = (char)(bytes[at] ^ 4);
        }
        fclose(f);
        EXPECT(load(&b, &c) != OK);
        EXPECT(strstr(error_text(), "last.ckpt") != NULL && !strchr(error_text(), '\n'));
        EXPECT(!memcmp(&before, params_at(b.m.params, 0)->value.data, sizeof before) && c.epoch == 0);
    }
    free(bytes);
    close_rig(&a);
    close_rig(&b);
}

TEST(checkpoint_of_another_recipe_data_or_network_is_refused_by_name)
{
    struct rig a, b;
    struct checkpoint c;
    char wanted[700];
    REQUIRE(open_rig(&a, "4", 1) && open_rig(&b, "6", 1));
    REQUIRE(save(&a, &AT) == OK);
    const struct checkpoint_of other = {"[net]\nname = resnet12\n\n[train]\nrate = 0.1\n", "abc"},
                               moved = {OF.recipe, "d"};
    EXPECT_STATUS(checkpoint_read(a.path, &other, a.m.params, a.o, &c), ST_VALUE);
    snprintf(
        wanted, sizeof wanted,
        "'%s' was made with another recipe: [net] name = conv4 there, name = resnet12 here; go on with the same, or "
        "use another folder",
        a.path);
    EXPECT_TEXT(error_text(), wanted);
    EXPECT_STATUS(checkpoint_read(a.path, &moved, a.m.params, a.o, &c), ST_VALUE);
    EXPECT(strstr(error_text(), "other training pictures") != NULL);
    EXPECT_STATUS(checkpoint_read(a.path, &OF, b.m.params, b.o, &c), ST_FORMAT);
    EXPECT(strstr(error_text(), "another shape") != NULL);
    close_rig(&a);
    close_rig(&b);
}

TEST(checkpoint_on_a_full_disk_leaves_the_previous_one)
{
    struct rig r;
    struct checkpoint c = AT, back;
    struct rlimit before, small;
    REQUIRE(open_rig(&r, "8", 1) && save(&r, &c) == OK);
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    small = before;
    small.rlim_cur = 2048; /* a file cannot grow further: as on a full disk */
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    c.epoch = 4;
    const status st = save(&r, &c);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    EXPECT_INT(st, ST_IO);
    REQUIRE(load(&r, &back) == OK);
    EXPECT_INT(back.epoch, 3);
    close_rig(&r);
}

TEST(checkpoint_survives_a_kill_during_saving)
{
    struct rig r;
    struct checkpoint c = AT, back;
    if (UNDER_ASAN || UNDER_TSAN) {
        test_skip("a forked child can hang on the sanitizer's locks");
        return;
    }
    REQUIRE(open_rig(&r, "8", 1) && save(&r, &c) == OK);
    uint64_t last = 0;
    for (int round = 0; round < 12; round++) {
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0)
            for (c.step = last; save(&r, &c) == OK;) c.step++;
        if (child == 0) _exit(1);
        usleep((useconds_t)(1500 + 700 * round));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        EXPECT_OK(load(&r, &back));
        EXPECT(back.step >= last);
        last = back.step;
    }
    close_rig(&r);
}
