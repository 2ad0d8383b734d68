/* program.h - runs the centra program and catches what it says. */
#ifndef TESTS_APP_PROGRAM_H
#define TESTS_APP_PROGRAM_H
#include <stddef.h>

struct ran {
    int status;      /* exit status; 1000 + the signal when one ended it; -1 when it could not be run */
    char *out, *err; /* owned; never NULL */
};

/* Runs it in the test's folder with these NULL-terminated words, `input` on standard input and the "C" locale. */
struct ran program_run(const char *input, const char *const *words);
/* The same with standard output going to the file `out`. */
struct ran program_run_into(const char *out, const char *const *words);
/* Starts it with pipes at its standard input and output, so that a test can talk to it. Returns the process, or -1. */
int program_start(int *to, int *from, const char *const *words);
void ran_free(struct ran *r);

/* Runs and compares byte for byte; `out` NULL: anything. */
void expect_run(const char *file, int line, int code, const char *out, const char *err, const char *const *words);

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define EXPECT_RUN(status, out, err, ...) expect_run(__FILE__, __LINE__, status, out, err, WORDS(__VA_ARGS__))
/* A refusal: nothing on standard output, one line on standard error. */
#define EXPECT_REFUSED(status, err, ...) EXPECT_RUN(status, "", err "\n", __VA_ARGS__)
#endif
