/* vec_wide.h - sums in double whatever the reals are: V doubles in memory take in a vec of reals. */
#ifndef CPU_SIMD_VEC_WIDE_H
#define CPU_SIMD_VEC_WIDE_H
#include "cpu/simd/vec.h"

#if CENTRA_REAL == 64
/* to[i] += v[i], to[i] += a[i] b[i] */
static inline void wide_add(double *to, vec v) { vec_store(to, vec_add(vec_load(to), v)); }
static inline void wide_fma(double *to, vec a, vec b) { vec_store(to, vec_fma(a, b, vec_load(to))); }
#else
#if defined(__AVX512F__)
#define WIDE(name) _mm512_##name##_pd
typedef __m512d wide;
static inline wide wide_low(vec v) { return _mm512_cvtps_pd(_mm512_castps512_ps256(v)); }
static inline wide wide_high(vec v)
{
    return _mm512_cvtps_pd(_mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(v), 1)));
}
#else
#define WIDE(name) _mm256_##name##_pd
typedef __m256d wide;
static inline wide wide_low(vec v) { return _mm256_cvtps_pd(_mm256_castps256_ps128(v)); }
static inline wide wide_high(vec v) { return _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1)); }
#endif

static inline void wide_add(double *to, vec v)
{
    double *rest = to + V / 2;
    WIDE(storeu)(to, WIDE(add)(WIDE(loadu)(to), wide_low(v)));
    WIDE(storeu)(rest, WIDE(add)(WIDE(loadu)(rest), wide_high(v)));
}

static inline void wide_fma(double *to, vec a, vec b)
{
    double *rest = to + V / 2;
    WIDE(storeu)(to, WIDE(fmadd)(wide_low(a), wide_low(b), WIDE(loadu)(to)));
    WIDE(storeu)(rest, WIDE(fmadd)(wide_high(a), wide_high(b), WIDE(loadu)(rest)));
}
#endif
#endif
