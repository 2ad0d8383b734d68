/* peers.c - whether this process is one of several, and the plug-in through which it meets them.
 *
 * mpirun of Open MPI, and srun with PMIx or PMI2, leave their marks in the environment. Without any, or with a size of 1,
 * nothing is opened: the program needs no MPI. Processes that were started together in a way that MPI does not know are
 * refused, since each would do the whole work and write to the same folder. */
#include "api/peers.h"
#include "api/plugin.h"
#include "centra.h"
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>

static const char FILE_NAME[] = "centra-mpi.so";

/* The first of these variables that is a number; `otherwise` when none is. */
static int number_in(const char *const *names, int otherwise)
{
    for (; *names; names++) {
        const char *text = getenv(*names);
        char *end;
        if (!text || !*text) continue;
        const long v = strtol(text, &end, 10);
        if (!*end && v >= 0 && v <= INT_MAX) return (int)v;
    }
    return otherwise;
}

struct started peers_started(void)
{
    static const char *const mpirun[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", NULL};
    static const char *const other[] = {"WORLD_SIZE", NULL};
    /* tasks of a step; a script of sbatch or salloc has the second alone, and is one process */
    static const char *const step[] = {"SLURM_STEP_NUM_TASKS", NULL};
    static const char *const slurm[] = {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", NULL};
    static const char *const local[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "LOCAL_RANK", NULL};
    const bool pmix = getenv("PMIX_RANK") != NULL; /* srun --mpi=pmix: one of the tasks of the step */
    struct started s = {.size = number_in(mpirun, 0), .local = number_in(local, 0), .by = BY_MPI};
    if (s.size) return s;
    s.size = number_in(pmix ? slurm : step, 1);
    if (!pmix) s.by = BY_SLURM;
    if (s.size < 2 && getenv("RANK")) s = (struct started){number_in(other, 1), s.local, BY_OTHERS};
    return s;
}

static status refuse(const struct started *s)
{
    if (s->by == BY_SLURM)
        return fail(ST_UNSUPPORTED,
                    "SLURM_STEP_NUM_TASKS says that this is one of %d processes, but srun told MPI nothing: use srun "
                    "--mpi=pmix, or unset that variable where each shall work alone",
                    s->size);
    return fail(ST_UNSUPPORTED,
                "RANK and WORLD_SIZE say that this is one of %d processes; start them with mpirun -n %d or srun "
                "--mpi=pmix -n %d",
                s->size, s->size, s->size);
}

static status load(int size, const struct peers_plugin **out)
{
    char path[PATH_MAX];
    if (!plugin_file(FILE_NAME, path))
        return fail(ST_UNSUPPORTED,
                    "this is one of %d processes, but this build has no MPI: no %s was found beside it or in "
                    "CENTRA_PLUGINS; start one process, or build with Open MPI",
                    size, FILE_NAME);
    void *object = dlopen(path, RTLD_NOW | RTLD_GLOBAL); /* MPI opens parts of its own that look for it */
    if (!object) return fail(ST_UNSUPPORTED, "this is one of %d processes, but: %s", size, dlerror());
    const struct peers_plugin *p = dlsym(object, PEERS_SYMBOL);
    if (!p) return fail(ST_UNSUPPORTED, "%s is no plug-in of Centra, it has no %s", path, PEERS_SYMBOL);
    if (p->abi != PEERS_ABI || p->bytes != sizeof(struct peers))
        return fail(ST_UNSUPPORTED,
                    "%s has interface %u of %u bytes, this library has %d of %zu; build both from the same sources",
                    path, (unsigned)p->abi, (unsigned)p->bytes, (int)PEERS_ABI, sizeof(struct peers));
    *out = p;
    return OK;
}

status peers_join(struct peers **out)
{
    status st = OK;
    const struct peers_plugin *p = NULL;
    const struct started s = peers_started();
    *out = peers_alone();
    if (s.size < 2) return OK;
    if (s.by != BY_MPI) return refuse(&s);
    TRY(load(s.size, &p));
    TRY(p->open(fail, out));
    if ((*out)->size < 2)
        TRY(fail(ST_UNSUPPORTED,
                 "this is one of %d processes, but %s knows of one: it was built with another MPI than that of the "
                 "command that started them",
                 s.size, FILE_NAME));
    /* first of all: versions that differ may differ in what else they would exchange */
    TRY(peers_agree(*out, 1, &(struct peers_fact){"version", centra_version(), true}));
done:
    return st;
}
