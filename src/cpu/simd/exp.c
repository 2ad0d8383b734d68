/* exp.c - the exponential of a run of numbers, and the numerators of a softmax with their sum. */
#include "cpu/simd/vec.h"

void K(exp)(const real *x, real *y, size_t n)
{
    size_t i = 0;
    for (; i + V <= n; i += V) vec_store(y + i, vec_exp(vec_load(x + i)));
    if (i < n) vec_store_part(y + i, vec_exp(vec_load_part(x + i, n - i)), n - i);
}

void K(exp_sum)(const real *x, real shift, real *y, size_t n, real *total)
{
    const vec s = vec_set(shift);
    vec sum = vec_zero();
    size_t i = 0;
    for (; i + V <= n; i += V) {
        const vec e = vec_exp(vec_sub(vec_load(x + i), s));
        vec_store(y + i, e);
        sum = vec_add(sum, e);
    }
    if (i < n) {
        vec_store_part(y + i, vec_exp(vec_sub(vec_load_part(x + i, n - i), s)), n - i);
        sum = vec_add(sum, vec_load_part(y + i, n - i)); /* read back: the missing lanes count 0, not exp(-shift) */
    }
    *total = vec_sum(sum);
}
