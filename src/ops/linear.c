/* linear - y = x weight^T + bias, the affine map of a fully connected layer. Written in other ops: it has no record
 * of its own. */
#include "ops/ops.h"

static status check(const tensor *x, const tensor *weight, const tensor *bias)
{
    char p[SHAPE_TEXT], q[SHAPE_TEXT];
    if (x->rank != 2 || weight->rank != 2 || x->dim[1] != weight->dim[1])
        return fail(ST_SHAPE, "op linear: input %s and weight %s do not fit [n, in] and [out, in]",
                    tensor_shape_text(x, p), tensor_shape_text(weight, q));
    if (bias && (bias->rank != 1 || bias->dim[0] != weight->dim[0]))
        return fail(ST_SHAPE, "op linear: bias %s does not fit weight %s; it must be [%zu]", tensor_shape_text(bias, p),
                    tensor_shape_text(weight, q), weight->dim[0]);
    return OK;
}

var *op_linear(tape *t, var *x, var *weight, var *bias)
{
    if (tape_status(t) != OK) return NULL;
    if (x && weight) {
        status st = check(&x->value, &weight->value, bias ? &bias->value : NULL);
        if (st != OK) return tape_fail(t, st);
    }
    var *y = op_matmul(t, x, false, weight, true);
    return y && bias ? op_add(t, y, bias) : y;
}
