/* shots.h - the support pictures of each class, for heads that look at them one by one and not at their mean. */
#ifndef HEADS_SHOTS_H
#define HEADS_SHOTS_H
#include "heads/head.h"

struct shots {
    var *support;        /* [ns, C, rs] sorted by class; within a class as they came */
    const size_t *first; /* [way + 1]: class c has the pictures first[c] up to first[c + 1] */
    bool equal;          /* all classes have the same number */
};

/* Reads the labels back from the device, which waits for it, unless the episode has them on the host. False after a
 * failure. */
bool shots_sort(tape *t, const struct episode *e, struct shots *out);
#endif
