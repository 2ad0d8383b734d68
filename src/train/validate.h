/* validate.h - how good the model is on classes that it does not train on.
 *
 * A run of episodes is measured by the same episodes every time, pre-training by others after each epoch (methods 6.4). */
#ifndef TRAIN_VALIDATE_H
#define TRAIN_VALIDATE_H
#include "base/pool.h"
#include "eval/interval.h"
#include "peers/peers.h"
#include "train/trainer.h"

struct validation_options {
    const struct dataset *data;          /* the split; borrowed */
    const struct stock *stock;           /* of the split on the device, or NULL; borrowed */
    const struct run_settings *settings; /* borrowed */
    uint64_t epoch;                      /* in pre-training it chooses the episodes */
    pool *threads;                       /* the device's */
    struct peers *peers;                 /* who share the work; NULL: nobody */
    const struct log_sink *log;
    /* Called now and then; false: stop. May be NULL. */
    bool (*progress)(void *context, size_t done, size_t of);
    void *context;
};
/* The head is the trainer's; in pre-training the one that its loss names. Accuracies of the episodes, 0 to 1, as a mean
 * with its interval. Stopped: OK with *cut true, and no result. */
status validate(const struct trainer *t, const struct validation_options *o, struct interval *out, bool *cut);
/* Refuses a split that cannot fill an episode, before hours have been spent on training. */
status validate_check(const struct dataset *d, const struct run_settings *s);
#endif
