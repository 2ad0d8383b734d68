/* matrix.h - constant matrices on the tape, for heads that solve systems. */
#ifndef HEADS_MATRIX_H
#define HEADS_MATRIX_H
#include "ops/ops.h"

var *matrix_identity(tape *t, dtype type, size_t n); /* [n, n] */
/* [first[way], way]: row i is 1 at its class, where class c has the rows first[c] up to first[c + 1]. */
var *matrix_one_hot(tape *t, dtype type, const size_t *first, size_t way);
/* Every entry the same. */
var *matrix_filled(tape *t, dtype type, int rank, const size_t *dim, double value);
#endif
