/* vec_avx2.h - the vector layer on 256-bit registers: 8 floats or 4 doubles. See vec.h. Needs -mavx2 -mfma. */
#ifndef CPU_SIMD_VEC_AVX2_H
#define CPU_SIMD_VEC_AVX2_H
#include "cpu/real.h"
#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* VEC is the intrinsic with its type, VEC_INT that on integer lanes as wide as a real; VEC_BITS makes them of a vec */
#if CENTRA_REAL == 32
enum { V = 8 };
typedef __m256 vec;
#define K(name) name##_avx2_f32
#define VEC_FRACTION_BITS (FLT_MANT_DIG - 1)
#define VEC(name) _mm256_##name##_ps
#define VEC_INT(name) _mm256_##name##_epi32
#define VEC_BITS(v) _mm256_castps_si256(v)
#define VEC_FROM_BITS(b) _mm256_castsi256_ps(b)
#else
enum { V = 4 };
typedef __m256d vec;
#define K(name) name##_avx2_f64
#define VEC_FRACTION_BITS (DBL_MANT_DIG - 1)
#define VEC(name) _mm256_##name##_pd
#define VEC_INT(name) _mm256_##name##_epi64
#define VEC_BITS(v) _mm256_castpd_si256(v)
#define VEC_FROM_BITS(b) _mm256_castsi256_pd(b)
#endif

static inline vec vec_zero(void) { return VEC(setzero)(); }
static inline vec vec_set(real x) { return VEC(set1)(x); }
static inline vec vec_load(const real *p) { return VEC(loadu)(p); }
static inline void vec_store(real *p, vec v) { VEC(storeu)(p, v); }

/* All ones in the first n lanes, n <= V: a window into ones followed by zeros. */
static inline __m256i vec_first(size_t n)
{
#if CENTRA_REAL == 32
    static const int32_t ones[2 * V] = {-1, -1, -1, -1, -1, -1, -1, -1};
#else
    static const int64_t ones[2 * V] = {-1, -1, -1, -1};
#endif
    return _mm256_loadu_si256((const void *)(ones + V - n));
}

static inline vec vec_first_or(vec v, vec otherwise, size_t n)
{
    return VEC(blendv)(otherwise, v, VEC_FROM_BITS(vec_first(n)));
}

static inline vec vec_load_part(const real *p, size_t n) { return VEC(maskload)(p, vec_first(n)); }
static inline void vec_store_part(real *p, vec v, size_t n) { VEC(maskstore)(p, vec_first(n), v); }

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
    return VEC(blendv)(otherwise, then, VEC(cmp)(a, b, _CMP_LE_OQ));
}

static inline bool vec_has_nan(vec v) { return VEC(movemask)(VEC(cmp)(v, v, _CMP_UNORD_Q)) != 0; }

#if CENTRA_REAL == 32
static inline vec vec_broadcast(const real *p) { return _mm256_broadcast_ss(p); }
static inline vec vec_swap_halves(vec v) { return _mm256_permute2f128_ps(v, v, 1); }
static inline real vec_sum(vec v)
{
    v = vec_add(v, vec_swap_halves(v));
    v = vec_add(v, _mm256_permute_ps(v, _MM_SHUFFLE(1, 0, 3, 2)));
    v = vec_add(v, _mm256_permute_ps(v, _MM_SHUFFLE(2, 3, 0, 1)));
    return _mm256_cvtss_f32(v);
}
static inline real vec_max_all(vec v)
{
    v = vec_max(v, vec_swap_halves(v));
    v = vec_max(v, _mm256_permute_ps(v, _MM_SHUFFLE(1, 0, 3, 2)));
    v = vec_max(v, _mm256_permute_ps(v, _MM_SHUFFLE(2, 3, 0, 1)));
    return _mm256_cvtss_f32(v);
}
#else
static inline vec vec_broadcast(const real *p) { return _mm256_broadcast_sd(p); }
static inline vec vec_swap_halves(vec v) { return _mm256_permute2f128_pd(v, v, 1); }
static inline real vec_sum(vec v)
{
    v = vec_add(v, vec_swap_halves(v));
    v = vec_add(v, _mm256_permute_pd(v, 0x5));
    return _mm256_cvtsd_f64(v);
}
static inline real vec_max_all(vec v)
{
    v = vec_max(v, vec_swap_halves(v));
    v = vec_max(v, _mm256_permute_pd(v, 0x5));
    return _mm256_cvtsd_f64(v);
}
#endif

/* Adds the low bits of `count` to the exponent of p, where `count` is an integer plus VEC_ROUND (vec_exp.h). */
static inline vec vec_add_exponent(vec p, vec count)
{
    return VEC_FROM_BITS(VEC_INT(add)(VEC_BITS(p), VEC_INT(slli)(VEC_BITS(count), VEC_FRACTION_BITS)));
}
#endif
