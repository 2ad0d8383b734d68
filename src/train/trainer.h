/* trainer.h - one step of training after another: the pictures of a lesson through network and head, the gradient, the
 * optimiser.
 *
 * What a step does is a function of the weights and the counters alone, whatever the number of threads. After the first
 * steps nothing is allocated. With a stock and a tally (below) the host only writes down what the device shall do, and
 * is steps ahead of it. Episodes and pre-training differ in their loss only: read train/episodic.c. */
#ifndef TRAIN_TRAINER_H
#define TRAIN_TRAINER_H
#include "data/loader.h"
#include "data/stock.h"
#include "eval/model.h"
#include "train/average.h"
#include "train/course.h"
#include "train/exchange.h"
#include "train/parts.h"
#include "train/pretrain.h"
#include "train/teacher.h"

struct trainer {
    const struct run_settings *settings; /* borrowed */
    struct model model;                  /* its table holds the parameters of pre-training as well ("pre.") */
    const struct pretrain *pretrain;     /* NULL: episodes */
    void *pretrain_settings;             /* owned; NULL where it has none */
    struct teacher *teacher;             /* owned; NULL: none */
    size_t cells;                        /* side of the maps that it is asked for; 0: averages alone */
    struct optimiser *optimiser;         /* owned */
    struct average *average;             /* owned; NULL: none is wanted */
    struct schedule schedule;
    struct transform transform;
    tape *tape;              /* owned */
    struct course *course;   /* owned */
    size_t classes;          /* of an episode; in pre-training of the set */
    var **scores;            /* owned: of each episode of the step, or of all its pictures */
    const tensor **labels;   /* owned: of the same queries, on the device */
    int32_t *support_labels; /* owned: of one episode */
    void *host;              /* owned: room for the scores of an episode */
    size_t host_bytes;
    const struct stock *stock;  /* borrowed: what pictures are shown from; NULL: they come from the host */
    struct picture_item *items; /* owned: of one step, with a stock */
    struct tallied *tally;      /* owned, device memory: sums over steps; NULL: each step waits and tells */
    struct running *running;    /* owned; of steps in parts; NULL: steps are whole */
    struct exchange *exchange;  /* owned, likewise */
};

/* Weights at their start: drawn, or read from the recipe's net.weights. */
status trainer_new(struct device *d, const struct dataset *data, const struct run_settings *s, struct trainer **out);
void trainer_free(struct trainer *t);

/* From now on pictures are shown from `s`, which lies on the same device and must live as long as the trainer. */
status trainer_take_stock(struct trainer *t, const struct stock *s);
/* From now on no step waits for the device: what it taught is added up there, beginning with these sums. Again: begins
 * anew. */
status trainer_tally_begin(struct trainer *t, const struct tallied *from);
/* Waits, and tells the sums. Had a step a loss that is not finite, ST_NUMERIC names the first such and a tensor. */
status trainer_tally_read(struct trainer *t, struct tallied *out);

struct taught {          /* by one step */
    double loss;         /* 0, like `right`, when there is a tally */
    size_t right, asked; /* queries told right, and all */
};
/* `pictures` [support + queries, cells, 3, side, side] as the lesson lists them, or NULL with a stock; `step` counts from the
 * start of the run. A loss that is not finite is ST_NUMERIC, naming the step and the first tensor that is not. */
status trainer_step(struct trainer *t, const struct lesson *l, uint64_t step, const float *pictures,
                    struct taught *out);
/* From now on steps are in parts, and shared with these processes. */
status trainer_share(struct trainer *t, struct peers *peers);
/* A step in parts, which this process has some of: begin, the parts, end, which waits for the other processes, adds up
 * `numbers` over all of them and takes the step. What a part taught is added to *out. */
status trainer_begin(struct trainer *t);
status trainer_part(struct trainer *t, const struct lesson *part, bool last, uint64_t step, const float *pictures,
                    struct taught *out);
status trainer_end(struct trainer *t, uint64_t epoch, double *numbers, size_t count);
/* ST_NUMERIC, naming it, when a parameter is not finite. */
status trainer_check(struct trainer *t, uint64_t step);

/* Validation runs after these epochs (counted from 0), and after the last. */
bool trainer_validates(const struct run_settings *s, uint64_t epoch);

/* For the losses: what the extractor takes of pictures, [count, C, locations], where those of the first `mirrored` pictures are followed each by that
 * of its mirror image; and the losses themselves, which leave the scores of each
 * episode in t->scores. */
struct pass {
    const struct lesson *lesson;
    uint64_t step;
    const float *pictures;            /* on the host, or */
    const struct picture_item *items; /* on the device: how the stock shows them */
};
struct through {          /* a pass through the network */
    unsigned part, parts; /* which of the step's passes, of how many */
    size_t
        first; /* so many pictures at its beginning have statistics of their own (nets/net.h); 0: all have the same */
};
var *trainer_encode(struct trainer *t, const struct pass *p, size_t first, size_t count, const struct through *how,
                    size_t mirrored);
/* The same of pictures that are on the tape. */
var *trainer_maps(struct trainer *t, const struct pass *p, var *pictures, const struct through *how);
/* train/showing.c: the pictures themselves, [count, 3, side, side]; and how a lesson's are shown from the stock. */
var *trainer_pictures(struct trainer *t, const struct pass *p, size_t first, size_t count);
status trainer_plan(struct trainer *t, const struct lesson *l, const struct picture_item **out);
var *episodic_loss(struct trainer *t, const struct pass *p);
var *pretrain_loss(struct trainer *t, const struct pass *p);
#endif
