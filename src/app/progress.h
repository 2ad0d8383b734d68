/* progress.h - one line on standard error that changes while long work runs; on a terminal only, and not with --quiet. */
#ifndef APP_PROGRESS_H
#define APP_PROGRESS_H
#include "app/command.h"

struct progress {
    const char *command; /* stands before lines that stay */
    bool quiet, terminal;
    bool follows;      /* one of several processes, and not the first: it only warns */
    size_t shown;      /* columns of the changing line */
    uint64_t last;     /* when it was written */
    uint64_t start;    /* of what is counted */
    size_t from, done; /* at the start; now */
};

struct progress progress_begin(const struct call *c);
/* Whether it is time for a new line: ten times a second, where anybody sees it. */
bool progress_due(struct progress *p);
/* Shows the text in place of the last one, and frees it. */
void progress_show(struct progress *p, text *line);
void progress_wipe(struct progress *p);
/* A line that stays, unless --quiet. */
void progress_say(struct progress *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "12 of 40 pictures packed, 4/s, 7 s left", when it is due; the line goes when all is done. */
void progress_count(struct progress *p, const char *what, size_t done, size_t of);
/* ", 3 min 20 s left"; nothing for what is not finite. */
void progress_add_left(text *to, double seconds);

/* Callbacks of the library whose context is a struct progress. Ctrl-C and SIGTERM make training save before it ends; warnings
 * stay. */
int progress_of_training(void *context, const centra_train_progress *p);
int progress_of_evaluation(void *context, centra_eval_phase phase, size_t done, size_t of);
void progress_warning(void *context, const char *line);
#endif
