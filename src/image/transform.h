/* transform.h - from a decoded picture to a network's input: the transforms of the paper's experiments (methods 6.2). */
#ifndef IMAGE_TRANSFORM_H
#define IMAGE_TRANSFORM_H
#include "image/picture.h"

enum transform_kind {
    TRANSFORM_RESIZE_CROP,  /* resize to side + pad squared, aspect not kept; random crop and flip, or centre crop */
    TRANSFORM_SHORTER_CROP, /* the shorter side to side + pad, aspect kept; centre crop (never random) */
    TRANSFORM_PAD_CROP,     /* reflect-pad, random crop and flip; without randomness nothing but normalising */
    TRANSFORM_RESIZED_CROP  /* RandomResizedCrop, jitter, flip; without randomness as TRANSFORM_SHORTER_CROP */
};

struct transform {
    enum transform_kind kind;
    size_t side, pad;      /* 84, 8 */
    float jitter;          /* strength; 0: none */
    float mean[3], std[3]; /* of values / 255 */
};

/* What is drawn for one picture in training. */
struct picture_plan {
    struct box box;       /* cut from the resized or the padded picture; RESIZED_CROP: from the picture, then resized */
    struct jitter jitter; /* without one: nothing, four times */
    bool flip;            /* at the end */
};
/* The draws for a decoded picture of this size; not for TRANSFORM_SHORTER_CROP, which has none. Fails where
 * transform_apply would. */
status transform_plan(const struct transform *t, size_t width, size_t height, struct random *r,
                      struct picture_plan *out);

/* The normalisation of all MCL experiments. */
struct transform transform_standard(enum transform_kind kind, size_t side, size_t pad);
/* The picture as [3, side, side] floats. `r` NULL: the deterministic form for validation and test. The draws are a
 * function of r alone, so a picture's crop is the same on every device and with any number of threads. */
status transform_apply(const struct transform *t, const struct picture *p, struct random *r, float *out);
/* The same for 8-bit pictures [side, side, 3] before normalising: what a GPU is sent. */
status transform_apply_bytes(const struct transform *t, const struct picture *p, struct random *r, uint8_t *out);
/* The rest of TRANSFORM_RESIZE_CROP for a picture that has been resized, [side + pad, side + pad, 3]: the same numbers as
 * transform_apply gives for the picture it was made from. Allocates nothing. */
void transform_resized(const struct transform *t, const uint8_t *rgb, struct random *r, float *out);
void transform_normalise(const struct transform *t, const uint8_t *rgb, size_t pixels, float *out); /* [3, pixels] */

/* PyramidGrid's cells of an n x n grid with enlargement t along a side of `length` (methods 4.3): [from, to). */
void grid_cell(size_t length, size_t n, double enlargement, size_t k, size_t *from, size_t *to);
/* All cells of the grids `sizes`, row by row, each cut from the picture and transformed: [cells, 3, side, side]. Training
 * draws an enlargement between 1 and 3 for each grid, then each cell's own crop and flip; else the enlargement is 2. */
status transform_cells(const struct transform *t, const struct picture *p, size_t grids, const size_t *sizes,
                       struct random *r, float *out);
#endif
