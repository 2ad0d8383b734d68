/* cosine - the cosine of every row of a with every row of b; a row of zeros has cosine 0 with all. Written in other
 * ops: it has no record of its own. */
#include "ops/ops.h"

var *op_cosine(tape *t, var *a, var *b) { return op_matmul(t, op_l2norm(t, a, -1), false, op_l2norm(t, b, -1), true); }
