/* elementwise.c - from numbers to as many numbers, V at a time, with a partial vector at the end. */
#include "cpu/simd/vec.h"

void K(add)(const real *a, const real *b, real *y, size_t n)
{
    size_t i = 0;
    for (; i + V <= n; i += V) vec_store(y + i, vec_add(vec_load(a + i), vec_load(b + i)));
    if (i < n) vec_store_part(y + i, vec_add(vec_load_part(a + i, n - i), vec_load_part(b + i, n - i)), n - i);
}

void K(sub)(const real *a, const real *b, real *y, size_t n)
{
    size_t i = 0;
    for (; i + V <= n; i += V) vec_store(y + i, vec_sub(vec_load(a + i), vec_load(b + i)));
    if (i < n) vec_store_part(y + i, vec_sub(vec_load_part(a + i, n - i), vec_load_part(b + i, n - i)), n - i);
}

void K(mul)(const real *a, const real *b, real *y, size_t n)
{
    size_t i = 0;
    for (; i + V <= n; i += V) vec_store(y + i, vec_mul(vec_load(a + i), vec_load(b + i)));
    if (i < n) vec_store_part(y + i, vec_mul(vec_load_part(a + i, n - i), vec_load_part(b + i, n - i)), n - i);
}

void K(div)(const real *a, const real *b, real *y, size_t n)
{
    size_t i = 0;
    for (; i + V <= n; i += V) vec_store(y + i, vec_div(vec_load(a + i), vec_load(b + i)));
    if (i < n) vec_store_part(y + i, vec_div(vec_load_part(a + i, n - i), vec_load_part(b + i, n - i)), n - i);
}

void K(affine)(const real *x, real mul, real add, real *y, size_t n)
{
    const vec m = vec_set(mul), a = vec_set(add);
    size_t i = 0;
    for (; i + V <= n; i += V) vec_store(y + i, vec_fma(vec_load(x + i), m, a));
    if (i < n) vec_store_part(y + i, vec_fma(vec_load_part(x + i, n - i), m, a), n - i);
}

void K(axpy)(real alpha, const real *x, real *y, size_t n)
{
    const vec a = vec_set(alpha);
    size_t i = 0;
    for (; i + V <= n; i += V) vec_store(y + i, vec_fma(a, vec_load(x + i), vec_load(y + i)));
    if (i < n) vec_store_part(y + i, vec_fma(a, vec_load_part(x + i, n - i), vec_load_part(y + i, n - i)), n - i);
}

void K(mul_add)(const real *a, const real *b, real *y, size_t n)
{
    size_t i = 0;
    for (; i + V <= n; i += V) vec_store(y + i, vec_fma(vec_load(a + i), vec_load(b + i), vec_load(y + i)));
    if (i < n) {
        const size_t rest = n - i;
        const vec x = vec_load_part(a + i, rest), z = vec_load_part(b + i, rest);
        vec_store_part(y + i, vec_fma(x, z, vec_load_part(y + i, rest)), rest);
    }
}

void K(relu)(const real *x, real *y, size_t n)
{
    const vec zero = vec_zero(); /* as the first argument: vec_max gives the second for NaN, and for -0 */
    size_t i = 0;
    for (; i + V <= n; i += V) vec_store(y + i, vec_max(zero, vec_load(x + i)));
    if (i < n) vec_store_part(y + i, vec_max(zero, vec_load_part(x + i, n - i)), n - i);
}
