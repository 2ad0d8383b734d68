/* pretrain.h - losses that train a network as a classifier of all its training classes, before any episodes.
 *
 * Each kind has parameters of its own ("pre.*"), which go into the network's table for the optimiser and are dropped
 * when pre-training is over, and names the head that validates the network on episodes meanwhile. A step is: encode a
 * batch, `loss`, backward, optimiser. */
#ifndef TRAIN_PRETRAIN_H
#define TRAIN_PRETRAIN_H
#include "base/option.h"
#include "base/random.h"
#include "ops/ops.h"

struct pretrain_size {
    size_t classes, channels, locations; /* C and h*w of the network's maps */
};

struct pretrain {
    const char *name, *title;     /* "frn", "linear" */
    const struct option *options; /* NULL: none; `settings` below is then NULL as well */
    size_t settings_bytes;
    /* Adds the parameters of type `type`, with their start values drawn from r. */
    status (*params)(const struct pretrain_size *s, dtype type, struct random *r, struct params *p);
    /* maps [n, C, h, w] or [n, C, r], labels i32 [n] (op_labels with way = classes): the mean cross entropy, and into
     * *logits (NULL: not wanted) [n, classes]. NULL after a failure, which the tape holds. */
    var *(*loss)(tape *t, const void *settings, struct params *p, var *maps, const tensor *labels, var **logits);
    /* Validation: a head of heads/head.h with its default settings. Its `forward` may be given no parameters (NULL): it
     * then uses their start values, which is what validation wants. */
    const char *head;
};

/* All kinds, sorted by name, NULL-terminated. */
extern const struct pretrain *const pretrain_table[];
status pretrain_find(const char *name, const struct pretrain **out); /* ST_USAGE with a "did you mean" */
#endif
