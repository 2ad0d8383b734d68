/* plans.h - lists of episodes in a file, so that another run or another program plays the very same ones.
 *
 * JSON lines. The first says what the file is and which data it was drawn from, each other one is an episode:
 *
 *     {"centra":"episodes","version":1,"data":"<SHA-256>","episodes":2}
 *     {"way":2,"shot":1,"query":1,"classes":[4,0],"support":[81,7],"queries":[3,90],"labels":[1,0]}
 *
 * Pictures and classes are indices of the data set, whose order is fixed (data/dataset.h). The reader is strict: a key that
 * is missing or unknown, a count that does not fit, a picture twice in an episode are errors with the line's number. */
#ifndef DATA_PLANS_H
#define DATA_PLANS_H
#include "base/arena.h"
#include "data/sampler.h"

enum { PLANS_MOST_BYTES = 1 << 30 };

struct plan_list {
    char fingerprint[65]; /* dataset_fingerprint */
    size_t count;
    struct plan *plans;
};

/* Written atomically. */
status plan_list_write(const char *path, const struct plan_list *l);
/* The plans live in `memory`. */
status plan_list_read(const char *path, arena *memory, struct plan_list *out);
status plan_list_parse(const char *path, const char *bytes, size_t n, arena *memory,
                       struct plan_list *out); /* from memory, for the fuzzers */
/* Whether the list was drawn from the data set with this fingerprint, and stays within its classes and pictures. */
status plan_list_fits(const char *path, const struct plan_list *l, const char *fingerprint, size_t classes,
                      size_t pictures);
#endif
