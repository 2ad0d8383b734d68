/* mpi.c - the program under mpirun: 2 and 4 ranks on this machine, and each fault.
 *
 * Skipped, loudly, where there is no mpirun or the build has no plug-in. A rank that shall be different is made by a
 * script that looks at its number before it becomes the program. */
#include "base/file.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CENTRA_PROGRAM
#define CENTRA_PROGRAM "build/centra"
#endif

static const char RECIPE[] = "[data]\nside = 16\npad = 2\n[net]\nname = conv4\nwidth = 8\n[head]\nname = mcl-katz\n"
                             "[train]\nepochs = 2\nepisodes = 12\nbatch = 4\nparts = 4\nway = 3\nshot = 1\nquery = 3\n"
                             "rate = 0.05\n[validate]\nepisodes = 20\nway = 3\nquery = 3\n";

static const char *program(void)
{
    static char path[512];
    const char *given = getenv("CENTRA_PROGRAM");
    char *full = realpath(given && *given ? given : CENTRA_PROGRAM, NULL);
    snprintf(path, sizeof path, "%s", full ? full : "centra");
    free(full);
    return path;
}

static bool put_text(const char *name, const char *content)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    FILE *f = fopen(path, "w");
    if (!f) return false;
    fputs(content, f);
    return fclose(f) == 0;
}

static char *read_text(const char *name) /* free with free() */
{
    char path[600], *data = NULL;
    size_t n;
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    return file_read(path, 1 << 24, &data, &n) == OK ? data : calloc(1, 1);
}

/* False, with a loud word, where nothing of this can be tried. */
static bool can_run(void)
{
    char plugin[600];
    snprintf(plugin, sizeof plugin, "%s", program());
    char *name = strrchr(plugin, '/');
    snprintf(name ? name + 1 : plugin, 20, "centra-mpi.so");
    if (access(plugin, R_OK) || system("command -v mpirun > /dev/null 2>&1")) {
        test_skip("no mpirun, or a build without centra-mpi.so: install openmpi-bin and libopenmpi-dev");
        return false;
    }
    unsetenv("OMPI_COMM_WORLD_SIZE");
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
    setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 1);
    setenv("CENTRA", program(), 1);
    return put_text("tiny.txt", RECIPE);
}

/* A shell line in the test's folder; `out` and `err` are files there. Its exit status, 1000 and more for a signal. */
static int run(const char *line)
{
    char whole[3000];
    snprintf(whole, sizeof whole, "cd '%s' && { %s; } > out 2> err", test_folder(), line);
    const int code = system(whole);
    return WIFEXITED(code) ? WEXITSTATUS(code) : 1000;
}

#define SET "--data 'synth:4?train=4&val=4&test=4&pictures=8&side=20'"

static int train(int ranks, const char *name, const char *more)
{
    char line[1000];
    snprintf(line, sizeof line, "mpirun -n %d $CENTRA train tiny.txt " SET " --threads 1 --out %s %s", ranks, name,
             more);
    return run(line);
}

static void expect_in_err(const char *wanted)
{
    char *err = read_text("err");
    if (!strstr(err, wanted)) test_failed(__FILE__, __LINE__, "standard error lacks '%s':\n%s", wanted, err);
    free(err);
}

static size_t count_in_err(const char *wanted)
{
    char *err = read_text("err");
    size_t n = 0;
    for (const char *at = err; (at = strstr(at, wanted)); at++) n++;
    free(err);
    return n;
}

/* "loss":1.6092 of an epoch's line. */
static double loss_of(const char *run_name)
{
    char name[100];
    snprintf(name, sizeof name, "%s/metrics.jsonl", run_name);
    char *lines = read_text(name), *at = strstr(lines, "\"loss\":");
    const double loss = at ? strtod(at + 7, NULL) : (double)NAN;
    free(lines);
    return loss;
}

TEST(mpirun_trains_with_the_numbers_of_one_process)
{
    if (!can_run()) return;
    EXPECT_INT(train(1, "r1", ""), 0);
    for (int ranks = 2; ranks <= 4; ranks += 2) {
        char name[20];
        snprintf(name, sizeof name, "r%d", ranks);
        EXPECT_INT(train(ranks, name, ""), 0);
        EXPECT_NEAR(loss_of(name), loss_of("r1"), 1e-5);
        EXPECT_INT(count_in_err("epoch 1 of 2"), 1); /* one tells */
    }
}

TEST(mpirun_with_deterministic_repeats_bit_for_bit)
{
    if (!can_run()) return;
    EXPECT_INT(train(4, "a", "--deterministic"), 0);
    EXPECT_INT(train(4, "b", "--deterministic"), 0);
    EXPECT_INT(run("cmp a/best.safetensors b/best.safetensors"), 0);
    EXPECT_INT(train(1, "c", "--deterministic --set train.seed=2"), 0);
    EXPECT_INT(run("cmp a/best.safetensors c/best.safetensors"), 1);
}

/* Everything but the times. */
static const char EVAL[] = "mpirun -n %d $CENTRA eval --weights r2 " SET
                           " --way 3 --query 3 --episodes 101 --per-class "
                           "--head mcl-katz,proto --threads 1 --json | sed 's/\"[a-z_]*seconds\"[^,}]*//g' > eval%d";

TEST(mpirun_evaluates_to_the_same_bytes_for_any_number_of_ranks)
{
    if (!can_run()) return;
    EXPECT_INT(train(2, "r2", ""), 0);
    for (int ranks = 1; ranks <= 4; ranks += 1 + ranks / 2) {
        char line[1000];
        snprintf(line, sizeof line, EVAL, ranks, ranks);
        EXPECT_INT(run(line), 0);
        snprintf(line, sizeof line, "grep -q accuracy eval%d && cmp eval1 eval%d", ranks, ranks);
        EXPECT_INT(run(line), 0);
    }
}

/* Rank 1 becomes something else than the others. */
static void expect_odd(const char *otherwise, const char *wanted)
{
    char script[1000];
    snprintf(script, sizeof script, "#!/bin/sh\n[ $OMPI_COMM_WORLD_RANK = 1 ] && exec %s\nexec \"$CENTRA\" \"$@\"\n",
             otherwise);
    REQUIRE(put_text("odd.sh", script));
    const int code = run("timeout 30 mpirun -n 3 sh odd.sh train tiny.txt " SET " --threads 1 --out odd --force");
    EXPECT(code != 0 && code != 124);
    expect_in_err(wanted);
    EXPECT_INT(count_in_err("centra: rank "), 1); /* one line of ours */
}

TEST(mpirun_names_the_rank_that_has_another_recipe_or_other_data)
{
    if (!can_run()) return;
    expect_odd("\"$CENTRA\" \"$@\" --set train.rate=0.07", "rank 1 has another recipe than rank 0");
    expect_odd("\"$CENTRA\" \"$@\" --seed 3", "rank 1 has seed 3, but rank 0 has 1");
    expect_odd("\"$CENTRA\" train tiny.txt --data 'synth:5?train=4&val=4&test=4&pictures=8&side=20' --out odd",
               "rank 1 has another training set than rank 0");
    expect_odd("\"$CENTRA\" train tiny.txt --data nowhere --out odd", "rank 1 of 3");
}

#define BASE_EVAL(base) \
    "--way 3 --query 3 --episodes 21 --head centroid:rounds=3,proto --threads 1 --json --base 'synth:7?train=5&val=4&" \
    "test=4&pictures=" base "&side=20'"

/* Base classes are encoded by all ranks, each its part, and every head that looks at them sees all. */
TEST(mpirun_evaluates_with_base_classes_to_the_same_bytes_for_any_number_of_ranks)
{
    if (!can_run()) return;
    EXPECT_INT(train(1, "r1", ""), 0);
    for (int ranks = 1; ranks <= 2; ranks++) {
        char line[1000];
        snprintf(line, sizeof line,
                 "mpirun -n %d $CENTRA eval --weights r1 " SET
                 " " BASE_EVAL("7") " > raw && "
                                    "sed 's/\"[a-z_]*seconds\"[^,}]*//g' raw > base%d",
                 ranks, ranks);
        EXPECT_INT(run(line), 0);
    }
    EXPECT_INT(run("grep -q centroid base1 && grep -q accuracy base1 && cmp base1 base2"), 0);
    EXPECT_INT(run("$CENTRA eval --weights r1 " SET
                   " " BASE_EVAL("3") " | "
                                      "sed 's/\"[a-z_]*seconds\"[^,}]*//g' > other; cmp base1 other"),
               1); /* the base classes count */
}

TEST(mpirun_names_the_rank_that_has_other_base_classes)
{
    if (!can_run()) return;
    EXPECT_INT(train(1, "r1", ""), 0);
    REQUIRE(put_text("odd.sh", "#!/bin/sh\n[ $OMPI_COMM_WORLD_RANK = 1 ] && exec \"$CENTRA\" eval --weights r1 " SET
                               " " BASE_EVAL("6") "\nexec \"$CENTRA\" \"$@\"\n"));
    const int code = run("timeout 30 mpirun -n 2 sh odd.sh eval --weights r1 " SET " " BASE_EVAL("7"));
    EXPECT(code != 0 && code != 124);
    expect_in_err("base classes, with 30 pictures of 5 classes");
    expect_in_err("35 pictures of 5 classes");
    EXPECT_INT(count_in_err("centra: rank "), 1); /* one line of ours */
}

/* A disk that is full for rank 0: a file system of 64 KiB, where one may be mounted. */
TEST(mpirun_ends_when_the_disk_of_rank_0_is_full)
{
    if (!can_run()) return;
    if (run("mkdir full && mount -t tmpfs -o size=64k none full")) {
        test_skip("no file system can be mounted here");
        return;
    }
    const int code = train(2, "full/run", "--set net.width=32");
    EXPECT(code != 0 && code != 124);
    expect_in_err("centra: rank 0 of 2");
    expect_in_err("No space left on device");
    EXPECT_INT(run("umount full"), 0);
}

/* A long run, until its second checkpoint is there; the process group of mpirun. */
static pid_t start_long(const char *name)
{
    const pid_t child = fork();
    if (child == 0) {
        char line[1500];
        if (chdir(test_folder())) _exit(126);
        snprintf(line, sizeof line,
                 "exec timeout 60 mpirun -n 4 $CENTRA train tiny.txt " SET
                 " --threads 1 --out %s --set train.epochs=100000 --set validate.every=100000 > %s.out 2> %s.err",
                 name, name, name);
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    char path[600];
    snprintf(path, sizeof path, "%s/%s/metrics.jsonl", test_folder(), name);
    for (int i = 0; i < 300; i++) {
        char *lines = NULL;
        size_t n = 0;
        const bool there = file_exists(path) && file_read(path, 1 << 24, &lines, &n) == OK && n > 2000;
        free(lines);
        if (there) return child;
        usleep(100000);
    }
    return child;
}

TEST(mpirun_ends_when_a_rank_is_killed_and_the_run_goes_on_with_another_number)
{
    int ended = 0;
    if (!can_run()) return;
    const pid_t child = start_long("killed");
    REQUIRE(child > 0);
    /* the third of the processes that have this folder as theirs */
    EXPECT_INT(run("for p in $(pgrep -f 'train tiny.txt.*--out killed'); do "
                   "  [ \"$(readlink /proc/$p/cwd)\" = \"$PWD\" ] && [ \"$(cat /proc/$p/comm)\" = centra ] && "
                   "  tr '\\0' '\\n' < /proc/$p/environ | grep -q OMPI_COMM_WORLD_RANK=2 && kill -9 $p; done; true"),
               0);
    EXPECT(waitpid(child, &ended, 0) == child && WIFEXITED(ended));
    EXPECT(WEXITSTATUS(ended) != 0 && WEXITSTATUS(ended) != 124); /* not the time limit */
    EXPECT_INT(run("grep -q 'rank 2 ' killed.err"), 0);
    EXPECT_INT(run("$CENTRA weights show killed/last.ckpt"), 0); /* whole */
    EXPECT_INT(run("e=$(($(wc -l < killed/metrics.jsonl) + 3)); mpirun -n 2 $CENTRA train --resume --out killed " SET
                   " --threads 1 --set train.epochs=$e"),
               0);
}

/* Two hosts, made of network namespaces, and their link cut in the middle of a step: cut.sh says whether all was well. */
TEST(mpirun_ends_when_the_network_between_two_hosts_is_cut)
{
    if (!can_run()) return;
    const int code = run("sh '" CENTRA_SOURCE_DIR "/tests/peers/cut.sh' \"$CENTRA\" .");
    if (code == 77) {
        test_skip("network namespaces cannot be made here");
        return;
    }
    EXPECT_INT(code, 0);
    char *out = read_text("out");
    if (code) test_failed(__FILE__, __LINE__, "%s", out);
    free(out);
}

/* Five pictures for 1, 2 and 4 ranks, and one for two of them. */
TEST(mpirun_encodes_to_the_same_bytes_for_any_number_of_ranks)
{
    if (!can_run()) return;
    EXPECT_INT(train(1, "r1", ""), 0);
    EXPECT_INT(run("$CENTRA data synth --out set --pictures 2 --side 20"), 0);
    for (int ranks = 1; ranks <= 4; ranks *= 2) {
        char line[1000];
        snprintf(line, sizeof line,
                 "mpirun -n %d $CENTRA encode --weights r1/best.safetensors --net.width 8 --side 20 --threads 1 "
                 "--out e%d.npy $(find set/train -name '*.png' | sort | head -5) && cmp e1.npy e%d.npy",
                 ranks, ranks, ranks);
        EXPECT_INT(run(line), 0);
    }
    EXPECT_INT(run("mpirun -n 2 $CENTRA encode --weights r1/best.safetensors --net.width 8 --side 20 --threads 1 "
                   "--out one.npy $(find set/train -name '*.png' | sort | head -1)"),
               0);
}
