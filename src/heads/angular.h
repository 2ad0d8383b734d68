/* angular.h - cosines with an additive angular margin (Deng et al., ArcFace, CVPR 2019). */
#ifndef HEADS_ANGULAR_H
#define HEADS_ANGULAR_H
#include "ops/ops.h"

/* scale cos(angle) for every class, scale cos(angle + margin) for the true one where its cosine is above 0: a class must be
 * nearer than the others by the margin. cosines [n, way], labels i32 [n]. */
var *angular_logits(tape *t, var *cosines, const tensor *labels, double scale, double margin);
#endif
