/* labels.c - class labels: their range is checked here, once, where they come from the host. */
#include "ops/op.h"
#include "ops/ops.h"

const tensor *op_labels(tape *t, const int32_t *labels, size_t n, size_t way)
{
    if (tape_status(t) != OK) return NULL;
    for (size_t i = 0; i < n; i++) {
        if (labels[i] >= 0 && (size_t)labels[i] < way) continue;
        tape_fail(t, fail(ST_VALUE, "label %zu is %d, but must lie between 0 and %zu (there are %zu classes)", i,
                          labels[i], way ? way - 1 : 0, way));
        return NULL;
    }
    const var *v = tape_upload(t, DT_I32, 1, &n, labels);
    return v ? &v->value : NULL;
}

bool node_labels(struct node *n, const tensor *labels, size_t rows)
{
    char shape[SHAPE_TEXT];
    if (!labels) node_fail(n, ST_USAGE, "the labels are missing");
    else if (labels->type != DT_I32)
        node_fail(n, ST_USAGE, "the labels are %s; they must be i32", dtype_name(labels->type));
    else if (labels->rank != 1 || labels->dim[0] != rows)
        node_fail(n, ST_SHAPE, "the labels have shape %s; there are %zu rows", tensor_shape_text(labels, shape), rows);
    else return true;
    return false;
}

bool node_scores(struct node *n, const tensor *labels)
{
    char shape[SHAPE_TEXT];
    const tensor *x = &n->in[0]->value;
    if (x->rank != 2 || !tensor_count(x)) {
        node_fail(n, ST_SHAPE, "the scores have shape %s; they must be [n, way], not empty",
                  tensor_shape_text(x, shape));
        return false;
    }
    return node_labels(n, labels, x->dim[0]);
}
