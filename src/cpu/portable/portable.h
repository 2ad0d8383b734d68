/* portable.h - for files in this folder: K(name) is the name with type, gemm_portable_f32, and the prototypes.
 *
 * The kernels here are the specification: the plainest loop that computes what kernels.def says, for any processor.
 * The kernel check (tests/cpu) holds all others against them. Sums run in double, except in gemm, for speed. */
#ifndef CPU_PORTABLE_PORTABLE_H
#define CPU_PORTABLE_PORTABLE_H
#include "cpu/kernels.h"
#include "cpu/real.h"

#if CENTRA_REAL == 32
#define K(name) name##_portable_f32
#else
#define K(name) name##_portable_f64
#endif

enum { GEMM_WIDTH = 8 };

#define KERNEL(name, params) void K(name) params;
#include "cpu/kernels.def"
#undef KERNEL
#endif
