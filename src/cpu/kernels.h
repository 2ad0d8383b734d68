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
