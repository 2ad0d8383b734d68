/* metrics.h - metrics.jsonl: what a run measured, one JSON object a line, appended as it happens.
 *
 * Each line goes out in one write, so that after a kill it is there whole or not at all; a line that was nevertheless cut
 * (a full disk, a crash of the system) is removed when the file is opened again. Readers may follow the file. */
#ifndef TRAIN_METRICS_H
#define TRAIN_METRICS_H
#include "base/arena.h"
#include "base/status.h"
#include "eval/interval.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One epoch. */
struct metrics_line {
    uint64_t epoch, step;       /* epochs done before this one; optimiser steps done after it */
    double loss, accuracy;      /* means over the epoch's training; NaN: not measured */
    double rate, seconds;       /* learning rate; since the run began */
    struct interval validation; /* accuracies; count 0: not validated */
    bool best;                  /* this epoch's weights were kept as the best */
};

struct metrics;
/* Appends to `path`, which is made when it is not there. `keep_epochs`: lines of this epoch and later ones, left by a run
 * that went on after its last checkpoint, are removed; SIZE_MAX keeps all. */
status metrics_open(const char *path, size_t keep_epochs, struct metrics **out);
void metrics_close(struct metrics *m);
status metrics_add(struct metrics *m, const struct metrics_line *line);

/* The whole file; the lines live in `memory`. A cut last line is left out, any other fault names its line. */
enum { METRICS_MOST_BYTES = 1 << 28 };
status metrics_read(const char *path, arena *memory, struct metrics_line **lines, size_t *count);
#endif
