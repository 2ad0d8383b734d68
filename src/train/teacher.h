/* teacher.h - a trained network whose features another one is drawn to in pre-training (distillation).
 *
 * The teacher sees the pictures of a step as the pupil does, at the same side and with the same crop and colours, only
 * normalised as it was trained with. It runs on a tape of its own, for inference, and nothing of it changes. */
#ifndef TRAIN_TEACHER_H
#define TRAIN_TEACHER_H
#include "base/random.h"
#include "ops/ops.h"

struct teacher;
struct transform;

/* `path` is a file of weights that says which network it is for. With a `fingerprint` (NULL: any) other weights are refused.
 * `shown` is how the pupil's pictures are normalised. */
status teacher_open(struct device *d, const char *path, const char *fingerprint, const struct transform *shown,
                    struct teacher **out);
void teacher_free(struct teacher *t);
size_t teacher_channels(const struct teacher *t);
/* Pictures [n, 3, side, side] to the average over the places of their last maps, [n, channels]. The result is the teacher's,
 * until its next call. */
status teacher_features(struct teacher *t, const tensor *pictures, tensor *out);

/* What is learned along with the network: "pre.distil.weight" [taught, channels], which turns its features into the teacher's. */
status distil_params(size_t channels, size_t taught, dtype type, struct random *r, struct params *p);
/* 1 - cos between the turned average of each map [n, C, r] and the teacher's features [n, taught], averaged over pictures:
 * 0 when all point the same way. NULL after a failure, which the tape holds. */
var *distil_loss(tape *t, struct params *p, var *maps, const tensor *features);
#endif
