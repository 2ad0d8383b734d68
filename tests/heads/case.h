/* case.h - golden cases: folders with inputs, recorded outputs of the reference implementation, and a case.json that
 * says what they are and how near an implementation must come. */
#ifndef TESTS_HEADS_CASE_H
#define TESTS_HEADS_CASE_H
#include "base/json.h"
#include "base/npy.h"
#include "tensor/tensor.h"

struct golden {
    const char *name; /* "MEL_katz_1shot" */
    const char *isa;  /* run it with this instruction set */
    dtype type;       /* and in this precision */
    char folder[512];
    const struct json *about; /* case.json */
};

/* Runs `check` for every case whose name begins with `prefix`, on every instruction set of this machine, in f32 and
 * f64. Skips the test when there are no golden vectors; fails it when none of them fits. */
void for_golden(const char *prefix, void (*check)(const struct golden *g));

/* A file of the case as f64; integers stay integers. Fails the test and gives false when it is not there. */
bool golden_read(const struct golden *g, const char *file, struct npy *out);
/* options.name as a number, or `standard` when the case has none. */
double golden_number(const struct golden *g, const char *name, double standard);
/* Whether the case records this output. */
bool golden_has(const struct golden *g, const char *output);
/* Compares what was computed with the recorded file, by the case's own tolerance for that file and precision. */
void golden_expect(const struct golden *g, const char *file, const double *seen, size_t n);
/* Fails the test for recorded outputs that are not in the NULL-terminated list: nobody has compared them. */
void golden_expect_only(const struct golden *g, const char *const *files);
#endif
