/* child.c - one run of the program under some torture. */
#include "tests/torture/child.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/text.h"
#include "serve/sandbox.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_SECONDS = 120, MOST_WORDS = 40, MOST_BYTES = 1 << 26, HUNG = 2000, SIGNALLED = 1000, PATH = 1024 };

/* Files */

/* Calls `file` for every file below the folder and, with `folders`, removes what is left. */
static void walk(const char *folder, void (*file)(const char *path, void *context), void *context, bool folders)
{
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[PATH];
        struct stat about;
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        if (snprintf(path, sizeof path, "%s/%s", folder, e->d_name) >= PATH || lstat(path, &about)) continue;
        if (S_ISDIR(about.st_mode)) walk(path, file, context, folders);
        else file(path, context);
        if (folders && S_ISDIR(about.st_mode)) rmdir(path);
    }
    if (d) closedir(d);
}

static void remove_file(const char *path, void *context)
{
    (void)context;
    unlink(path);
}

void empty_out(void)
{
    walk("out", remove_file, NULL, true);
    mkdir("out", 0700);
}

struct lines {
    char *line[512];
    size_t count;
};

static void note_file(const char *path, void *context)
{
    struct lines *l = context;
    char *bytes = NULL, hex[65] = "unreadable", line[PATH + 80];
    size_t n;
    struct sha256 s;
    if (l->count == sizeof l->line / sizeof *l->line) return;
    if (file_read(path, MOST_BYTES, &bytes, &n) == OK) {
        sha256_begin(&s);
        sha256_add(&s, bytes, n);
        sha256_end(&s, hex);
        free(bytes);
    }
    snprintf(line, sizeof line, "%s %s", path, hex);
    l->line[l->count++] = strdup(line);
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

char *left_behind(void)
{
    struct lines l = {.count = 0};
    text t = {0};
    walk("out", note_file, &l, false);
    qsort(l.line, l.count, sizeof *l.line, by_text);
    for (size_t i = 0; i < l.count; i++) {
        text_addf(&t, "%s\n", l.line[i]);
        free(l.line[i]);
    }
    char *all = strdup(text_string(&t));
    text_free(&t);
    return all;
}

/* Processes */

static int private_pipe(int ends[2])
{
    return pipe(ends) || fcntl(ends[0], F_SETFD, FD_CLOEXEC) || fcntl(ends[1], F_SETFD, FD_CLOEXEC) ? -1 : 0;
}

static int closed_pipe(void)
{
    int ends[2];
    if (pipe(ends)) _exit(126);
    close(ends[0]);
    return ends[1];
}

/* In the child: sets everything up; never returns. */
static void become(const char *program, const char *library, const char *const *words, const struct torture *t, int err)
{
    static const char *const everywhere[] = {"/"};
    const char *const runnable[] = {"/usr", "/lib", "/lib64", program}; /* writable too, which nobody tries */
    char *argv[MOST_WORDS + 2] = {(char *)"centra"};
    for (size_t n = 1; *words && n <= MOST_WORDS; n++) argv[n] = (char *)*words++;
    const int in = open("/dev/null", O_RDONLY);
    const int out = t->output == TO_FULL_DEVICE   ? open("/dev/full", O_WRONLY)
                    : t->output == TO_CLOSED_PIPE ? closed_pipe()
                                                  : open("stdout", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) _exit(126);
    setenv("LC_ALL", "C", 1);
    if (t->shim || t->counts) setenv("LD_PRELOAD", library, 1);
    if (t->shim) setenv("TORTURE", t->shim, 1);
    if (t->counts) setenv("TORTURE_COUNTS", t->counts, 1);
    if (t->read_only && sandbox_files(everywhere, 1, runnable, 4)) _exit(77);
    if (t->most_bytes >= 0) {
        const struct rlimit most = {(rlim_t)t->most_bytes, (rlim_t)t->most_bytes};
        setrlimit(RLIMIT_FSIZE, &most);
    }
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    execv(program, argv);
    _exit(127);
}

static int wait_for(pid_t child)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    const time_t end = time(NULL) + PATIENCE_SECONDS;
    int how = 0;
    while (waitpid(child, &how, WNOHANG) == 0) {
        if (time(NULL) > end) {
            kill(child, SIGKILL);
            waitpid(child, &how, 0);
            return HUNG;
        }
        nanosleep(&moment, NULL);
    }
    return WIFEXITED(how) ? WEXITSTATUS(how) : SIGNALLED + WTERMSIG(how);
}

/* Standard error comes through a pipe, which no limit of files touches; it holds more than any refusal says. */
static char *drain(int from)
{
    text t = {0};
    char piece[4096];
    ssize_t n;
    while ((n = read(from, piece, sizeof piece)) > 0) text_add_bytes(&t, piece, (size_t)n);
    char *all = strdup(text_string(&t));
    text_free(&t);
    close(from);
    return all;
}

static char *slurp(const char *path)
{
    char *bytes = NULL;
    size_t n;
    return file_read(path, MOST_BYTES, &bytes, &n) == OK ? bytes : strdup("");
}

struct outcome child_run(const char *program, const char *shim_library, const char *const *words,
                         const struct torture *t)
{
    struct outcome o = {.status = -1};
    empty_out();
    unlink("stdout");
    int err[2];
    if (private_pipe(err)) return o;
    const pid_t child = fork();
    if (child == 0) become(program, shim_library, words, t, err[1]);
    close(err[1]);
    if (child > 0) o.status = wait_for(child);
    o.out = slurp("stdout");
    o.err = drain(err[0]);
    return o;
}

void outcome_free(struct outcome *o)
{
    free(o->out);
    free(o->err);
}
