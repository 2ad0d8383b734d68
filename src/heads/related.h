/* related.h - pictures of base classes that a classifier of an episode takes for its own classes. */
#ifndef HEADS_RELATED_H
#define HEADS_RELATED_H
#include "heads/head.h"

struct related {          /* memory of the tape */
    const size_t *first;  /* [way + 1] */
    const uint32_t *rows; /* pictures of the base: those of class c from first[c] up to first[c + 1], ascending */
    const uint64_t
        *by_base; /* [way]: the lowest base class of each, which no other class has; UINT64_MAX: it has none */
};

/* scores [base pictures, way], the largest of a row says what the picture is taken for. Every class gets up to `most` base
 * classes, and of those the pictures that are taken for it. Pairs of a class and a base class are dealt with by the fraction of
 * the base class's pictures that are taken for the class, the highest first, then by their mean score; a base class goes to
 * one class only, and to none if none of its pictures is taken for it. */
status related_choose(tape *t, const struct head_base *base, size_t way, const double *scores, size_t most,
                      struct related *out);
#endif
