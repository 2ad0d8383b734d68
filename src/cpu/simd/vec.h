/* vec.h - the vector layer: one name for each operation that kernels need, for each instruction set and real type.
 *
 * A kernel in this folder is written once on `vec` (V reals) and compiled four times: avx2 and avx512, f32 and f64.
 * K(name) is the name with both: gemm_avx512_f32. Partial loads give zeros in the missing lanes. */
#ifndef CPU_SIMD_VEC_H
#define CPU_SIMD_VEC_H
#include "cpu/kernels.h"
#include "cpu/real.h"

#if defined(__AVX512F__)
#include "cpu/simd/vec_avx512.h"
#elif defined(__AVX2__)
#include "cpu/simd/vec_avx2.h"
#else
#error "files in cpu/simd need -mavx2 -mfma or -mavx512f"
#endif

#include "cpu/simd/vec_exp.h"

#define KERNEL(name, params) void K(name) params;
#include "cpu/kernels.def"
#undef KERNEL

/* provided by the headers above:
 *   V                       lanes of a vec
 *   vec                     the type
 *   vec_zero() vec_set(x) vec_broadcast(p)   all lanes 0, x, *p
 *   vec_load(p) vec_store(p, v)              unaligned
 *   vec_load_part(p, n) vec_store_part(p, v, n)   the first n <= V lanes; others are neither read nor written
 *   vec_first_or(v, w, n)   v in the first n lanes, w in the others
 *   vec_add vec_sub vec_mul vec_div vec_sqrt
 *   vec_max(a, b) vec_min(a, b)   b when either is NaN or both are zeros
 *   vec_max_nan(a, b)       the larger, NaN when either is NaN
 *   vec_fma(a, b, c)        a b + c
 *   vec_nfma(a, b, c)       c - a b
 *   vec_if_le(a, b, x, y)   x in lanes with a <= b, else y (also when a or b is NaN)
 *   vec_exp(x)              to 2 ulp for results that are normal numbers; below that 0; inf above; NaN stays NaN
 *   vec_sum(v) vec_max_all(v)   across lanes, a fixed tree; vec_max_all of NaNs is undefined, ask vec_has_nan first
 *   vec_has_nan(v)          any lane is NaN */
static inline vec vec_max_nan(vec a, vec b) { return vec_if_le(a, a, vec_max(a, b), a); }

/* The first `lanes` of a vector, which may be more than there are: for loops that step by V to an uneven end. */
static inline vec vec_load_some(const real *p, size_t lanes)
{
    return lanes >= V ? vec_load(p) : vec_load_part(p, lanes);
}

static inline void vec_store_some(real *p, vec v, size_t lanes)
{
    if (lanes >= V) vec_store(p, v);
    else vec_store_part(p, v, lanes);
}
#endif
