/* rig.h - small sets of pictures and trainers over them. */
#ifndef TESTS_TRAIN_RIG_H
#define TESTS_TRAIN_RIG_H
#include "tests/ops/world.h"
#include "train/trainer.h"

/* A folder in the test's own with train/ and val/: `classes` classes each, of `pictures` noisy pictures whose colours
 * tell their class. NULL, with a failed expectation, when it cannot be written. */
const char *data_folder(size_t classes, size_t pictures);

struct lessons { /* a trainer with its data, without a loader */
    struct world w;
    struct dataset *data;
    struct run_settings settings;
    arena *memory;
    struct trainer *trainer;
    float *pictures; /* of the current lesson */
    uint64_t step;
};
/* The recipe of a tiny Conv-4 with 3-way episodes, 3 steps an epoch; then "section.name=value", separated by blanks. */
status tiny_settings(struct run_settings *s, arena *memory, const char *recipe);
/* `recipe` is added to the tiny one. */
bool lessons_open(struct lessons *l, size_t threads, const char *recipe);
void lessons_close(struct lessons *l);
/* The next step, from one epoch into the next. */
status lessons_step(struct lessons *l, struct taught *out);
/* SHA-256 of all parameters. */
void params_hash(struct params *p, char hex[65]);
#endif
