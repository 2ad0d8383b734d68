/* resample.h - pictures on a tape at another side: two products with a matrix of weights, so on every device.
 *
 * The weights are those of image/resize.c without its rounding: between neighbours along a straight line, and over as many pixels as
 * one becomes where pictures shrink. */
#ifndef TRAIN_RESAMPLE_H
#define TRAIN_RESAMPLE_H
#include "ops/ops.h"

struct resampler {
    size_t from, to; /* sides; the same: pictures stay as they are */
    float *weight;   /* owned: [to, from] */
};

status resampler_new(size_t from, size_t to, struct resampler *out);
void resampler_free(struct resampler *r);
/* [n, c, from, from] to [n, c, to, to]. The resampler must live until the tape is reset. NULL after a failure, which the tape
 * holds. */
var *resample(tape *t, const struct resampler *r, var *x);
#endif
