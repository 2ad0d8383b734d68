/* kernels.h - the tables of CPU kernels, made from kernels.def; dispatch.c fills one per instruction set. */
#ifndef CPU_KERNELS_H
#define CPU_KERNELS_H
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>

/* Vectors of walk_grad, of `real`. */
struct walk_grad_vectors {
    const void *row_a, *row_l, *row_m, *row_g, *row_scale;            /* [rq] */
    const void *column_v, *column_z, *column_t, *column_y, *column_s; /* [m] */
};

/* Pixels that are normalised, activated and perhaps pooled together, and the vectors of their channels; of `real`. Index
 * 1 is the residual, which is normalised by its own vectors and added: x[1] is NULL without one. Channel vectors are
 * readable up to the next multiple of NORM_LANES. */
enum { NORM_LANES = 16 };
struct norm_pixels {
    const void *x[2]; /* [n, c]; with pooling [2 n, c] and the row below it */
    size_t n, c;      /* pixels of the result */
    size_t below;     /* elements from a pixel to the one below it; 0: no pooling */
    const void *mean[2], *scale[2], *bias[2];
    double slope;                    /* of the activation below 0 */
    const void *tilt[2], *offset[2]; /* norm_act_grad: dx = scale g + tilt (x - mean) + offset */
    bool add[2];                     /* to dx */
};

/* What is done with a tile of outputs of Winograd's convolution. */
struct winograd_end {
    const void *scale, *shift; /* [channels]; NULL: the outputs as they are */
    double slope;              /* of the activation below 0, after scale and shift */
    bool add;                  /* to what is there; not with pooling */
    bool pool;                 /* the largest of 2x2 outputs, NaN before all; an odd last row or column is dropped */
    size_t rows, columns;      /* of the tile's outputs that count, 1 to 4 */
};

/* A row of outputs of a 3x3 convolution of stride 1 over pictures of three colours, and what is done with its sums; of
 * `real`. The colours of a pixel lie side by side. */
enum { RGB_TAPS = 27, RGB_LANES = 16 };
struct rgb_row {
    const void *x;             /* 3 rows of pixels + 2; with pooling 4 rows of 2 pixels + 2 */
    size_t line;               /* numbers from one of them to the next */
    const void *w;             /* [RGB_TAPS][channels rounded up to RGB_LANES]: row and column of the filter, colour */
    size_t pixels, channels;   /* of the result */
    const void *scale, *shift; /* [channels]; NULL: the sums are written as they are */
    double slope;              /* of the activation below 0, after scale and shift */
    bool pool;                 /* the largest of 2x2 outputs, NaN before all */
};

/* Rows of outputs of a depthwise convolution; of `real`. What lies beyond the map's left and right edges counts as zeros;
 * rows of the filter beyond its upper and lower edges are not among `rows`. */
struct depthwise_rows {
    const void *x;         /* the row of the map under the first row of the filter, for the first row of outputs */
    size_t columns, line;  /* of the map; numbers from one of its rows to the next */
    const void *w;         /* [rows][taps][channels] */
    size_t rows, taps;     /* of the filter, that count; of one of its rows */
    size_t stride, left;   /* tap t of output p meets column p*stride + t - left; rows alike, without `left` */
    size_t height, pixels; /* rows of the result, pixels of a row */
    size_t channels;
    const void *scale, *shift; /* [channels]; NULL: the sums are written as they are */
    double ceiling;            /* then, unless it is 0: not below 0 and not above */
};

/* What a product's sums become before they are written; of `real`. */
struct gemm_end {
    const void *scale, *shift; /* [n] */
    double ceiling;            /* unless it is 0: not below 0 and not above */
    const void *residual;      /* laid out as c, and added; NULL: none */
};

enum isa { ISA_PORTABLE, ISA_AVX2, ISA_AVX512, ISA_COUNT };

#define real float
struct kernels_f32 {
    size_t gemm_width; /* columns of a panel */
#define KERNEL(name, params) void(*name) params;
#include "cpu/kernels.def"
#undef KERNEL
};
#undef real

#define real double
struct kernels_f64 {
    size_t gemm_width;
#define KERNEL(name, params) void(*name) params;
#include "cpu/kernels.def"
#undef KERNEL
};
#undef real

struct kernels {
    enum isa isa;
    struct kernels_f32 f32;
    struct kernels_f64 f64;
};

enum { GEMM_MAX_WIDTH = 64 };

/* The table of an instruction set, or NULL when this processor (or this build) lacks it. */
const struct kernels *kernels_of(enum isa isa);
/* The best that this processor has. `name` is "portable", "avx2" or "avx512", or NULL or "" for CENTRA_ISA from the environment,
 * else the best. Fails with the list of names, or when the processor lacks what was asked for. */
status kernels_choose(const char *name, const struct kernels **out);
const char *isa_name(enum isa isa);
/* Names of all kernels in kernels.def, NULL-terminated. */
extern const char *const kernel_names[];
#endif
