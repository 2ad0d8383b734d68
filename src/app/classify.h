/* classify.h - what the files of centra classify share. */
#ifndef APP_CLASSIFY_H
#define APP_CLASSIFY_H
#include "app/command.h"
#include "app/table.h"
#include "app/unknown.h"
#include <math.h>

struct classify {
    const char *support, *model, *head, *copy_to, *heatmap, *save_pack, *add, *remove;
    const char *unknown_below; /* a number; NULL: the default */
    bool csv;
    int64_t top;
};

/* A picture and what was said about it. */
struct verdict {
    const char *path;
    const centra_guess *guess;
    const double *probabilities; /* [classes] */
    bool unknown;
};

/* classify_report.c: rows as they come, in the form that was asked for; a table is shown at the end. */
struct report {
    const struct call *call;
    const centra_support *support;
    size_t classes, top;
    size_t *order; /* owned, [classes] */
    text out;
    struct table table;
    size_t rows;
};
status report_begin(const struct call *c, const centra_support *s, struct report *out);
status report_row(struct report *r, const struct verdict *v);
/* Shows what is waiting; for a table, only at the end. */
status report_flush(struct report *r, bool end);
void report_free(struct report *r);

/* sort_copies.c: copies the file into the folder of its class below `to`. Nothing is overwritten: a name that is taken gets a
 * number, and a file that is there already is left alone. */
status sort_copy(const char *path, const char *to, const char *label);
#endif
