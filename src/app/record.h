/* record.h - what is kept of a row that was run: one small JSON file, from which the page of results is made.
 *
 * A record is written whole or not at all, one file a row, seed and set of further settings, so that any number of
 * processes may share a folder of them. The keys are those of `record_fields` in record.c, flat, in that order; times are
 * seconds, accuracies percent; what is not known is null. docs/reproduce.md says what each means. */
#ifndef APP_RECORD_H
#define APP_RECORD_H
#include "base/arena.h"
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RECORD_SCHEMA = 1 };

/* Texts are borrowed when it is written, and in the arena when it was read; NULL and NaN: not known. */
struct record {
    int64_t schema;
    const char *row;                           /* "cub-conv4-1shot/mcl-katz" */
    int64_t seed;                              /* of the training */
    const char *recipe, *recipe_sha256;        /* its name; of the recipe in effect, without paths */
    const char *settings, *more;               /* what the row and what --set changed in it, between blanks */
    const char *commit, *version;              /* of the program */
    const char *device, *machine, *maths;      /* "cuda:0", "NVIDIA H200", of the test "f32" */
    const char *date;                          /* of the end, "2025-01-31" */
    const char *train_data, *test_data;        /* fingerprints of the pictures */
    const char *weights, *weights_from;        /* fingerprint; the row that trained them, or the file that was given */
    int64_t epochs, steps;                     /* 0: not trained here */
    double train_seconds, pictures_per_second; /* validation included */
    double validation, validation_ci95;        /* of the model that was kept, percent */
    int64_t validation_epoch;
    const char *log;   /* metrics.jsonl of the run, within the folder of runs */
    const char *curve; /* validation on the way, epochs done and percent: "20 61.25, 40 64.02" */
    int64_t way, shot, query, episodes, test_seed;
    double test_seconds, accuracy, ci95;
};

status record_write(const char *path, const struct record *r);
/* One line says what is wrong with a file that is no record. */
status record_read(const char *path, arena *memory, struct record *out);

/* The records of a folder, sorted by file name; one that is not there has none. */
struct record_list {
    struct record *item; /* in the arena */
    size_t count;
};
status records_read(const char *folder, arena *memory, struct record_list *out);
#endif
