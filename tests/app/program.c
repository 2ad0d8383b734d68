/* program.c - runs the centra program and catches what it says. */
#include "tests/app/program.h"
#include "base/file.h"
#include "base/text.h"
#include "tests/test.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CENTRA_PROGRAM
#define CENTRA_PROGRAM "build/centra"
#endif

enum { MOST_WORDS = 40, MOST_OUTPUT = 1 << 24 };

static void redirect(int to, const char *path, int flags)
{
    int fd = open(path, flags, 0600);
    if (fd < 0 || dup2(fd, to) < 0) _exit(126);
    close(fd);
}

static char *find_program(void) /* free with free() */
{
    const char *given = getenv("CENTRA_PROGRAM"), *name = given && *given ? given : CENTRA_PROGRAM;
    char *program = realpath(name, NULL);
    if (!program) test_failed(__FILE__, __LINE__, "there is no program '%s' to test", name);
    return program;
}

/* In the child: never returns. */
static void become_program(const char *program, const char *const *words)
{
    char *argv[MOST_WORDS + 2] = {0};
    size_t n = 0;
    argv[n++] = (char *)"centra";
    for (; *words && n <= MOST_WORDS; words++) argv[n++] = (char *)*words;
    setenv("LC_ALL", "C", 1);
    signal(SIGINT, SIG_DFL); /* whoever runs the tests in the background ignores it, and so would the program */
    execv(program, argv);
    _exit(127);
}

static void use_files(const char *out)
{
    if (chdir(test_folder())) _exit(126);
    redirect(STDIN_FILENO, "stdin", O_RDONLY);
    redirect(STDOUT_FILENO, out, O_WRONLY | O_CREAT | O_TRUNC);
    redirect(STDERR_FILENO, "stderr", O_WRONLY | O_CREAT | O_TRUNC);
}

static char *slurp(const char *name)
{
    text path = {0};
    char *data = NULL;
    size_t bytes;
    text_addf(&path, "%s/%s", test_folder(), name);
    if (file_read(text_string(&path), MOST_OUTPUT, &data, &bytes) != OK) data = calloc(1, 1);
    text_free(&path);
    return data;
}

static void write_input(const char *input)
{
    text path = {0};
    FILE *f;
    text_addf(&path, "%s/stdin", test_folder());
    f = fopen(text_string(&path), "w");
    if (f) {
        fputs(input, f);
        fclose(f);
    }
    text_free(&path);
}

static struct ran run(const char *input, const char *out, const char *const *words)
{
    struct ran r = {.status = -1};
    char *program = find_program();
    int how = 0;
    write_input(input);
    pid_t child = program ? fork() : -1;
    if (child == 0) {
        use_files(out);
        become_program(program, words);
    }
    if (child > 0 && waitpid(child, &how, 0) == child)
        r.status = WIFEXITED(how) ? WEXITSTATUS(how) : 1000 + WTERMSIG(how);
    free(program);
    r.out = slurp("stdout");
    r.err = slurp("stderr");
    return r;
}

int program_start(int *to, int *from, const char *const *words)
{
    int in[2], out[2];
    char *program = find_program();
    if (!program || pipe(in) || pipe(out)) {
        free(program);
        return -1;
    }
    pid_t child = fork();
    if (child == 0) {
        if (dup2(in[0], STDIN_FILENO) < 0 || dup2(out[1], STDOUT_FILENO) < 0) _exit(126);
        close(in[0]), close(in[1]), close(out[0]), close(out[1]);
        become_program(program, words);
    }
    close(in[0]), close(out[1]);
    free(program);
    *to = in[1];
    *from = out[0];
    return (int)child;
}

struct ran program_run(const char *input, const char *const *words) { return run(input, "stdout", words); }

struct ran program_run_into(const char *out, const char *const *words) { return run("", out, words); }

void ran_free(struct ran *r)
{
    free(r->out);
    free(r->err);
}

void expect_run(const char *file, int line, int code, const char *out, const char *err, const char *const *words)
{
    struct ran r = program_run("", words);
    if (r.status != code) test_failed(file, line, "exit status %d, wanted %d; it said: %s", r.status, code, r.err);
    if (out && strcmp(r.out, out)) test_failed(file, line, "standard output is\n%s\nwanted\n%s", r.out, out);
    if (strcmp(r.err, err)) test_failed(file, line, "standard error is\n%s\nwanted\n%s", r.err, err);
    ran_free(&r);
}
