/* ops.c - the table of all ops, made from ops.def. */
#include "ops/op.h"

#define OP(name) extern const struct op name##_op;
#include "ops/ops.def"
#undef OP

#define OP(name) &name##_op,
const struct op *const op_table[] = {
#include "ops/ops.def"
    NULL,
};
#undef OP
