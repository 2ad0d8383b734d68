/* winograd.h - for the convolutions in cpu/prims: those of 3x3 weights and stride 1 by Winograd's method. */
#ifndef CPU_PRIMS_WINOGRAD_H
#define CPU_PRIMS_WINOGRAD_H
#include "cpu/prims/frame.h"
#include "cpu/winograd.h"

/* What is done with a convolution's sums before they are written: nothing, adding them to what is there, or
 * y = z > 0 ? z : slope z with z = sum * scale[c] + shift[c]; then, with `pool`, only the largest of 2x2 is written. */
struct R(epilogue) {
    bool add;
    const real *scale, *shift; /* [out] or NULL */
    real slope;
    bool pool;    /* without add */
    real ceiling; /* 0: none; with slope 0 and products alone */
};

/* A convolution by 3x3 weights. */
struct R(winograd) {
    struct device *d;
    const kernel_table *k;
    struct R(frame) from;       /* its step is 1; width is set for each patch */
    size_t n, oh, ow, out;      /* of the result, before pooling */
    size_t down, across, tiles; /* tiles of a picture's height and width, of all pictures */
    const real *w;              /* element (tap, p, j) is w[j*column + p*row + tap], or 8 - tap when turned */
    size_t row, column;
    bool turned;
    const real *ready; /* the weights' spectra, or NULL: they are made */
    real *to;
    struct R(epilogue) end;
};

/* Fills in down, across and tiles. */
void R(winograd_tiles)(struct R(winograd) *c);
/* The spectra of `count` tiles' patches: tile t's place p at v + p*step + t*channels. `patch` has room for a patch. */
void R(winograd_patches)(const struct R(winograd) *c, size_t first, size_t count, real *v, size_t step, real *patch);
/* The same by all threads, without `patch`. */
status R(winograd_spectra)(const struct R(winograd) *c, size_t first, size_t count, real *v, size_t step);
/* What is done with outputs from `channel` on; where a tile's outputs lie, and how many of them count; numbers from one row of
 * them to the next. */
struct winograd_end R(winograd_end)(const struct R(winograd) *c, size_t channel);
real *R(winograd_pixels)(const struct R(winograd) *c, size_t tile, struct winograd_end *end);
size_t R(winograd_line)(const struct R(winograd) *c);
status R(winograd_conv)(struct R(winograd) *c);
/* Its way for large weights, with tiles filled in: cpu/prims/winograd_panels.c. Places of weights that are ready lie
 * ready_step apart. */
status R(winograd_by_panels)(const struct R(winograd) *c, size_t ready_step);
/* The weights' spectra, and how many numbers they are. */
size_t R(winograd_weights)(const struct R(winograd) *c);
status R(winograd_prepare)(const struct R(winograd) *c, real *spectra);
/* dw += the derivative; `from` is x, dy is [n, oh, ow, out], dw [out, in, 3, 3]. */
status R(winograd_grad_w)(struct R(winograd) *c, const real *dy, real *dw);

/* Whether Winograd's method is the one for results of this height and width; the device may ask for it, or for the
 * other. */
bool R(winograd_fits)(struct device *d, const tensor *w, struct conv_shape s, size_t height, size_t width);
#endif
