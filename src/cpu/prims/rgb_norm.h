/* rgb_norm.h - for a first layer's batch norm in cpu/prims: its pictures cut into bands of rows, and the patches under its
 * filters.
 *
 * A patch is the 27 numbers under a 3x3 filter: row and column of the filter, then colour, as they lie in a frame. */
#ifndef CPU_PRIMS_RGB_NORM_H
#define CPU_PRIMS_RGB_NORM_H
#include "cpu/prims/frame.h"

enum { RGB_ROW = 9 }; /* numbers of a patch in one row of the frame */

/* Rows of results in bands of even height, several of them a piece; cut by shape alone. */
struct rgb_bands {
    size_t rows, band, bands;  /* of a picture: rows, rows of a band, bands */
    size_t units, per, pieces; /* bands of all pictures, of a piece; pieces */
};

static inline struct rgb_bands rgb_bands_of(size_t n, size_t rows, size_t most_rows, size_t most_pieces)
{
    struct rgb_bands b = {.rows = rows, .bands = size_div_up(rows, most_rows)};
    b.band = b.bands ? size_div_up(rows, b.bands) : 1;
    b.bands = size_div_up(rows, b.band);
    b.units = n * b.bands;
    b.per = size_max(1, size_div_up(b.units, most_pieces));
    b.pieces = size_div_up(b.units, b.per);
    return b;
}

static inline struct R(frame) R(rgb_frame)(const tensor *x, size_t pad)
{
    const ptrdiff_t border = (ptrdiff_t)pad;
    return (struct R(frame)){reals(x), x->dim[1], x->dim[2], 3, 1, border, border, x->dim[2] + 2 * pad, NULL};
}

/* Where number i of a patch stands among the 27 weights of an output. */
static inline size_t rgb_weight(size_t i) { return i % 3 * 9 + i / 3; }
#endif
