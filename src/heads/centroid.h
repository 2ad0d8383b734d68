/* centroid.h - what the two files of the head centroid share. */
#ifndef HEADS_CENTROID_H
#define HEADS_CENTROID_H
#include "heads/head.h"
#include "heads/pool.h"

struct centroid {
    int64_t steps, rounds, related, draw, seed;
    double rate, layer_rate, scale, align_scale, margin;
    struct pool_settings pool;
};

struct centroid_task {
    const tensor *support;        /* [ns, C], pooled, sorted by class */
    const size_t *first;          /* [way + 1]: class c has the rows first[c] up to first[c + 1] */
    const tensor *support_labels; /* i32 [ns], sorted */
    size_t way;
    const struct head_base *base;
};

struct centroid_fitted {
    tensor layer, shift; /* [C, C], [C]: what pooled vectors pass */
    tensor weight;       /* [way, C]: the classes' directions */
};

/* centroid_fit.c; `weight` holds the classifier's start, the rest is made. */
status centroid_fit(tape *t, const struct centroid *s, const struct centroid_task *k, struct centroid_fitted *f);
#endif
