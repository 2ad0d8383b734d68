/* launch.c - the program started as several processes. */
#include "tests/peers/launch.h"
#include "base/file.h"
#include "tests/test.h"
#include <dirent.h>
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

bool launch_has_plugin(void)
{
    char plugin[600];
    snprintf(plugin, sizeof plugin, "%s", program());
    char *name = strrchr(plugin, '/');
    snprintf(name ? name + 1 : plugin, 20, "centra-mpi.so");
    return access(plugin, R_OK) == 0;
}

bool launch_prepare(void)
{
    unsetenv("OMPI_COMM_WORLD_SIZE");
    unsetenv("SLURM_STEP_NUM_TASKS");
    setenv("CENTRA", program(), 1);
    return launch_put("tiny.txt", RECIPE);
}

bool launch_put(const char *name, const char *content)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    FILE *f = fopen(path, "w");
    if (!f) return false;
    fputs(content, f);
    return fclose(f) == 0;
}

char *launch_text(const char *name)
{
    char path[600], *data = NULL;
    size_t n;
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    return file_read(path, 1 << 24, &data, &n) == OK ? data : calloc(1, 1);
}

int launch_run(const char *line)
{
    char whole[3000];
    snprintf(whole, sizeof whole, "cd '%s' && { %s; } > out 2> err", test_folder(), line);
    const int code = system(whole);
    return WIFEXITED(code) ? WEXITSTATUS(code) : 1000;
}

void launch_expect(const char *wanted)
{
    char *err = launch_text("err");
    if (!strstr(err, wanted)) test_failed(__FILE__, __LINE__, "standard error lacks '%s':\n%s", wanted, err);
    free(err);
}

size_t launch_count(const char *wanted)
{
    char *err = launch_text("err");
    size_t n = 0;
    for (const char *at = err; (at = strstr(at, wanted)); at++) n++;
    free(err);
    return n;
}

double launch_loss(const char *run_name) /* "loss":1.6092 of an epoch's line */
{
    char name[100];
    snprintf(name, sizeof name, "%s/metrics.jsonl", run_name);
    char *lines = launch_text(name), *at = strstr(lines, "\"loss\":");
    const double loss = at ? strtod(at + 7, NULL) : (double)NAN;
    free(lines);
    return loss;
}

pid_t launch_long(const char *launcher, const char *run_name)
{
    const pid_t child = fork();
    if (child == 0) {
        char line[1500];
        if (chdir(test_folder())) _exit(126);
        snprintf(line, sizeof line,
                 "exec timeout 60 %s $CENTRA train tiny.txt " SET
                 " --threads 1 --out %s --set train.epochs=100000 --set validate.every=100000 > %s.out 2> %s.err",
                 launcher, run_name, run_name, run_name);
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    char path[600];
    snprintf(path, sizeof path, "%s/%s/metrics.jsonl", test_folder(), run_name);
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

/* A file of /proc/PROCESS as text, its NULs as lines. */
static void read_proc(const char *process, const char *name, size_t room, char *text)
{
    char path[300];
    snprintf(path, sizeof path, "/proc/%s/%s", process, name);
    FILE *f = fopen(path, "r");
    const size_t n = f ? fread(text, 1, room - 1, f) : 0;
    for (size_t i = 0; i < n; i++)
        if (!text[i]) text[i] = '\n';
    text[n] = 0;
    if (f) fclose(f);
}

static bool is_rank(const char *process, int rank)
{
    static char environment[1 << 17];
    char name[32], mark[32], link[300], here[4097] = "", *folder = realpath(test_folder(), NULL);
    read_proc(process, "comm", sizeof name, name);
    read_proc(process, "environ", sizeof environment, environment);
    snprintf(link, sizeof link, "/proc/%s/cwd", process);
    snprintf(mark, sizeof mark, "\nPMIX_RANK=%d\n", rank); /* mpirun leaves it too */
    const bool at_home = readlink(link, here, sizeof here - 1) > 0 && folder && !strcmp(here, folder);
    free(folder);
    return at_home && !strcmp(name, "centra\n") && strstr(environment, mark);
}

pid_t launch_rank(int rank)
{
    DIR *all = opendir("/proc");
    pid_t found = 0;
    for (const struct dirent *e; !found && all && (e = readdir(all));)
        if (is_rank(e->d_name, rank)) found = (pid_t)atol(e->d_name);
    if (all) closedir(all);
    return found;
}

double launch_seconds(pid_t process)
{
    char number[24], text[2000];
    unsigned long user = 0, system_time = 0;
    snprintf(number, sizeof number, "%ld", (long)process);
    read_proc(number, "stat", sizeof text, text);
    const char *behind = strrchr(text, ')'); /* the name, which may hold anything */
    if (!behind || sscanf(behind + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system_time) != 2)
        return (double)NAN;
    return (double)(user + system_time) / (double)sysconf(_SC_CLK_TCK);
}
