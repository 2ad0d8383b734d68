/* model.h - what is trained and evaluated: a network, what is taken of its maps, a head, their settings, and one table with
 * the parameters of both.
 *
 * Names in the table are the network's own ("layer1.0.weight") and the head's ("head.scale"), so that one weights file
 * holds a model. */
#ifndef EVAL_MODEL_H
#define EVAL_MODEL_H
#include "heads/head.h"
#include "nets/extract.h"
#include "nets/net.h"

struct transform;

struct model {
    const struct net *net;
    const struct head *head;            /* NULL: an encoder alone */
    void *net_settings, *head_settings; /* owned; read through the options of net and head */
    struct params *params;              /* owned, on the model's device */
    struct extractor extractor;         /* "map" unless model_extract was called */
    size_t channels;
};

/* Settings are the defaults (and presets); change them through the tables, then call model_start. */
status model_new(struct device *d, const char *net, const char *head, struct model *out);
/* Takes what the extractor `name` takes of the pictures that `t` prepares. A grid needs a transform that resizes: its cells
 * differ in size. */
status model_extract(struct model *m, const char *name, const struct transform *t);
/* Adds the parameters of type `type` with start values drawn from `seed`. */
status model_start(struct model *m, dtype type, uint64_t seed);
/* The head's part of that, for heads that share an encoder. */
status model_start_head(const struct head *h, size_t channels, dtype type, uint64_t seed, struct params *p);
void model_free(struct model *m);
#endif
