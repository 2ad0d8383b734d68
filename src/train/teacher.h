/* teacher.h - a trained network whose features another one is drawn to in pre-training (distillation).
 *
 * The teacher sees the pictures of a step as the pupil does, with the same crop and colours, only normalised as it was trained with
 * and, where that is asked for, enlarged to another side. It runs on a tape of its own, for inference, and nothing of it changes. On
 * a device that computes in bf16 it computes in tf32: not every network has a form in bf16. */
#ifndef TRAIN_TEACHER_H
#define TRAIN_TEACHER_H
#include "base/random.h"
#include "ops/ops.h"

struct teacher;
struct transform;

struct teacher_options {
    const char *path;              /* a file of weights that says which network it is for */
    const char *fingerprint;       /* other weights are refused; NULL: any */
    size_t side;                   /* of what it sees; 0: as it is shown */
    const struct transform *shown; /* how the pupil's pictures are made */
};
status teacher_open(struct device *d, const struct teacher_options *o, struct teacher **out);
void teacher_free(struct teacher *t);
size_t teacher_channels(const struct teacher *t);

/* What it says of pictures; the teacher's, until its next call. */
struct guidance {
    tensor pooled; /* [n, channels]: the average over the places of their last maps */
    tensor places; /* [n, channels, cells * cells]: the maps averaged to so many; not there when none are asked for */
};
/* Pictures [n, 3, side, side]. `cells` is 0 where places are not wanted. */
status teacher_features(struct teacher *t, const tensor *pictures, size_t cells, struct guidance *out);

/* What is learned along with the network: "pre.distil.weight" [taught, channels], which turns its features into the teacher's. */
status distil_params(size_t channels, size_t taught, dtype type, struct random *r, struct params *p);
/* 1 - cos between the turned average of each map [n, C, r] and the teacher's features [n, taught], averaged over pictures:
 * 0 when all point the same way. NULL after a failure, which the tape holds. */
var *distil_loss(tape *t, struct params *p, var *maps, const tensor *pooled);
/* The same of each place of the maps and the teacher's there, [n, taught, r], averaged over places and pictures. */
var *distil_places_loss(tape *t, struct params *p, var *maps, const tensor *places);
#endif
