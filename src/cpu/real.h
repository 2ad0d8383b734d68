/* real.h - files in cpu/prims, cpu/portable and cpu/simd are compiled once for float and once for double.
 *
 * The build says which with -DCENTRA_REAL=32 or 64; R(name) is the name with its type: gemm_f32, gemm_f64. */
#ifndef CPU_REAL_H
#define CPU_REAL_H
#include <float.h>

#if CENTRA_REAL == 32
typedef float real;
#define R(name) name##_f32
#define REAL_DTYPE DT_F32
#define REAL_EPSILON FLT_EPSILON
#define REAL_MAX FLT_MAX
#elif CENTRA_REAL == 64
typedef double real;
#define R(name) name##_f64
#define REAL_DTYPE DT_F64
#define REAL_EPSILON DBL_EPSILON
#define REAL_MAX DBL_MAX
#else
#error "compile with -DCENTRA_REAL=32 or 64"
#endif
#endif
