/* angular.c - the margin of angular.h, written with cosines and sines alone: cos(a + m) = cos a cos m - sin a sin m. */
#include "heads/angular.h"
#include "heads/matrix.h"
#include <math.h>

/* 1 where x is above 0, else 0; a constant for gradients. */
static var *above_zero(tape *t, var *x)
{
    var *up = op_relu(t, x), *size = op_add(t, up, op_relu(t, op_affine(t, x, -1, 0)));
    const var *share = op_div(t, up, op_affine(t, size, 1, 1e-30));
    return share ? tape_constant(t, &share->value) : NULL;
}

var *angular_logits(tape *t, var *cosines, const tensor *labels, double scale, double margin)
{
    if (!cosines || !labels) return NULL;
    var *is_true = op_gather(t, matrix_identity(t, cosines->value.type, cosines->value.dim[1]), 0, labels);
    var *own = op_sum(t, op_mul(t, cosines, is_true), 1u << 1, KEEP_AXES); /* [n, 1] */
    /* Rounding may carry a cosine beyond 1; the root's slope is held at 1e6. */
    var *sine = op_sqrt(t, op_affine(t, op_relu(t, op_affine(t, op_mul(t, own, own), -1, 1)), 1, 1e-12));
    var *turned = op_sub(t, op_affine(t, own, cos(margin) - 1, 0), op_affine(t, sine, sin(margin), 0));
    var *moved = op_add(t, cosines, op_mul(t, is_true, op_mul(t, above_zero(t, own), turned)));
    return op_affine(t, moved, scale, 0);
}
