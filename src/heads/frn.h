/* frn.h - feature map reconstruction, the mathematics that the head and the pre-training loss share (Wertheimer et al., CVPR
 * 2021).
 *
 * A class is a set of m feature rows; a query map is as near to it as ridge regression on those rows reconstructs it. */
#ifndef HEADS_FRN_H
#define HEADS_FRN_H
#include "ops/ops.h"

struct frn_terms {
    var *scale;     /* [1] */
    var *r;         /* [2]: lambda = m/C exp(r0) + epsilon, rho = exp(r1) */
    double epsilon; /* 1e-6 in the paper's own code */
    double unit;    /* rows of classes are to be divided by its root: C for features, 1 for rows used as they are */
};

/* -scale times the mean squared error of reconstructing the rows of each query, divided by sqrt(C), from each class:
 * classes [b, m, C], query [nq, C, rq], both not yet divided; [nq, b]. */
var *frn_logits(tape *t, const struct frn_terms *f, var *classes, var *query);

/* 0.03 sum over pairs of classes of |S_i S_j^T|^2, which pushes classes apart. rows [n, C], class c has the rows first[c] up to
 * first[c + 1]. FRN_AUX_WHOLE: rows are divided by the norm of all of them together (the paper's own code);
 * FRN_AUX_ROWS: each by its own (the paper's text). */
enum frn_aux { FRN_AUX_NONE, FRN_AUX_WHOLE, FRN_AUX_ROWS };
var *frn_aux_loss(tape *t, enum frn_aux kind, var *rows, const size_t *first, size_t way);
#endif
