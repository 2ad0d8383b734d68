/* frame.h - for the convolutions in cpu/prims: rows of a picture laid out with their border, as the products read them.
 *
 * In a frame, `step` - 1 rows and columns of zeros stand between neighbours of the picture (a derivative with stride 2
 * is a convolution over such a picture), and zeros stand around it. Row y of the frame is row (y - top) / step of the
 * picture; top and left may be negative: then that much is cut off. Pixels have their channels side by side, so the
 * kw x c numbers under one row of a filter are contiguous; pictures that come as planes are turned on the way. */
#ifndef CPU_PRIMS_FRAME_H
#define CPU_PRIMS_FRAME_H
#include "cpu/prims/prim.h"

struct R(frame) {
    const real *data;           /* [n, h, w, c], or planes [n, c, h, w] */
    size_t h, w, c;             /* of the pictures */
    size_t step;                /* 1: nothing between the pixels */
    ptrdiff_t top, left;        /* border before the first row and column */
    size_t width;               /* columns of the frame */
    const kernel_table *planes; /* what turns planes, with a step of 1; NULL: pixels they are already */
};

/* The picture is its own frame: nothing has to be copied. */
static inline bool R(frame_is_picture)(const struct R(frame) *f)
{
    return !f->planes && f->step == 1 && f->top == 0 && f->left == 0 && f->width == f->w;
}

/* Writes `rows` rows of a picture's frame, starting with row `from`, to out [rows, width, c]. */
void R(frame_copy)(const struct R(frame) *f, size_t picture, size_t from, size_t rows, real *out);
#endif
