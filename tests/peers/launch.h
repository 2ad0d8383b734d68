/* launch.h - the program started as several processes, for the tests under mpirun and under srun.
 *
 * Everything happens in the test's folder: `tiny.txt` is a recipe of two epochs, and $CENTRA the program. */
#ifndef TESTS_PEERS_LAUNCH_H
#define TESTS_PEERS_LAUNCH_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SET "--data 'synth:4?train=4&val=4&test=4&pictures=8&side=20'"

/* Whether the build has centra-mpi.so. */
bool launch_has_plugin(void);
/* The recipe and $CENTRA; an environment without marks of a launcher. */
bool launch_prepare(void);
/* A file of the test's folder, written and read; free what is read with free(). */
bool launch_put(const char *name, const char *content);
char *launch_text(const char *name);
/* A shell line; `out` and `err` are files there. Its exit status, 1000 and more for a signal. */
int launch_run(const char *line);
/* What the last line said on standard error. */
void launch_expect(const char *wanted);
size_t launch_count(const char *wanted);
/* The loss of a run's first epoch. */
double launch_loss(const char *run_name);

/* A run of very many epochs under `launcher` ("mpirun -n 4"), once it has written its first checkpoints; it ends by
 * itself after a minute. */
pid_t launch_long(const char *launcher, const char *run_name);
/* The process that is this rank of the test's run; 0 when this machine has none. */
pid_t launch_rank(int rank);
/* Seconds of processor time that a process has used. */
double launch_seconds(pid_t process);
#endif
