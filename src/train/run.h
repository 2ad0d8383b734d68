/* run.h - a whole run of training, from a recipe to the model that was kept, in a folder of its own (train/folder.h).
 *
 * Several processes share a run (peers/peers.h): each makes the same calls with its own data and device; rank 0 writes the
 * folder and the others need none. A run can be stopped or killed at any time and goes on from its last checkpoint as if nothing had happened: the weights
 * and what it measured are the same to the last bit. */
#ifndef TRAIN_RUN_H
#define TRAIN_RUN_H
#include "base/log.h"
#include "base/pool.h"
#include "eval/interval.h"
#include "peers/peers.h"
#include "train/report.h"
#include "train/settings.h"

enum run_phase { RUN_STEP, RUN_VALIDATING, RUN_EPOCH_DONE };

struct run_progress {
    enum run_phase phase;
    uint64_t epoch, epochs; /* done, and planned */
    uint64_t index, steps;  /* of the current epoch: done, and all */
    double loss, accuracy;  /* means over the epoch so far */
    double rate;
    double pictures_per_second, seconds, seconds_left; /* the last without validations */
    size_t done, of;                                   /* RUN_VALIDATING: pictures or episodes */
    struct interval validation;                        /* RUN_EPOCH_DONE; count 0: not validated */
    bool best;                                         /* the model was kept */
};

struct run_options {
    struct device *device;
    pool *threads;       /* the device's */
    struct peers *peers; /* NULL: alone */
    bool in_order;       /* sums over processes are added in the order of their ranks */
    const struct run_settings *settings;
    const char *data, *images; /* the set; NULL: data.path of the recipe */
    const char *folder;
    bool resume, force, tensorboard, strict;
    double checkpoint_seconds; /* between checkpoints within an epoch; 0: 300 */
    uint64_t checkpoint_steps; /* the same in steps; 0: by time only */
    const char *version;       /* of the program, for the model's metadata */
    const struct report_fact *facts;
    const struct log_sink *log;
    bool (*progress)(void *context,
                     const struct run_progress *p); /* after each step; false: save and stop. May be NULL. */
    void *context;
};

struct run_result {
    uint64_t epochs, steps; /* done, in all */
    double loss, accuracy;  /* of the last epoch that was finished here; NaN: none */
    double best, best_half; /* accuracy of the model that was kept */
    uint64_t best_epochs;   /* epochs done when it was measured; 0: none was */
    bool stopped;
};

status run_train(const struct run_options *o, struct run_result *out);
#endif
