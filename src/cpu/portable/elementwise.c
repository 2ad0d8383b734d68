/* elementwise.c - the specification of the kernels that go from numbers to as many numbers. */
#include "cpu/portable/portable.h"
#include <math.h>

void K(add)(const real *a, const real *b, real *y, size_t n)
{
    for (size_t i = 0; i < n; i++) y[i] = a[i] + b[i];
}

void K(sub)(const real *a, const real *b, real *y, size_t n)
{
    for (size_t i = 0; i < n; i++) y[i] = a[i] - b[i];
}

void K(mul)(const real *a, const real *b, real *y, size_t n)
{
    for (size_t i = 0; i < n; i++) y[i] = a[i] * b[i];
}

void K(div)(const real *a, const real *b, real *y, size_t n)
{
    for (size_t i = 0; i < n; i++) y[i] = a[i] / b[i];
}

void K(affine)(const real *x, real mul, real add, real *y, size_t n)
{
    for (size_t i = 0; i < n; i++) y[i] = x[i] * mul + add;
}

void K(axpy)(real alpha, const real *x, real *y, size_t n)
{
    for (size_t i = 0; i < n; i++) y[i] += alpha * x[i];
}

void K(mul_add)(const real *a, const real *b, real *y, size_t n)
{
    for (size_t i = 0; i < n; i++) y[i] += a[i] * b[i];
}

void K(exp)(const real *x, real *y, size_t n)
{
    for (size_t i = 0; i < n; i++) y[i] = (real)exp((double)x[i]);
}

void K(relu)(const real *x, real *y, size_t n)
{
    for (size_t i = 0; i < n; i++) y[i] = x[i] < 0 ? 0 : x[i]; /* this way round, NaN stays NaN */
}
