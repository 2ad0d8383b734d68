/* reduce.c - the specification of the kernels that sum or compare. Sums run in double. */
#include "cpu/portable/portable.h"
#include "cpu/norm.h"
#include <math.h>

void K(sum)(const real *x, size_t n, real *y)
{
    double total = 0;
    for (size_t i = 0; i < n; i++) total += (double)x[i];
    *y = (real)total;
}

void K(dot)(const real *a, const real *b, size_t n, real *y)
{
    double total = 0;
    for (size_t i = 0; i < n; i++) total += (double)a[i] * (double)b[i];
    *y = (real)total;
}

void K(max)(const real *x, size_t n, real *y)
{
    real largest = x[0];
    for (size_t i = 1; i < n; i++)
        if (x[i] > largest || isnan(x[i])) largest = x[i]; /* nothing is above a NaN, so it stays */
    *y = largest;
}

void K(exp_sum)(const real *x, real shift, real *y, size_t n, real *total)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        y[i] = (real)exp((double)(x[i] - shift));
        sum += (double)y[i];
    }
    *total = (real)sum;
}

void K(inverse_norms)(const real *x, size_t x_row, size_t k, size_t n, real *out)
{
    for (size_t j = 0; j < n; j++) {
        double squares = 0;
        for (size_t p = 0; p < k; p++) squares += (double)x[p * x_row + j] * (double)x[p * x_row + j];
        out[j] = norm_inverse(squares, x + j, x_row, k);
    }
}

void K(columns_dot)(const real *e, size_t e_row, size_t rows, size_t columns, const real *v, real *y)
{
    for (size_t j = 0; j < columns; j++) {
        double total = 0;
        for (size_t i = 0; i < rows; i++) total += (double)e[i * e_row + j] * (double)v[i];
        y[j] = (real)total;
    }
}

void K(rows_sum)(const real *x, size_t rows, size_t columns, real *y)
{
    for (size_t i = 0; i < rows; i++) K(sum)(x + i * columns, columns, y + i);
}

void K(rows_dot)(const real *e, size_t e_row, size_t rows, size_t columns, const real *v, real *y)
{
    for (size_t i = 0; i < rows; i++) K(dot)(e + i * e_row, v, columns, y + i);
}
