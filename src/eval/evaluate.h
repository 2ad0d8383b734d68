/* evaluate.h - episodes on cached features: accuracies of one or more heads on the same episodes.
 *
 * Episode i is a function of (seed, i); a list of episodes can be saved and played again. Results do not depend on the
 * number of threads. */
#ifndef EVAL_EVALUATE_H
#define EVAL_EVALUATE_H
#include "base/pool.h"
#include "data/sampler.h"
#include "eval/features.h"
#include "eval/interval.h"
#include "peers/peers.h"

/* Where episodes come from: drawn by the ordinary sampler, or a list. */
struct episodes {
    const struct sampler *sampler; /* NULL: `list` */
    const struct plan *list;
    size_t count;
    uint64_t epoch; /* the sampler's; each has episodes of its own */
};

struct contender {
    const struct head *head;
    const void *settings;
    struct params *params; /* with the head's parameters; may be NULL for heads without */
};

struct outcome {            /* of one head */
    double *accuracy;       /* owned, [episodes], 0 .. 1 */
    struct interval mean;   /* of accuracy, 95 % */
    struct interval paired; /* of the difference to the first head; count 0 for the first itself */
    double loss;            /* mean */
    size_t *right, *asked;  /* owned, [classes of the set]: queries of the class, and those told right */
    double seconds;         /* in the head: its share of the wall time */
};

struct evaluate_options {
    size_t classes;      /* of the set, for right and asked */
    pool *threads;       /* the device's own: episodes run side by side when it is on the host; NULL: one by one */
    struct peers *peers; /* who play a part of the episodes each; NULL: nobody */
    const struct head_base *base; /* for heads that need it; NULL: none */
    bool shuffle_labels;          /* a check: query labels drawn anew, so that accuracy must be 1 / way */
    bool (*progress)(void *context, size_t done, size_t of); /* false: stop. May be NULL. */
    void *context;
};
/* `out` has room for `heads`; free each with outcome_free. Nothing is allocated for an episode once each worker has had
 * one. A progress function that says false makes it ST_USAGE, "stopped ...". */
status evaluate(const struct features *f, const struct contender *head, size_t heads, const struct episodes *e,
                const struct evaluate_options *o, struct outcome *out);
void outcome_free(struct outcome *o);
#endif
