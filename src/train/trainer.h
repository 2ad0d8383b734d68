/* trainer.h - one step of training after another: the pictures of a lesson through network and head, the gradient, the
 * optimiser.
 *
 * What a step does is a function of the weights and the counters alone, whatever the number of threads. After the first
 * steps nothing is allocated. Episodes and pre-training differ in their loss only: read train/episodic.c. */
#ifndef TRAIN_TRAINER_H
#define TRAIN_TRAINER_H
#include "data/loader.h"
#include "eval/model.h"
#include "train/course.h"
#include "train/pretrain.h"

struct trainer {
    const struct run_settings *settings; /* borrowed */
    struct model model;                  /* its table holds the parameters of pre-training as well ("pre.") */
    const struct pretrain *pretrain;     /* NULL: episodes */
    void *pretrain_settings;             /* owned; NULL where it has none */
    struct optimiser *optimiser;         /* owned */
    struct schedule schedule;
    struct transform transform;
    tape *tape;              /* owned */
    struct course *course;   /* owned */
    size_t classes;          /* of an episode; in pre-training of the set */
    var **scores;            /* owned: of each episode of the step, or of all its pictures */
    int32_t *support_labels; /* owned: of one episode */
    void *host;              /* owned: room for the scores of an episode */
    size_t host_bytes;
};

/* Weights at their start: drawn, or read from the recipe's net.weights. */
status trainer_new(struct device *d, const struct dataset *data, const struct run_settings *s, struct trainer **out);
void trainer_free(struct trainer *t);

struct taught { /* by one step */
    double loss;
    size_t right, asked; /* queries told right, and all */
};
/* `pictures` [support + queries, 3, side, side] as the lesson lists them; `step` counts from the start of the run. A loss
 * that is not finite is ST_NUMERIC, naming the step and the first tensor that is not. */
status trainer_step(struct trainer *t, const struct lesson *l, uint64_t step, const float *pictures,
                    struct taught *out);
/* ST_NUMERIC, naming it, when a parameter is not finite. */
status trainer_check(struct trainer *t, uint64_t step);

/* Validation runs after these epochs (counted from 0), and after the last. */
bool trainer_validates(const struct run_settings *s, uint64_t epoch);

/* For the losses: the maps [count, C, h * w] of pictures, where those of the first `mirrored` pictures are followed each by that
 * of its mirror image; and the losses themselves, which leave the scores of each
 * episode in t->scores. */
struct pass {
    const struct lesson *lesson;
    uint64_t step;
    const float *pictures;
};
var *trainer_encode(struct trainer *t, const struct pass *p, size_t first, size_t count, unsigned part, unsigned parts,
                    size_t mirrored);
var *episodic_loss(struct trainer *t, const struct pass *p);
var *pretrain_loss(struct trainer *t, const struct pass *p);
#endif
