/* recognise.h - which network a file of weights is for, told by the names and shapes of its arrays.
 *
 * No memory is taken for the networks that are tried, however large they are. A new network is one line of the table in
 * recognise.c. */
#ifndef API_RECOGNISE_H
#define API_RECOGNISE_H
#include "base/arena.h"
#include "eval/card.h"
#include "image/transform.h"
#include "weights/weights.h"

/* What is known of a file's network. `settings` may be changed through the options of the network; release with
 * recognised_free. */
struct recognised {
    struct model model; /* network and settings, no parameters */
    struct transform transform;
    arena *memory; /* owned: texts of settings */
};
void recognised_free(struct recognised *r);

/* Tries every network that is known. When none fits, the nearest is named with what is missing and what is extra. */
status recognise(const struct weights *w, const char *file, struct recognised *out);
/* Whether the file has exactly the parameters of the network with those settings, and of the head (NULL: none), all finite.
 * `file` stands in messages. */
status recognised_check(const struct weights *w, const char *file, const struct model *m, const struct head *head);
#endif
