/* child.h - one run of the program under some torture, and what it left behind. */
#ifndef TESTS_TORTURE_CHILD_H
#define TESTS_TORTURE_CHILD_H
#include <stdbool.h>
#include <stddef.h>

enum output { TO_FILE, TO_FULL_DEVICE, TO_CLOSED_PIPE };

struct torture {
    const char *shim;   /* TORTURE=..., NULL: none */
    const char *counts; /* TORTURE_COUNTS=..., NULL: none */
    long most_bytes;    /* of a file that is written; -1: any number */
    bool read_only;     /* nothing can be written but standard output and error */
    enum output output;
};

struct outcome {
    int status;      /* exit status; 1000 + the signal that ended it; 2000: it hung and was ended */
    char *out, *err; /* owned */
};

/* Runs it in the current folder, with out/ emptied before. */
struct outcome child_run(const char *program, const char *shim_library, const char *const *words,
                         const struct torture *t);
void outcome_free(struct outcome *o);
/* One line for each file below out/, sorted: its path, and the SHA-256 of its bytes. Owned by the caller. */
char *left_behind(void);
void empty_out(void);
#endif
