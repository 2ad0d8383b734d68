/* mpi.c - the program under mpirun: 2 and 4 ranks on this machine, and each fault.
 *
 * Skipped, loudly, where there is no mpirun or the build has no plug-in. A rank that shall be different is made by a
 * script that looks at its number before it becomes the program. */
#include "tests/peers/launch.h"
#include "tests/test.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* False, with a loud word, where nothing of this can be tried. */
static bool can_run(void)
{
    if (!launch_has_plugin() || system("command -v mpirun > /dev/null 2>&1")) {
        test_skip("no mpirun, or a build without centra-mpi.so: install openmpi-bin and libopenmpi-dev");
        return false;
    }
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
    setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 1);
    return launch_prepare();
}

static int train(int ranks, const char *name, const char *more)
{
    char line[1000];
    snprintf(line, sizeof line, "mpirun -n %d $CENTRA train tiny.txt " SET " --threads 1 --out %s %s", ranks, name,
             more);
    return launch_run(line);
}

TEST(mpirun_trains_with_the_numbers_of_one_process)
{
    if (!can_run()) return;
    EXPECT_INT(train(1, "r1", ""), 0);
    for (int ranks = 2; ranks <= 4; ranks += 2) {
        char name[20];
        snprintf(name, sizeof name, "r%d", ranks);
        EXPECT_INT(train(ranks, name, ""), 0);
        EXPECT_NEAR(launch_loss(name), launch_loss("r1"), 1e-5);
        EXPECT_INT(launch_count("epoch 1 of 2"), 1); /* one tells */
    }
}

TEST(mpirun_with_deterministic_repeats_bit_for_bit)
{
    if (!can_run()) return;
    EXPECT_INT(train(4, "a", "--deterministic"), 0);
    EXPECT_INT(train(4, "b", "--deterministic"), 0);
    EXPECT_INT(launch_run("cmp a/best.safetensors b/best.safetensors"), 0);
    EXPECT_INT(train(1, "c", "--deterministic --set train.seed=2"), 0);
    EXPECT_INT(launch_run("cmp a/best.safetensors c/best.safetensors"), 1);
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
        EXPECT_INT(launch_run(line), 0);
        snprintf(line, sizeof line, "grep -q accuracy eval%d && cmp eval1 eval%d", ranks, ranks);
        EXPECT_INT(launch_run(line), 0);
    }
}

/* Rank 1 becomes something else than the others. */
static void expect_odd(const char *otherwise, const char *wanted)
{
    char script[1000];
    snprintf(script, sizeof script, "#!/bin/sh\n[ $OMPI_COMM_WORLD_RANK = 1 ] && exec %s\nexec \"$CENTRA\" \"$@\"\n",
             otherwise);
    REQUIRE(launch_put("odd.sh", script));
    const int code = launch_run("timeout 30 mpirun -n 3 sh odd.sh train tiny.txt " SET
                                " --threads 1 --out odd --force");
    EXPECT(code != 0 && code != 124);
    launch_expect(wanted);
    EXPECT_INT(launch_count("centra: rank "), 1); /* one line of ours */
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
        EXPECT_INT(launch_run(line), 0);
    }
    EXPECT_INT(launch_run("grep -q centroid base1 && grep -q accuracy base1 && cmp base1 base2"), 0);
    EXPECT_INT(launch_run("$CENTRA eval --weights r1 " SET
                          " " BASE_EVAL("3") " | "
                                             "sed 's/\"[a-z_]*seconds\"[^,}]*//g' > other; cmp base1 other"),
               1); /* the base classes count */
}

TEST(mpirun_names_the_rank_that_has_other_base_classes)
{
    if (!can_run()) return;
    EXPECT_INT(train(1, "r1", ""), 0);
    REQUIRE(launch_put("odd.sh", "#!/bin/sh\n[ $OMPI_COMM_WORLD_RANK = 1 ] && exec \"$CENTRA\" eval --weights r1 " SET
                                 " " BASE_EVAL("6") "\nexec \"$CENTRA\" \"$@\"\n"));
    const int code = launch_run("timeout 30 mpirun -n 2 sh odd.sh eval --weights r1 " SET " " BASE_EVAL("7"));
    EXPECT(code != 0 && code != 124);
    launch_expect("base classes, with 30 pictures of 5 classes");
    launch_expect("35 pictures of 5 classes");
    EXPECT_INT(launch_count("centra: rank "), 1); /* one line of ours */
}

/* A disk that is full for rank 0: a file system of 64 KiB, where one may be mounted. */
TEST(mpirun_ends_when_the_disk_of_rank_0_is_full)
{
    if (!can_run()) return;
    if (launch_run("mkdir full && mount -t tmpfs -o size=64k none full")) {
        test_skip("no file system can be mounted here");
        return;
    }
    const int code = train(2, "full/run", "--set net.width=32");
    EXPECT(code != 0 && code != 124);
    launch_expect("centra: rank 0 of 2");
    launch_expect("No space left on device");
    EXPECT_INT(launch_run("umount full"), 0);
}

TEST(mpirun_ends_when_a_rank_is_killed_and_the_run_goes_on_with_another_number)
{
    int ended = 0;
    if (!can_run()) return;
    const pid_t child = launch_long("mpirun -n 4", "killed"), rank = launch_rank(2);
    REQUIRE(child > 0 && rank > 0);
    EXPECT_INT(kill(rank, SIGKILL), 0);
    EXPECT(waitpid(child, &ended, 0) == child && WIFEXITED(ended));
    EXPECT(WEXITSTATUS(ended) != 0 && WEXITSTATUS(ended) != 124); /* not the time limit */
    EXPECT_INT(launch_run("grep -q 'rank 2 ' killed.err"), 0);
    EXPECT_INT(launch_run("$CENTRA weights show killed/last.ckpt"), 0); /* whole */
    EXPECT_INT(
        launch_run("e=$(($(wc -l < killed/metrics.jsonl) + 3)); mpirun -n 2 $CENTRA train --resume --out killed " SET
                   " --threads 1 --set train.epochs=$e"),
        0);
}

/* Rank 1 is stopped for a while: the other has nothing to do, and the processor is free for others. One that asks all the
 * time would have as much of it as it is given. */
TEST(mpirun_a_rank_that_waits_for_another_sleeps)
{
    int ended = 0;
    if (!can_run()) return;
    const pid_t child = launch_long("mpirun -n 2", "waits"), first = launch_rank(0), second = launch_rank(1);
    REQUIRE(child > 0 && first > 0 && second > 0);
    EXPECT_INT(kill(second, SIGSTOP), 0);
    usleep(500000);
    const double before = launch_seconds(first);
    usleep(4000000);
    const double used = launch_seconds(first) - before;
    EXPECT_INT(kill(second, SIGCONT), 0);
    if (!(used < 0.4)) test_failed(__FILE__, __LINE__, "a rank that waited for 4 s used %.2f s of the processor", used);
    EXPECT_INT(kill(child, SIGTERM), 0);
    EXPECT(waitpid(child, &ended, 0) == child);
    /* mpirun may be gone before its ranks have saved themselves, in the folder that is removed next */
    for (int i = 0; i < 1000 && (!kill(first, 0) || !kill(second, 0)); i++) usleep(10000);
}

/* As another MPI's mpirun would: Centra's knows nothing of the others. */
TEST(a_process_whose_mpi_knows_of_no_others_is_refused)
{
    if (!can_run()) return;
    EXPECT_INT(launch_run("PMI_SIZE=2 timeout 30 $CENTRA train tiny.txt " SET " --threads 1 --out alone"), 1);
    launch_expect("this is one of 2 processes, but centra-mpi.so knows of one");
    EXPECT_INT(launch_run("test -e alone"), 1);
}

/* Two hosts, made of network namespaces, and their link cut in the middle of a step: cut.sh says whether all was well. */
TEST(mpirun_ends_when_the_network_between_two_hosts_is_cut)
{
    if (!can_run()) return;
    const int code = launch_run("sh '" CENTRA_SOURCE_DIR "/tests/peers/cut.sh' \"$CENTRA\" .");
    if (code == 77) {
        test_skip("network namespaces cannot be made here");
        return;
    }
    char *out = launch_text("out");
    if (code) test_failed(__FILE__, __LINE__, "cut.sh ended with %d:\n%s", code, out);
    free(out);
}

/* Five pictures for 1, 2 and 4 ranks, and one for two of them. */
TEST(mpirun_encodes_to_the_same_bytes_for_any_number_of_ranks)
{
    if (!can_run()) return;
    EXPECT_INT(train(1, "r1", ""), 0);
    EXPECT_INT(launch_run("$CENTRA data synth --out set --pictures 2 --side 20"), 0);
    for (int ranks = 1; ranks <= 4; ranks *= 2) {
        char line[1000];
        snprintf(line, sizeof line,
                 "mpirun -n %d $CENTRA encode --weights r1/best.safetensors --net.width 8 --side 20 --threads 1 "
                 "--out e%d.npy $(find set/train -name '*.png' | sort | head -5) && cmp e1.npy e%d.npy",
                 ranks, ranks, ranks);
        EXPECT_INT(launch_run(line), 0);
    }
    EXPECT_INT(
        launch_run("mpirun -n 2 $CENTRA encode --weights r1/best.safetensors --net.width 8 --side 20 --threads 1 "
                   "--out one.npy $(find set/train -name '*.png' | sort | head -1)"),
        0);
}
