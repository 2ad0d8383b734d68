/* reduce.c - sums and the maximum of a run of numbers.
 *
 * Four vectors accumulate side by side, which hides the latency of the addition; they are added as (0 + 1) + (2 + 3),
 * then across lanes. The order depends on n alone. */
#include "cpu/simd/vec.h"
#include <math.h>

void K(sum)(const real *x, size_t n, real *y)
{
    vec s0 = vec_zero(), s1 = s0, s2 = s0, s3 = s0;
    size_t i = 0;
    for (; i + 4 * V <= n; i += 4 * V) {
        s0 = vec_add(s0, vec_load(x + i));
        s1 = vec_add(s1, vec_load(x + i + V));
        s2 = vec_add(s2, vec_load(x + i + 2 * V));
        s3 = vec_add(s3, vec_load(x + i + 3 * V));
    }
    for (; i + V <= n; i += V) s0 = vec_add(s0, vec_load(x + i));
    if (i < n) s1 = vec_add(s1, vec_load_part(x + i, n - i));
    *y = vec_sum(vec_add(vec_add(s0, s1), vec_add(s2, s3)));
}

void K(dot)(const real *a, const real *b, size_t n, real *y)
{
    vec s0 = vec_zero(), s1 = s0, s2 = s0, s3 = s0;
    size_t i = 0;
    for (; i + 4 * V <= n; i += 4 * V) {
        s0 = vec_fma(vec_load(a + i), vec_load(b + i), s0);
        s1 = vec_fma(vec_load(a + i + V), vec_load(b + i + V), s1);
        s2 = vec_fma(vec_load(a + i + 2 * V), vec_load(b + i + 2 * V), s2);
        s3 = vec_fma(vec_load(a + i + 3 * V), vec_load(b + i + 3 * V), s3);
    }
    for (; i + V <= n; i += V) s0 = vec_fma(vec_load(a + i), vec_load(b + i), s0);
    if (i < n) s1 = vec_fma(vec_load_part(a + i, n - i), vec_load_part(b + i, n - i), s1);
    *y = vec_sum(vec_add(vec_add(s0, s1), vec_add(s2, s3)));
}

void K(max)(const real *x, size_t n, real *y)
{
    vec m0 = vec_set(x[0]), m1 = m0;
    size_t i = 0;
    for (; i + 2 * V <= n; i += 2 * V) {
        m0 = vec_max_nan(m0, vec_load(x + i));
        m1 = vec_max_nan(m1, vec_load(x + i + V));
    }
    m0 = vec_max_nan(m0, m1);
    if (vec_has_nan(m0)) {
        *y = (real)NAN;
        return;
    }
    real largest = vec_max_all(m0);
    for (; i < n; i++)
        if (x[i] > largest || isnan(x[i])) largest = x[i]; /* nothing is above a NaN, so it stays */
    *y = largest;
}
