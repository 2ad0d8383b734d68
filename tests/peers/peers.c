/* peers.c - tests of the seam to other processes: who has which part, and whether all are about to do the same. */
#include "peers/peers.h"
#include "api/peers.h"
#include "tests/peers/circle.h"
#include "tests/test.h"
#include <stdio.h>
#include <stdlib.h>

TEST(parts_cover_everything_once_and_differ_by_one_at_most)
{
    for (size_t count = 0; count < 40; count++)
        for (size_t size = 1; size < 10; size++) {
            EXPECT_INT(peers_first(count, 0, size), 0);
            EXPECT_INT(peers_first(count, size, size), count);
            for (size_t r = 0; r < size; r++) {
                const size_t n = peers_first(count, r + 1, size) - peers_first(count, r, size);
                EXPECT(n >= count / size && n <= count / size + 1);
            }
        }
}

static status total(void *context, struct peers *p)
{
    double *seen = context, mine[2] = {p->rank + 1, 10};
    const status st = peers_total(p, 2, mine);
    if (p->rank == p->size - 1) memcpy(seen, mine, sizeof mine);
    return st;
}

TEST(totals_are_those_of_all_ranks)
{
    double seen[2] = {0};
    EXPECT(circle_run(4, total, seen, NULL));
    EXPECT(seen[0] == 10 && seen[1] == 40);
    EXPECT_OK(total(seen, peers_alone()));
    EXPECT(seen[0] == 1 && seen[1] == 10);
}

struct odd { /* what the rank `rank` has that the others have not */
    int rank;
    const char *version, *recipe;
};

static status compare(void *context, struct peers *p)
{
    const struct odd *o = context;
    const bool odd = p->rank == o->rank;
    const struct peers_fact facts[] = {{"version", odd && o->version ? o->version : "1.0", true},
                                       {"recipe", odd && o->recipe ? o->recipe : "[train]\n", false}};
    return peers_agree(p, 2, facts);
}

TEST(ranks_that_differ_are_named_on_every_rank)
{
    struct circle_end end[CIRCLE_MOST];
    EXPECT(circle_run(4, compare, &(struct odd){.rank = 9}, end));
    EXPECT(!circle_run(4, compare, &(struct odd){.rank = 2, .version = "1.1"}, end));
    for (int r = 0; r < 4; r++) {
        EXPECT_INT(end[r].st, ST_VALUE);
        EXPECT_TEXT(end[r].text, "rank 2 has version 1.1, but rank 0 has 1.0; all must have the same");
    }
    EXPECT(!circle_run(3, compare, &(struct odd){.rank = 1, .recipe = "[train]\nrate = 1\n"}, end));
    for (int r = 0; r < 3; r++)
        EXPECT_TEXT(end[r].text, "rank 1 has another recipe than rank 0; all must have the same");
}

static void forget_launchers(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",   "PMIX_RANK", "SLURM_NTASKS",
                                        "SLURM_STEP_NUM_TASKS", "WORLD_SIZE", "RANK",      "OMPI_COMM_WORLD_LOCAL_RANK",
                                        "SLURM_LOCALID",        "LOCAL_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) unsetenv(names[i]);
}

TEST(the_environment_says_whether_this_is_one_of_several_processes)
{
    forget_launchers();
    EXPECT_INT(peers_started().size, 1);
    setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
    setenv("OMPI_COMM_WORLD_LOCAL_RANK", "3", 1);
    EXPECT(peers_started().size == 4 && peers_started().local == 3 && peers_started().by == BY_MPI);
    forget_launchers();
    setenv("SLURM_NTASKS", "8", 1); /* of an allocation; the process itself is alone */
    EXPECT_INT(peers_started().size, 1);
    setenv("PMIX_RANK", "1", 1);
    setenv("SLURM_LOCALID", "1", 1);
    EXPECT(peers_started().size == 8 && peers_started().local == 1 && peers_started().by == BY_MPI);
    forget_launchers();
    setenv("WORLD_SIZE", "2", 1);
    EXPECT_INT(peers_started().size, 1);
    setenv("RANK", "0", 1);
    EXPECT(peers_started().size == 2 && peers_started().by == BY_OTHERS);
    struct peers *p = NULL;
    EXPECT_STATUS(peers_join(&p), ST_UNSUPPORTED);
    EXPECT_TEXT(error_text(),
                "RANK and WORLD_SIZE say that this is one of 2 processes; start them with mpirun -n 2 or srun "
                "--mpi=pmix -n 2");
    forget_launchers();
    EXPECT_OK(peers_join(&p));
    EXPECT(p == peers_alone());
}

/* srun --mpi=none: R processes that know nothing of each other would do the same R times. */
TEST(a_task_of_slurm_that_mpi_knows_nothing_of_is_refused)
{
    struct peers *p = NULL;
    forget_launchers();
    setenv("SLURM_NTASKS", "2", 1);
    setenv("SLURM_STEP_NUM_TASKS", "2", 1);
    EXPECT(peers_started().size == 2 && peers_started().by == BY_SLURM);
    EXPECT_STATUS(peers_join(&p), ST_UNSUPPORTED);
    EXPECT_TEXT(error_text(),
                "SLURM_STEP_NUM_TASKS says that this is one of 2 processes, but srun told MPI nothing: use "
                "srun --mpi=pmix, or unset that variable where each shall work alone");
    setenv("OMPI_COMM_WORLD_SIZE", "1", 1); /* mpirun -n 1 within a step */
    EXPECT_OK(peers_join(&p));
    EXPECT(p == peers_alone());
    forget_launchers();
    setenv("SLURM_NTASKS", "4", 1); /* the shell of an allocation, itself a step of one task */
    setenv("SLURM_STEP_NUM_TASKS", "1", 1);
    setenv("PMIX_RANK", "0", 1);
    EXPECT_INT(peers_started().size, 1);
    forget_launchers();
}

TEST(one_of_several_without_the_plugin_is_refused)
{
    struct peers *p = NULL;
    char path[600];
    forget_launchers();
    snprintf(path, sizeof path, "%s/centra-mpi.so", test_folder());
    FILE *f = fopen(path, "w");
    REQUIRE(f);
    fputs("no shared object", f);
    REQUIRE(fclose(f) == 0);
    setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    setenv("CENTRA_PLUGINS", test_folder(), 1);
    EXPECT_STATUS(peers_join(&p), ST_UNSUPPORTED);
    EXPECT(strstr(error_text(), "this is one of 2 processes") && strstr(error_text(), path));
    unsetenv("CENTRA_PLUGINS");
    forget_launchers();
}
