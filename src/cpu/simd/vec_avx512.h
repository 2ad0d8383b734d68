/* vec_avx512.h - the vector layer on 512-bit registers: 16 floats or 8 doubles. See vec.h. Needs -mavx512f. */
#ifndef CPU_SIMD_VEC_AVX512_H
#define CPU_SIMD_VEC_AVX512_H
#include "cpu/real.h"
#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>

/* VEC is the intrinsic with its type, VEC_INT that on integer lanes as wide as a real; VEC_BITS makes them of a vec */
#if CENTRA_REAL == 32
enum { V = 16 };
typedef __m512 vec;
typedef __mmask16 vec_mask;
#define K(name) name##_avx512_f32
#define VEC_FRACTION_BITS (FLT_MANT_DIG - 1)
#define VEC(name) _mm512_##name##_ps
#define VEC_COMPARE _mm512_cmp_ps_mask
#define VEC_INT(name) _mm512_##name##_epi32
#define VEC_BITS(v) _mm512_castps_si512(v)
#define VEC_FROM_BITS(b) _mm512_castsi512_ps(b)
#else
enum { V = 8 };
typedef __m512d vec;
typedef __mmask8 vec_mask;
#define K(name) name##_avx512_f64
#define VEC_FRACTION_BITS (DBL_MANT_DIG - 1)
#define VEC(name) _mm512_##name##_pd
#define VEC_COMPARE _mm512_cmp_pd_mask
#define VEC_INT(name) _mm512_##name##_epi64
#define VEC_BITS(v) _mm512_castpd_si512(v)
#define VEC_FROM_BITS(b) _mm512_castsi512_pd(b)
#endif

static inline vec vec_zero(void) { return VEC(setzero)(); }
static inline vec vec_set(real x) { return VEC(set1)(x); }
static inline vec vec_broadcast(const real *p) { return VEC(set1)(*p); }
static inline vec vec_load(const real *p) { return VEC(loadu)(p); }
static inline void vec_store(real *p, vec v) { VEC(storeu)(p, v); }

/* The first n lanes, n <= V. */
static inline vec_mask vec_first(size_t n) { return (vec_mask)((1u << n) - 1); }

static inline vec vec_first_or(vec v, vec otherwise, size_t n) { return VEC(mask_blend)(vec_first(n), otherwise, v); }

static inline vec vec_load_part(const real *p, size_t n) { return VEC(maskz_loadu)(vec_first(n), p); }
static inline void vec_store_part(real *p, vec v, size_t n) { VEC(mask_storeu)(p, vec_first(n), v); }

static inline vec vec_add(vec a, vec b) { return VEC(add)(a, b); }
static inline vec vec_sub(vec a, vec b) { return VEC(sub)(a, b); }
static inline vec vec_mul(vec a, vec b) { return VEC(mul)(a, b); }
static inline vec vec_div(vec a, vec b) { return VEC(div)(a, b); }
static inline vec vec_sqrt(vec a) { return VEC(sqrt)(a); }
static inline vec vec_max(vec a, vec b) { return VEC(max)(a, b); }
static inline vec vec_min(vec a, vec b) { return VEC(min)(a, b); }
static inline vec vec_fma(vec a, vec b, vec c) { return VEC(fmadd)(a, b, c); }
static inline vec vec_nfma(vec a, vec b, vec c) { return VEC(fnmadd)(a, b, c); }

static inline vec vec_if_le(vec a, vec b, vec then, vec otherwise)
{
    return VEC(mask_blend)(VEC_COMPARE(a, b, _CMP_LE_OQ), otherwise, then);
}

static inline bool vec_has_nan(vec v) { return VEC_COMPARE(v, v, _CMP_UNORD_Q) != 0; }

#if CENTRA_REAL == 32
static inline real vec_sum(vec v)
{
    v = vec_add(v, _mm512_shuffle_f32x4(v, v, _MM_SHUFFLE(1, 0, 3, 2)));
    v = vec_add(v, _mm512_shuffle_f32x4(v, v, _MM_SHUFFLE(2, 3, 0, 1)));
    v = vec_add(v, _mm512_permute_ps(v, _MM_SHUFFLE(1, 0, 3, 2)));
    v = vec_add(v, _mm512_permute_ps(v, _MM_SHUFFLE(2, 3, 0, 1)));
    return _mm512_cvtss_f32(v);
}
static inline real vec_max_all(vec v)
{
    v = vec_max(v, _mm512_shuffle_f32x4(v, v, _MM_SHUFFLE(1, 0, 3, 2)));
    v = vec_max(v, _mm512_shuffle_f32x4(v, v, _MM_SHUFFLE(2, 3, 0, 1)));
    v = vec_max(v, _mm512_permute_ps(v, _MM_SHUFFLE(1, 0, 3, 2)));
    v = vec_max(v, _mm512_permute_ps(v, _MM_SHUFFLE(2, 3, 0, 1)));
    return _mm512_cvtss_f32(v);
}
#else
static inline real vec_sum(vec v)
{
    v = vec_add(v, _mm512_shuffle_f64x2(v, v, _MM_SHUFFLE(1, 0, 3, 2)));
    v = vec_add(v, _mm512_shuffle_f64x2(v, v, _MM_SHUFFLE(2, 3, 0, 1)));
    v = vec_add(v, _mm512_permute_pd(v, 0x55));
    return _mm512_cvtsd_f64(v);
}
static inline real vec_max_all(vec v)
{
    v = vec_max(v, _mm512_shuffle_f64x2(v, v, _MM_SHUFFLE(1, 0, 3, 2)));
    v = vec_max(v, _mm512_shuffle_f64x2(v, v, _MM_SHUFFLE(2, 3, 0, 1)));
    v = vec_max(v, _mm512_permute_pd(v, 0x55));
    return _mm512_cvtsd_f64(v);
}
#endif

/* Adds the low bits of `count` to the exponent of p, where `count` is an integer plus VEC_ROUND (vec_exp.h). */
static inline vec vec_add_exponent(vec p, vec count)
{
    return VEC_FROM_BITS(VEC_INT(add)(VEC_BITS(p), VEC_INT(slli)(VEC_BITS(count), VEC_FRACTION_BITS)));
}
#endif
