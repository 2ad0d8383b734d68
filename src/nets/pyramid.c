/* pyramid.c - PyramidFCN: the same map at several resolutions (Liu et al., CVPR 2022; 5 and 3 give its 34 features). */
#include "nets/extract.h"

static var *flat(tape *t, var *x)
{
    const tensor *v = x ? &x->value : NULL;
    return v ? op_reshape(t, x, 4, (size_t[]){v->dim[0], v->dim[1], 1, v->dim[2] * v->dim[3]}) : NULL;
}

var *extract_pyramid(tape *t, var *x, size_t count, const size_t *sizes)
{
    char shape[SHAPE_TEXT];
    var *parts[EXTRACT_MOST_SIZES];
    if (!x || tape_status(t) != OK) return NULL;
    if (x->value.rank != 4)
        return tape_fail(t, fail(ST_SHAPE, "a pyramid needs maps [n, channels, height, width], not %s",
                                 tensor_shape_text(&x->value, shape)));
    if (count > EXTRACT_MOST_SIZES)
        return tape_fail(t, fail(ST_USAGE, "a pyramid of %zu sizes; at most %d", count, EXTRACT_MOST_SIZES));
    if (!count) return flat(t, x);
    for (size_t i = 0; i < count; i++) parts[i] = flat(t, op_adaptive_pool(t, x, sizes[i], sizes[i]));
    return op_concat(t, count, parts, 3);
}
