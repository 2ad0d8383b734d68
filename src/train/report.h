/* report.h - report.html: a run on one page that opens anywhere, without scripts or other files.
 *
 * It shows the curves of loss, training accuracy, validation accuracy with its 95 % band and learning rate, the recipe that was in effect and
 * the environment. Everything that comes from outside is escaped. It is written anew after each epoch. */
#ifndef TRAIN_REPORT_H
#define TRAIN_REPORT_H
#include "base/text.h"
#include "train/metrics.h"

struct report_fact {
    const char *name, *value; /* "device", "cpu, 8 threads, avx512" */
};

struct report {
    const char *title;
    const char *recipe;              /* as recipe_write gave it */
    const struct report_fact *facts; /* the environment; ends with a NULL name; may be NULL */
    const struct metrics_line *lines;
    size_t count;
    size_t epochs; /* planned */
};

/* The whole page. */
status report_html(const struct report *r, text *to);
/* The page as a file, replaced whole. */
status report_write(const struct report *r, const char *path);
#endif
