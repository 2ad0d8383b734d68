/* resample.c - each row of the matrix makes one pixel of a line from those of the shorter or longer one. */
#include "train/resample.h"
#include <math.h>
#include <stdlib.h>

/* The weights of pixel i, a triangle around its middle, which is cut off at the borders. */
static void weigh(size_t from, size_t to, size_t i, float *row)
{
    const double scale = (double)from / (double)to, reach = scale > 1 ? scale : 1;
    const double middle = ((double)i + 0.5) * scale;
    double sum = 0;
    for (size_t k = 0; k < from; k++) sum += fmax(0, 1 - fabs((double)k + 0.5 - middle) / reach);
    for (size_t k = 0; k < from; k++) row[k] = (float)(fmax(0, 1 - fabs((double)k + 0.5 - middle) / reach) / sum);
}

status resampler_new(size_t from, size_t to, struct resampler *out)
{
    *out = (struct resampler){.from = from, .to = to};
    if (from == to) return OK;
    out->weight = calloc(from * to, sizeof *out->weight);
    if (!out->weight) return fail(ST_MEMORY, "no memory for pictures of %zu pixels at %zu", from, to);
    for (size_t i = 0; i < to; i++) weigh(from, to, i, out->weight + i * from);
    return OK;
}

void resampler_free(struct resampler *r)
{
    free(r->weight);
    r->weight = NULL;
}

/* The last axis of x [pictures, lines, from] to the middle one: [pictures, to, lines]. */
static var *along(tape *t, const struct resampler *r, var *weight, var *x)
{
    if (!x) return NULL;
    const size_t *dim = x->value.dim, n = dim[0], lines = dim[1];
    var *rows = op_reshape(t, x, 2, (size_t[]){n * lines, r->from});
    var *made = op_reshape(t, op_matmul(t, rows, false, weight, true), 3, (size_t[]){n, lines, r->to});
    return op_permute(t, made, (int[]){0, 2, 1});
}

var *resample(tape *t, const struct resampler *r, var *x)
{
    if (!x || r->from == r->to) return x;
    const size_t n = x->value.dim[0], c = x->value.dim[1];
    var *weight = tape_upload(t, DT_F32, 2, (size_t[]){r->to, r->from}, r->weight);
    var *planes = op_reshape(t, x, 3, (size_t[]){n * c, r->from, r->from});
    var *both = along(t, r, weight, along(t, r, weight, planes)); /* columns, then rows; turned twice */
    return op_reshape(t, both, 4, (size_t[]){n, c, r->to, r->to});
}
