/* lu_one.c - LU factors of one small matrix by rows: every inner loop is an axpy or a dot over contiguous numbers. */
#include "cpu/prims/lu.h"
#include <math.h>

static real largest(size_t n, const real *a, size_t step)
{
    real top = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (fabs((double)a[i * step + j]) > (double)top) top = (real)fabs((double)a[i * step + j]);
    return top;
}

static size_t pivot_row(size_t n, const real *a, size_t step, size_t column)
{
    size_t best = column;
    for (size_t i = column + 1; i < n; i++)
        if (fabs((double)a[i * step + column]) > fabs((double)a[best * step + column])) best = i;
    return best;
}

static void swap_rows(size_t n, real *a, real *b)
{
    for (size_t j = 0; j < n; j++) {
        const real t = a[j];
        a[j] = b[j];
        b[j] = t;
    }
}

size_t R(lu_factor)(const kernel_table *k, size_t n, real *a, size_t step, int *pivot, double tolerance)
{
    const double least = tolerance * (double)largest(n, a, step);
    for (size_t i = 0; i < n; i++) {
        const size_t p = pivot_row(n, a, step, i);
        pivot[i] = (int)p;
        if (p != i) swap_rows(n, a + i * step, a + p * step);
        const real *top = a + i * step;
        if (fabs((double)top[i]) <= least) return i;
        for (size_t r = i + 1; r < n; r++) {
            real *row = a + r * step;
            row[i] /= top[i];
            k->axpy(-row[i], top + i + 1, row + i + 1, n - i - 1);
        }
    }
    return n;
}

static void solve_plain(const kernel_table *k, size_t n, const real *lu, size_t step, const int *pivot, real *x)
{
    real sum;
    for (size_t i = 0; i < n; i++)
        if ((size_t)pivot[i] != i) swap_rows(1, x + i, x + pivot[i]);
    for (size_t i = 1; i < n; i++) {
        k->dot(lu + i * step, x, i, &sum);
        x[i] -= sum;
    }
    for (size_t i = n; i-- > 0;) {
        k->dot(lu + i * step + i + 1, x + i + 1, n - i - 1, &sum);
        x[i] = (x[i] - sum) / lu[i * step + i];
    }
}

static void solve_transposed(const kernel_table *k, size_t n, const real *lu, size_t step, const int *pivot, real *x)
{
    for (size_t i = 0; i < n; i++) {
        x[i] /= lu[i * step + i];
        k->axpy(-x[i], lu + i * step + i + 1, x + i + 1, n - i - 1);
    }
    for (size_t i = n; i-- > 0;) k->axpy(-x[i], lu + i * step, x, i);
    for (size_t i = n; i-- > 0;)
        if ((size_t)pivot[i] != i) swap_rows(1, x + i, x + pivot[i]);
}

void R(lu_solve_one)(const kernel_table *k, size_t n, const real *lu, size_t step, const int *pivot, bool transposed,
                     real *x)
{
    if (transposed) solve_transposed(k, n, lu, step, pivot, x);
    else solve_plain(k, n, lu, step, pivot, x);
}
