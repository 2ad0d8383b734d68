/* train.c - centra train and pretrain: a small run from recipe to model, what is refused, Ctrl-C and SIGTERM. */
#include "base/file.h"
#include "tests/app/program.h"
#include "tests/test.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define DATA "synth:1?side=20&train=4&val=4&test=4&pictures=5"

static const char *write_recipe(const char *more)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/tiny.txt", test_folder());
    FILE *f = fopen(path, "w");
    if (!f) return NULL;
    fprintf(f,
            "# tiny\n[data]\nside = 16\npad = 2\n[net]\nwidth = 4\n[head]\nname = mcl-katz\n[validate]\nepisodes = "
            "4\nway = "
            "3\nquery = 2\n[train]\nepochs = 2\nepisodes = 4\nway = 3\nquery = 2\nrate = 0.01\n%s",
            more);
    return fclose(f) ? NULL : path;
}

static bool is_there(const char *run, const char *file)
{
    char path[600];
    struct stat about;
    snprintf(path, sizeof path, "%s/%s/%s", test_folder(), run, file);
    return stat(path, &about) == 0 && about.st_size > 0;
}

TEST(train_makes_a_model_and_goes_on_with_it)
{
    static const char *const files[] = {"recipe.txt", "metrics.jsonl", "best.safetensors", "last.ckpt", "report.html"};
    REQUIRE(write_recipe(""));
    struct ran r = program_run("",
                               WORDS("train", "tiny.txt", "--data", DATA, "--out", "run", "--set", "train.epochs=1",
                                     "--set", "train.rate=0.02", "--head.gamma", "30", "--seed", "7", "--tensorboard"));
    EXPECT_INT(r.status, 0);
    EXPECT(strstr(r.out, "1 epochs, 4 steps; best validation ") && strstr(r.out, "run/best.safetensors\n"));
    EXPECT(!strncmp(r.err, "epoch 1 of 1: loss ", 19) && strstr(r.err, "rate 0.02, validation ") &&
           !strchr(r.err, '\r'));
    ran_free(&r);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) EXPECT(is_there("run", files[i]));
    r = program_run("", WORDS("weights", "show", "run/best.safetensors"));
    EXPECT(strstr(r.out, "head.gamma=30") && strstr(r.out, "seed = 7") && strstr(r.out, "rate = 0.02"));
    ran_free(&r);
    r = program_run("", WORDS("train", "--resume", "--out", "run", "--set", "train.epochs=3", "--quiet", "--json"));
    EXPECT_INT(r.status, 0);
    EXPECT(strstr(r.out, "\"epochs\": 3") && strstr(r.out, "\"steps\": 12") && strstr(r.out, "\"run\": \"run\""));
    EXPECT_TEXT(r.err, "");
    ran_free(&r);
}

/* gamma is an option of mcl-katz and unknown to proto. */
TEST(train_with_another_head_leaves_options_behind_that_it_does_not_have)
{
    char path[600];
    snprintf(path, sizeof path, "%s/walk.txt", test_folder());
    FILE *f = fopen(path, "w");
    REQUIRE(f);
    fputs("[data]\nside = 16\npad = 2\n[net]\nwidth = 4\n[head]\nname = mcl-katz\ngamma = 7\n[validate]\nepisodes = "
          "4\nway = 3\nquery = 2\n[train]\nepochs = 1\nepisodes = 2\nway = 3\nquery = 2\n",
          f);
    REQUIRE(fclose(f) == 0);
    struct ran r = program_run(
        "", WORDS("train", "walk.txt", "--data", DATA, "--out", "run", "--set", "head.name=proto", "--quiet"));
    EXPECT_INT(r.status, 0);
    EXPECT_TEXT(r.err, "");
    ran_free(&r);
    r = program_run("",
                    WORDS("train", "walk.txt", "--data", DATA, "--out", "next", "--set", "head.name=mcl", "--quiet"));
    EXPECT_INT(r.status, 0);
    ran_free(&r);
    r = program_run("", WORDS("weights", "show", "next/best.safetensors"));
    EXPECT(strstr(r.out, "head.gamma=7") != NULL); /* mcl has it too */
    ran_free(&r);
    EXPECT_REFUSED(2,
                   "centra train: unknown option head.gamma; there are head.temperature, head.pool, head.pool.gamma, "
                   "head.pool.beta, "
                   "head.pool.alpha, head.pool.detach",
                   "train", "walk.txt", "--data", DATA, "--out", "last", "--set", "head.name=proto", "--set",
                   "head.gamma=3");
}

/* The accuracy of an evaluation of "run" with one more option; below 0 when it failed. */
static double accuracy_with(const char *option, const char *value, const char *extractor)
{
    struct ran r = program_run("", WORDS("eval", "--weights", "run", "--data", DATA, "--way", "3", "--query", "3",
                                         "--episodes", "200", "--json", option, value));
    char wanted[100];
    const char *at = strstr(r.out, "\"accuracy\": ");
    const double accuracy = at ? strtod(at + strlen("\"accuracy\": "), NULL) : -1;
    snprintf(wanted, sizeof wanted, "\"extractor\": \"%s\"", extractor);
    EXPECT(strstr(r.out, wanted) != NULL);
    ran_free(&r);
    return accuracy;
}

TEST(eval_takes_the_extractor_that_a_model_was_trained_with)
{
    static const char *const extractors[] = {"pyramid-2,1", "grid-2"};
    REQUIRE(write_recipe(""));
    for (int i = 0; i < 2; i++) {
        char set[100];
        snprintf(set, sizeof set, "net.extractor=%s", extractors[i]);
        struct ran r = program_run("", WORDS("train", "tiny.txt", "--data", DATA, "--out", "run", "--force", "--set",
                                             set, "--set", "data.side=32", "--quiet"));
        EXPECT_INT(r.status, 0);
        ran_free(&r);
        const double own = accuracy_with("--split", "test", extractors[i]);
        EXPECT(own > 0);
        EXPECT_NEAR(accuracy_with("--extractor", extractors[i], extractors[i]), own, 0);
        const double map = accuracy_with("--extractor", "map", "map");
        EXPECT(map > 0 && map != own);
    }
    struct ran r = program_run(
        "", WORDS("eval", "--weights", "run", "--data", DATA, "--way", "3", "--query", "3", "--episodes", "2"));
    EXPECT(!strncmp(r.out, "conv4 with grid-2 on ", 21));
    ran_free(&r);
    EXPECT_REFUSED(2, "centra eval: 'x' is no extractor; use map, pyramid-5,3 or grid-3,2 (up to 8 sizes from 1 to 16)",
                   "eval", "--weights", "run", "--data", DATA, "--extractor", "x");
}

TEST(train_refuses_in_one_line)
{
    REQUIRE(write_recipe("") && is_there(".", "tiny.txt"));
    EXPECT_REFUSED(2, "centra train: --out is missing: the folder of the run", "train", "tiny.txt");
    EXPECT_REFUSED(2,
                   "centra train: a recipe is missing: centra train RECIPE; centra list recipes shows those there are",
                   "train", "--out", "run");
    EXPECT_REFUSED(2, "centra train: there is no recipe 'cub-conv4-1shoot', did you mean cub-conv4-1shot?", "train",
                   "cub-conv4-1shoot", "--out", "run");
    EXPECT_REFUSED(2, "centra pretrain: the recipe's train.stage is episodic: use centra train", "pretrain", "tiny.txt",
                   "--data", DATA, "--out", "run");
    EXPECT_REFUSED(2, "centra train: unknown option train.rat, did you mean train.rate?", "train", "tiny.txt", "--data",
                   DATA, "--out", "run", "--set", "train.rat=1");
    EXPECT_REFUSED(1, "centra train: there is no run in 'run' to go on with", "train", "tiny.txt", "--data", DATA,
                   "--out", "run", "--resume");
    EXPECT_REFUSED(2, "centra train: a run cannot both go on and begin anew; choose resume or force", "train",
                   "tiny.txt", "--data", DATA, "--out", "run", "--resume", "--force");
    EXPECT_REFUSED(2, "centra train: no pictures to train on: name them with --data, or as data.path in the recipe",
                   "train", "tiny.txt", "--out", "run");
    EXPECT_REFUSED(
        1,
        "centra train: episodes of 3 classes need that many with at least 6 pictures (1 support + 5 query), but "
        "only 0 of 4 have them",
        "train", "tiny.txt", "--data", DATA, "--out", "run", "--set", "train.query=5");
    EXPECT_REFUSED(
        2, "centra train: 'grid3' is no extractor; use map, pyramid-5,3 or grid-3,2 (up to 8 sizes from 1 to 16)",
        "train", "tiny.txt", "--data", DATA, "--out", "run", "--set", "net.extractor=grid3");
    EXPECT_REFUSED(
        2,
        "centra train: grid-2 cuts pictures into cells of different sizes, but the transform of this model does "
        "not resize",
        "train", "tiny.txt", "--data", DATA, "--out", "run", "--set", "net.extractor=grid-2", "--set",
        "data.transform=pad");
    EXPECT(!is_there("run", "last.ckpt"));
}

TEST(pretrain_makes_a_model)
{
    REQUIRE(write_recipe("stage = pretrain\nbatch = 8\n"));
    struct ran r = program_run("", WORDS("pretrain", "tiny.txt", "--data", DATA, "--out", "run", "--set",
                                         "head.name=frn", "--set", "train.epochs=1", "--deterministic", "--quiet"));
    EXPECT_INT(r.status, 0);
    EXPECT(strstr(r.out, "1 epochs, 3 steps; best validation ") != NULL);
    ran_free(&r);
    r = program_run("", WORDS("train", "tiny.txt", "--data", DATA, "--out", "next", "--set", "train.stage=episodic",
                              "--set", "train.batch=1", "--set", "net.weights=run/best.safetensors", "--set",
                              "train.epochs=1", "--quiet"));
    EXPECT_INT(r.status, 0);
    EXPECT_TEXT(r.err, "");
    ran_free(&r);
}

/* By name, from the store; what is kept says which teacher it was but not where it lay. */
TEST(pretrain_takes_a_teacher_by_name)
{
    char data[600];
    snprintf(data, sizeof data, "%s/data", test_folder());
    setenv("XDG_DATA_HOME", data, 1);
    REQUIRE(write_recipe("stage = pretrain\nbatch = 8\n"));
    struct ran r = program_run(
        "", WORDS("models", "add", CENTRA_SOURCE_DIR "/tests/models/conv4-synth.safetensors", "--name", "master"));
    EXPECT_INT(r.status, 0);
    ran_free(&r);
    r = program_run("", WORDS("pretrain", "tiny.txt", "--data", DATA, "--out", "run", "--teacher", "master", "--set",
                              "head.name=linear", "--set", "train.epochs=1", "--set", "distil.weight=2", "--quiet"));
    EXPECT_INT(r.status, 0);
    EXPECT_TEXT(r.err, "");
    ran_free(&r);
    r = program_run("", WORDS("weights", "show", "run/best.safetensors"));
    EXPECT(strstr(r.out, "teacher = master.safetensors\n") && !strstr(r.out, "/master.safetensors"));
    EXPECT(strstr(r.out, "fingerprint = 9b16e93c974bd0e11e32ddb3dfcce457f7913f8572d371a84bee5b9480c42b7a\n"));
    EXPECT(!strstr(r.out, "pre.distil"));
    ran_free(&r);
    r = program_run("", WORDS("pretrain", "--resume", "--out", "run", "--set", "train.epochs=2", "--quiet"));
    EXPECT_INT(r.status, 0);
    ran_free(&r);
    EXPECT_REFUSED(2, "centra pretrain: there is no model 'mastr', did you mean master?", "pretrain", "tiny.txt",
                   "--data", DATA, "--out", "other", "--teacher", "mastr", "--set", "head.name=linear");
}

/* Begins a run without an end, asks it to stop by this signal, and goes on with what it has saved. */
static void expect_stop(int signal_number)
{
    char out[512], data[600];
    int to = -1, from = -1, how = 0;
    REQUIRE(write_recipe(""));
    const char *recipe = write_recipe("");
    snprintf(out, sizeof out, "%s/run", test_folder());
    snprintf(data, sizeof data, "--data=%s", DATA);
    const int child = program_start(
        &to, &from, WORDS("train", recipe, data, "--out", out, "--set", "train.epochs=100000", "--quiet"));
    REQUIRE(child > 0);
    for (int i = 0; i < 6000 && !is_there("run", "metrics.jsonl"); i++) usleep(10000);
    EXPECT(kill(child, signal_number) == 0);
    EXPECT(waitpid(child, &how, 0) == child);
    EXPECT(WIFEXITED(how));
    EXPECT_INT(WEXITSTATUS(how), 130);
    close(to);
    close(from);
    struct ran r = program_run("", WORDS("train", "--resume", "--out", "run", "--set", "train.epochs=1"));
    EXPECT_INT(r.status, 0); /* more than one was done: nothing is left, and the checkpoint was good */
    ran_free(&r);
}

TEST(train_saves_and_ends_with_130_after_an_interrupt) { expect_stop(SIGINT); }

TEST(train_saves_and_ends_with_130_after_sigterm) { expect_stop(SIGTERM); }

TEST(list_recipes_names_those_that_are_shipped)
{
    struct ran r = program_run("", WORDS("list", "recipes"));
    EXPECT_INT(r.status, 0);
    EXPECT(strstr(r.out, "cub-conv4-1shot ") && strstr(r.out, "tiered-resnet12-pretrain "));
    ran_free(&r);
    r = program_run("", WORDS("list", "recipes", "--json"));
    EXPECT(strstr(r.out, "\"name\": \"mini-conv4-5shot\"") &&
           strstr(r.out, "\"title\": \"miniImageNet, Conv-4, 5-way"));
    ran_free(&r);
}
