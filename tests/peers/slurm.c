/* slurm.c - the program under srun: the same numbers as one process, each fault, and the ways that are refused.
 *
 * Skipped, loudly, where no Slurm with PMIx answers; `make slurm` starts one for these tests. A busy cluster is given half
 * a minute to find room. */
#include "tests/peers/launch.h"
#include "tests/test.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define SRUN "srun -Q -I30 -O " /* quiet; half a minute; more ranks than processors */

static bool can_run(void)
{
    if (!launch_has_plugin() || system("command -v srun > /dev/null 2>&1")) {
        test_skip("no srun, or a build without centra-mpi.so: install slurm-wlm, munge and libopenmpi-dev");
        return false;
    }
    if (system(
            "timeout 10 sinfo -h -o %T 2> /dev/null | grep -q 'idle\\|mixed' && srun --mpi=list 2>&1 | grep -q pmix")) {
        test_skip("no controller of Slurm answers, or it has no PMIx or no node to spare: make slurm starts one");
        return false;
    }
    return launch_prepare();
}

/* Two nodes that see the test's folder. */
static bool can_run_on_two(void)
{
    if (!can_run()) return false;
    if (!launch_run("timeout 60 " SRUN "-N 2 -n 2 test -e tiny.txt")) return true;
    test_skip("no two nodes that share this folder: make slurm makes them");
    return false;
}

static int srun(const char *options, const char *words)
{
    char line[2000];
    snprintf(line, sizeof line, "timeout 60 " SRUN "%s %s", options, words);
    const int code = launch_run(line);
    if (code > 128) { /* a signal: what was it doing? */
        char *err = launch_text("err");
        test_failed(__FILE__, __LINE__, "%s ended with %d:\n%s", line, code, err);
        free(err);
    }
    return code;
}
#define PMIX(nodes, ranks) "--mpi=pmix -N " #nodes " -n " #ranks

#define TRAIN "$CENTRA train tiny.txt " SET " --threads 1 --out "

TEST(srun_trains_with_the_numbers_of_one_process)
{
    if (!can_run()) return;
    EXPECT_INT(launch_run(TRAIN "r1"), 0);
    EXPECT_INT(srun(PMIX(1, 2), TRAIN "r2"), 0);
    EXPECT_INT(launch_count("epoch 1 of 2"), 1); /* one tells */
    EXPECT_INT(srun(PMIX(1, 4), TRAIN "r4"), 0);
    EXPECT_INT(launch_count("epoch 1 of 2"), 1);
    EXPECT_NEAR(launch_loss("r2"), launch_loss("r1"), 1e-5);
    EXPECT_NEAR(launch_loss("r4"), launch_loss("r1"), 1e-5);
}

#define EVAL \
    "$CENTRA eval --weights r1 " SET \
    " --way 3 --query 3 --episodes 101 --per-class --head mcl-katz,proto --threads 1 " \
    "--json | sed 's/\"[a-z_]*seconds\"[^,}]*//g' > "
#define ENCODE \
    "$CENTRA encode --weights r1/best.safetensors --net.width 8 --side 20 --threads 1 $(find set/train -name '*.png' " \
    "| " \
    "sort | head -5) --out "

TEST(srun_evaluates_and_encodes_to_the_same_bytes_as_one_process)
{
    if (!can_run()) return;
    EXPECT_INT(launch_run(TRAIN "r1"), 0);
    EXPECT_INT(launch_run("$CENTRA data synth --out set --pictures 2 --side 20"), 0);
    EXPECT_INT(launch_run(EVAL "e1 && grep -q accuracy e1"), 0);
    EXPECT_INT(launch_run(ENCODE "e1.npy"), 0);
    EXPECT_INT(srun(PMIX(1, 2), EVAL "e2 && cmp e1 e2"), 0);
    EXPECT_INT(srun(PMIX(1, 4), EVAL "e4 && cmp e1 e4"), 0);
    EXPECT_INT(srun(PMIX(1, 2), ENCODE "e2.npy && cmp e1.npy e2.npy"), 0);
    EXPECT_INT(srun(PMIX(1, 4), ENCODE "e4.npy && cmp e1.npy e4.npy"), 0);
}

TEST(srun_on_two_nodes_gives_what_one_process_does)
{
    if (!can_run_on_two()) return;
    EXPECT_INT(launch_run(TRAIN "r1"), 0);
    EXPECT_INT(srun(PMIX(2, 2), TRAIN "r2"), 0);
    EXPECT_INT(srun(PMIX(2, 4), TRAIN "r4"), 0);
    EXPECT_INT(launch_count("epoch 1 of 2"), 1); /* one tells */
    EXPECT_NEAR(launch_loss("r2"), launch_loss("r1"), 1e-5);
    EXPECT_NEAR(launch_loss("r4"), launch_loss("r1"), 1e-5);
    EXPECT_INT(launch_run("$CENTRA data synth --out set --pictures 2 --side 20"), 0);
    EXPECT_INT(launch_run(EVAL "e1 && " ENCODE "e1.npy"), 0);
    EXPECT_INT(srun(PMIX(2, 4), EVAL "e4 && cmp e1 e4"), 0);
    EXPECT_INT(srun(PMIX(2, 4), ENCODE "e4.npy && cmp e1.npy e4.npy"), 0);
}

/* Without PMIx each task would be alone, and do all of it. */
TEST(srun_without_pmix_is_refused_in_words)
{
    if (!can_run()) return;
    EXPECT_INT(srun("--mpi=none -N 1 -n 2", TRAIN "alone"), 1);
    EXPECT_INT(launch_count("centra train: SLURM_STEP_NUM_TASKS says that this is one of 2 processes"), 2);
    launch_expect("use srun --mpi=pmix");
    EXPECT_INT(launch_run("test -e alone"), 1);
    EXPECT_INT(srun("--mpi=none -N 1 -n 1", TRAIN "alone"), 0);
}

TEST(srun_ends_when_a_rank_has_another_recipe)
{
    if (!can_run()) return;
    REQUIRE(launch_put("odd.sh", "[ $PMIX_RANK = 1 ] && set -- \"$@\" --set train.rate=0.07\nexec $CENTRA \"$@\"\n"));
    const int code = srun(PMIX(1, 3), "sh odd.sh train tiny.txt " SET " --threads 1 --out odd");
    EXPECT(code != 0 && code != 124);
    launch_expect("rank 1 has another recipe than rank 0");
    EXPECT_INT(launch_count("centra: rank "), 1); /* one line of ours */
}

/* A long run; whether its processes are here to be dealt with. */
static bool start(const char *options, const char *name, pid_t *child)
{
    char launcher[200], begun[100];
    snprintf(launcher, sizeof launcher, SRUN "%s", options);
    snprintf(begun, sizeof begun, "test -s %s/metrics.jsonl", name);
    *child = launch_long(launcher, name);
    if (launch_rank(2)) return true;
    if (launch_run(begun)) test_failed(__FILE__, __LINE__, "the run under %s has not begun", launcher);
    else test_skip("the ranks are on another machine than this test");
    kill(*child, SIGTERM);
    waitpid(*child, NULL, 0);
    return false;
}

/* All ends within 30 s, the sentence is there, and two ranks go on from the checkpoint. */
static void expect_ended(pid_t child, const char *name, const char *sentence)
{
    char line[1000];
    int ended = 0, tenths = 0;
    while (waitpid(child, &ended, WNOHANG) == 0 && tenths++ < 300) usleep(100000);
    EXPECT(tenths < 300 && WIFEXITED(ended) && WEXITSTATUS(ended) != 0);
    for (int rank = 0; rank < 4; rank++) EXPECT_INT(launch_rank(rank), 0);
    snprintf(line, sizeof line, "cat %s.err >&2", name);
    EXPECT_INT(launch_run(line), 0);
    launch_expect(sentence);
    snprintf(line, sizeof line,
             "$CENTRA train --resume --out %s " SET
             " --threads 1 --set train.epochs=$(($(wc -l < %s/metrics.jsonl) + 3))",
             name, name);
    EXPECT_INT(srun(PMIX(1, 2), line), 0);
}

TEST(srun_ends_when_a_rank_is_killed_and_the_run_goes_on_with_another_number)
{
    pid_t child;
    if (!can_run() || !start(PMIX(1, 4), "killed", &child)) return;
    EXPECT_INT(kill(launch_rank(2), SIGKILL), 0);
    expect_ended(child, "killed", "task 2: Killed");
}

TEST(srun_ends_on_both_nodes_when_a_rank_is_killed)
{
    pid_t child;
    if (!can_run_on_two() || !start(PMIX(2, 4), "killed", &child)) return;
    EXPECT_INT(kill(launch_rank(2), SIGKILL), 0);
    expect_ended(child, "killed", "task 2: Killed");
}

/* A node that hangs is still there for Slurm. */
TEST(srun_ends_when_a_rank_is_not_heard_of)
{
    pid_t child;
    setenv("CENTRA_PATIENCE", "5", 1);
    if (!can_run_on_two() || !start(PMIX(2, 4), "silent", &child)) return;
    EXPECT_INT(kill(launch_rank(3), SIGSTOP), 0);
    expect_ended(child, "silent", "rank 3 has not been heard of for 5 s");
    unsetenv("CENTRA_PATIENCE");
}

TEST(srun_saves_when_the_job_is_told_to_end)
{
    pid_t child;
    if (!can_run() || !start(PMIX(1, 4) " -J centra-told", "told", &child)) return;
    EXPECT_INT(launch_run("scancel -s TERM -n centra-told"), 0);
    expect_ended(child, "told", "and saved; centra train --resume --out told goes on");
}
