/* checkpoint.h - last.ckpt: everything that a run needs to go on as if it had never stopped.
 *
 * The file is safetensors ("model.NAME" and "optimiser.NAME" with the counters as metadata), so that `centra weights
 * show` reads it; a SHA-256 over all of it stands in its metadata. It is replaced whole: after a kill or on a full disk the
 * previous one is still there. Because every draw is a function of counters, they and the numbers are the whole state. */
#ifndef TRAIN_CHECKPOINT_H
#define TRAIN_CHECKPOINT_H
#include "train/optimiser.h"

struct checkpoint {
    uint64_t epoch, index, step; /* epochs done; steps done in the current one, and in all */
    uint64_t pictures;           /* seen by the network since the run began */
    double loss;                 /* sums over the steps of the current epoch: of losses times queries, */
    uint64_t right, asked;       /* of queries told right, and of all */
    double seconds;              /* of training so far */
    double best, best_half;      /* best validation; 0 before the first */
    uint64_t best_epochs;        /* epochs done when it was measured; 0: none was */
};

/* Whose checkpoint it is: a run goes on only with the same recipe and data. */
struct checkpoint_of {
    const char *recipe; /* as recipe_write gives it */
    const char *data;   /* a fingerprint */
};

status checkpoint_write(const char *path, const struct checkpoint *c, const struct checkpoint_of *of,
                        struct params *model, struct optimiser *o);
/* Reads it into the model and the optimiser, which are untouched when the file is refused: damaged, or of another recipe
 * (the first line that differs is named), other data or another network. */
status checkpoint_read(const char *path, const struct checkpoint_of *of, struct params *model, struct optimiser *o,
                       struct checkpoint *out);
#endif
