/* keep.h - the model that a run keeps: safetensors that say what they are (eval/card.h), for evaluation and others. */
#ifndef TRAIN_KEEP_H
#define TRAIN_KEEP_H
#include "eval/card.h"
#include "eval/interval.h"

struct keep_facts {
    const char *version, *recipe;  /* of the program; as recipe_write gave it */
    const char *set, *fingerprint; /* of the training pictures; the name may be NULL */
    size_t classes;
    uint64_t epochs;                 /* of training behind it */
    const struct interval *accuracy; /* in validation; count 0: not measured */
};
/* Parameters of pre-training are left out: the network is what goes on. */
status keep_model(const char *path, const struct model *m, const struct transform *t, const struct keep_facts *f);
#endif
