/* eval.h - an evaluation on its way: what api/eval.c, api/eval_episodes.c and api/eval_result.c share. */
#ifndef API_EVAL_H
#define API_EVAL_H
#include "api/lineup.h"
#include "data/dataset.h"
#include "data/plans.h"

struct centra_eval {
    struct lineup lineup;
    struct dataset *set;         /* owned */
    struct features features;    /* owned; freed once the episodes are played */
    struct features base;        /* the same of the base classes, pooled; only where a head needs them */
    struct head_base shown;      /* as heads see them: `first` in the lineup's memory */
    struct outcome *out;         /* owned, [heads]; accuracies in percent at the end */
    centra_option **options;     /* in the lineup's memory: [heads], each ended by a NULL name */
    centra_eval_summary summary; /* texts in the lineup's memory */
    char fingerprint[65];
    bool writes; /* of several processes, the one that writes files */
};

/* Where the episodes come from. */
struct course {
    struct sampler *sampler; /* owned; NULL: `list` */
    struct plan_list list;   /* in the lineup's memory */
    struct episodes episodes;
};
/* eval_episodes.c: drawn, or read from a file and checked; saved when that is asked for. */
status course_open(const centra_eval_options *o, centra_eval *e, const struct log_sink *log, struct course *out);
void course_close(struct course *c);
/* Fails before anything is encoded when the classes are too few or too small. */
status course_possible(const centra_eval *e);

/* eval_base.c: whether a head wants base classes that nobody gave, and those that were given, encoded as the others were. */
status base_possible(const centra_eval_options *o, const centra_eval *e, const struct log_sink *log);
status base_encode(const centra_eval_options *o, const struct features_options *how, centra_eval *e);

/* A copy in `memory`; NULL of NULL. */
status keep_text(arena *memory, const char *s, const char **out);

/* eval_result.c: the texts of each head's options. */
status result_options(centra_eval *e);
#endif
