/* record.h - what a run writes down of its epochs: a line of metrics.jsonl, TensorBoard's numbers, report.html. */
#ifndef TRAIN_RECORD_H
#define TRAIN_RECORD_H
#include "train/folder.h"
#include "train/report.h"
#include "train/settings.h"

struct record_options {
    const struct run_folder *folder; /* all are borrowed */
    const struct run_settings *settings;
    const char *recipe;
    const struct report_fact *facts;
    size_t keep_epochs; /* lines of later ones, left by a run that was killed, are removed */
    bool tensorboard;
};

struct record;
status record_open(const struct record_options *o, struct record **out);
/* The page with the curves is made anew about once a second; record_finish brings it up to date. */
status record_add(struct record *r, const struct metrics_line *line);
status record_finish(struct record *r);
void record_close(struct record *r);
#endif
