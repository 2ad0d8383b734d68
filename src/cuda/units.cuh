/* units.cuh - feature maps as unit vectors in halves (halves.cuh), and the way back from a derivative of unit vectors. */
#ifndef CUDA_UNITS_CUH
#define CUDA_UNITS_CUH
#include "cuda/gpu.cuh"
#include "cuda/halves.cuh"

enum { UNIT_MAPS = 3, UNIT_ROW = 32 };

struct unit_maps {
    const float *x;         /* [pictures, channels, r] */
    float *dx;              /* as x, or NULL: no derivative wanted */
    int pictures, r;        /* no pictures: nothing to do */
    float *inverse;         /* [pictures * r] 1 / norm; 0 for vectors shorter than 1e-12, which count as zero */
    __half *halves;         /* [pictures * r, 3, padded] */
    int low;                /* which of the three is the low part */
    __half *rows;           /* instead of halves, rows of wgmma.cuh: [padded / UNIT_ROW, row_count, 2, UNIT_ROW], high, low */
    size_t row_count;       /* a multiple of 8 */
    __half *stacked;        /* [3, pictures * r + clear, padded]: low, high, high; NULL: not needed */
    int clear;              /* lines at the end of each part that become 0 */
    const float *d_unit;    /* [pictures * r, padded], times UNIT_SCALE and the scale of `largest` */
};
struct units {
    struct unit_maps of[UNIT_MAPS];
    int channels, padded; /* rounded up to 8, with `rows` to UNIT_ROW */
    const float *largest; /* [count] what the derivative's scale is made from */
    int count;
};

/* x to halves, and d_unit to dx. */
status units_run(struct gpu *g, const struct units *u);
status units_back_run(struct gpu *g, const struct units *u);
#endif
