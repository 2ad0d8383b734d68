/* average.h - a running average of a model's numbers over epochs, which is validated and kept in their place (Polyak and
 * Juditsky 1992; over epochs as Izmailov et al. 2018).
 *
 * At the end of an epoch the average keeps `memory` of itself and takes the rest from the model; it begins as the plain
 * mean of the epochs so far, so that the start of training is soon forgotten. Running statistics are averaged with the
 * weights. Training never sees the average. */
#ifndef TRAIN_AVERAGE_H
#define TRAIN_AVERAGE_H
#include "tensor/params.h"

struct average;
/* Adds "average.NAME" for everything of `model` to `state`, which a checkpoint saves; both lists are borrowed. */
status average_new(struct params *model, struct params *state, double memory, struct average **out);
void average_free(struct average *a);
/* The model becomes the average with the epoch that has ended, the `epochs`th from 0; */
status average_show(struct average *a, uint64_t epochs);
/* and what it was, bit for bit. `take`: the average counts the epoch from now on; else nothing has happened. */
status average_hide(struct average *a, bool take);
#endif
