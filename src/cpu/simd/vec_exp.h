/* vec_exp.h - the exponential on vectors, for every instruction set, on top of vec_avx2.h or vec_avx512.h.
 *
 * exp(x) = 2^n exp(r) with n = round(x / ln 2) and |r| <= ln(2)/2. ln 2 is split in two (Cody and Waite), the first
 * part short enough that n times it is exact. exp(r) = 1 + r + r^2 q(r), where q makes the largest relative error
 * smallest (found with Remez's algorithm): 3.1e-9 for float and 3.7e-18 for double, 0.06 ulp each at most. Adding
 * VEC_ROUND to a small number leaves the nearest integer in the low bits. */
#ifndef CPU_SIMD_VEC_EXP_H
#define CPU_SIMD_VEC_EXP_H
#include <math.h>

#if CENTRA_REAL == 32
#define VEC_ROUND 0x1.8p23f
#define EXP_LOG2_E 0x1.715476p+0f
#define EXP_LN2_HIGH 0x1.62e4p-1f
#define EXP_LN2_LOW 0x1.7f7d1cp-20f
#define EXP_LEAST -87.3365402f /* the smallest float whose exponential is at least FLT_MIN */
#define EXP_MOST 88.7228317f   /* the largest float whose exponential is at most FLT_MAX */

static inline vec vec_exp_polynomial(vec r)
{
    vec q = vec_set(0.00138145410565f);
    q = vec_fma(q, r, vec_set(0.00836874510461f));
    q = vec_fma(q, r, vec_set(0.0416683907697f));
    q = vec_fma(q, r, vec_set(0.166665203991f));
    q = vec_fma(q, r, vec_set(0.499999934322f));
    return q;
}
#else
#define VEC_ROUND 0x1.8p52
#define EXP_LOG2_E 0x1.71547652b82fep+0
#define EXP_LN2_HIGH 0x1.62e42feep-1
#define EXP_LN2_LOW 0x1.a39ef35793c76p-33
#define EXP_LEAST -708.39641853226408
#define EXP_MOST 709.78271289338397

static inline vec vec_exp_polynomial(vec r)
{
    vec q = vec_set(2.5000013913453014473e-8);
    q = vec_fma(q, r, vec_set(2.7630306208172276253e-7));
    q = vec_fma(q, r, vec_set(2.7557586818266118464e-6));
    q = vec_fma(q, r, vec_set(0.000024801492949755010567));
    q = vec_fma(q, r, vec_set(0.00019841269505759292153));
    q = vec_fma(q, r, vec_set(0.0013888888943759844822));
    q = vec_fma(q, r, vec_set(0.0083333333334949830607));
    q = vec_fma(q, r, vec_set(0.041666666666529728703));
    q = vec_fma(q, r, vec_set(0.16666666666666411501));
    q = vec_fma(q, r, vec_set(0.50000000000000106687));
    return q;
}
#endif

static inline vec vec_exp(vec x)
{
    const vec count = vec_fma(x, vec_set(EXP_LOG2_E), vec_set(VEC_ROUND));
    const vec n = vec_sub(count, vec_set(VEC_ROUND));
    const vec r = vec_nfma(n, vec_set(EXP_LN2_LOW), vec_nfma(n, vec_set(EXP_LN2_HIGH), x));
    const vec tail = vec_fma(vec_mul(r, r), vec_exp_polynomial(r), r);
    /* a NaN takes the second branch of both choices; x + inf is then that NaN, and inf for what is too large */
    vec y = vec_add_exponent(vec_add(vec_set(1), tail), count);
    y = vec_if_le(vec_set(EXP_LEAST), x, y, vec_zero());
    return vec_if_le(x, vec_set(EXP_MOST), y, vec_add(x, vec_set((real)INFINITY)));
}
#endif
