/* deepemd.h - the parts of the head deepemd that tests meet on their own: weights, logits, and the fit of class maps. */
#ifndef HEADS_DEEPEMD_H
#define HEADS_DEEPEMD_H
#include "heads/head.h"

struct deepemd {
    double temperature;
    int shots;
    int64_t wgrad;
    int64_t epochs, batch, seed; /* the fit of class maps to several shots */
    double rate, momentum, dampening, decay;
};

/* Weights of locations before they are scaled to sum 1: relu of the inner product with the other side's mean, + 0.001. */
struct deepemd_weights {
    var *query;   /* [nq, way, rq] */
    var *classes; /* [nq, way, rs] */
};
/* query_mean [nq, C]: over the locations. */
bool deepemd_weigh(tape *t, var *classes, var *query, var *query_mean, struct deepemd_weights *out);
/* Maps [n, C, r] without their mean over channels, of length 1 or, where nothing is left, 0. */
var *deepemd_centred(tape *t, var *maps);
/* Centred class maps as [C, way*rs]. */
var *deepemd_columns(tape *t, var *centred);
/* The least costs [nq, way], where the cost of a pair is the inner product of what lies in `directions` [nq, C, rq] and
 * `columns`. */
var *deepemd_carry(tape *t, const struct deepemd_weights *w, var *directions, var *columns);
/* Class maps [way, C, rs] against queries [nq, C, rq]: [nq, way] */
var *deepemd_logits(tape *t, const struct deepemd *s, var *classes, var *query);

/* Class maps fitted to shots by stochastic gradient descent. */
struct deepemd_fit {
    const tensor *support; /* [ns, C, rs] */
    const int32_t *labels; /* [ns] on the host */
    const int32_t *order;  /* [epochs, count]: the shots of each epoch, in batches one behind the other */
    size_t epochs, count;
};
/* `maps` [way, C, rs] hold the start, and then the result. Memory for the time of the fit is its own, not the tape's. */
status deepemd_fit_maps(tape *t, const struct deepemd *s, const struct deepemd_fit *f, tensor *maps);
#endif
