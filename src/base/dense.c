/* dense.c - small dense matrices in double: Gram-Schmidt, Cholesky, Jacobi. */
#include "base/dense.h"
#include "base/size.h"
#include <math.h>
#include <string.h>

enum { SWEEPS = 60 };

/* Four sums at a time: one would wait for itself at every step. */
double dense_dot(const double *a, const double *b, size_t n)
{
    double sum[4] = {0};
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t k = 0; k < 4; k++) sum[k] += a[i + k] * b[i + k];
    for (; i < n; i++) sum[0] += a[i] * b[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

void dense_add(double scale, const double *x, size_t n, double *y)
{
    for (size_t i = 0; i < n; i++) y[i] += scale * x[i];
}

/* Twice is enough: what the first pass leaves of a nearly dependent row may lean towards the basis. */
static void remove_parts(size_t rank, size_t n, const double *q, double *row, double *l)
{
    for (int pass = 0; pass < 2; pass++)
        for (size_t k = 0; k < rank; k++) {
            const double part = dense_dot(q + k * n, row, n);
            dense_add(-part, q + k * n, n, row);
            l[k] += part;
        }
}

size_t dense_span(size_t rows, size_t n, const double *x, double tolerance, double *q, double *l)
{
    const size_t most = size_min(rows, n);
    size_t rank = 0;
    double longest = 0;
    memset(l, 0, rows * most * sizeof *l);
    for (size_t i = 0; i < rows; i++) longest = fmax(longest, sqrt(dense_dot(x + i * n, x + i * n, n)));
    for (size_t i = 0; i < rows; i++) {
        if (rank == most) { /* the basis is whole: coordinates only */
            for (size_t k = 0; k < rank; k++) l[i * most + k] = dense_dot(q + k * n, x + i * n, n);
            continue;
        }
        double *row = q + rank * n;
        memcpy(row, x + i * n, n * sizeof *row);
        remove_parts(rank, n, q, row, l + i * most);
        const double length = sqrt(dense_dot(row, row, n));
        if (!(length > tolerance * longest)) continue;
        for (size_t k = 0; k < n; k++) row[k] /= length;
        l[i * most + rank++] = length;
    }
    return rank;
}

bool dense_cholesky(size_t n, double *a)
{
    for (size_t j = 0; j < n; j++) {
        const double *row = a + j * n;
        const double pivot = a[j * n + j] - dense_dot(row, row, j);
        if (!(pivot > 0) || isinf(pivot)) return false;
        a[j * n + j] = sqrt(pivot);
        for (size_t i = j + 1; i < n; i++) a[i * n + j] = (a[i * n + j] - dense_dot(a + i * n, row, j)) / a[j * n + j];
    }
    return true;
}

void dense_cholesky_solve(size_t n, const double *l, double *b)
{
    for (size_t i = 0; i < n; i++) b[i] = (b[i] - dense_dot(l + i * n, b, i)) / l[i * n + i];
    for (size_t i = n; i-- > 0;) {
        b[i] /= l[i * n + i];
        for (size_t k = 0; k < i; k++) b[k] -= l[i * n + k] * b[i];
    }
}

static void rotate(size_t rows, size_t n, double *a, size_t i, size_t j, double c, double s)
{
    for (size_t r = 0; r < rows; r++) {
        const double x = a[r * n + i], y = a[r * n + j];
        a[r * n + i] = c * x - s * y;
        a[r * n + j] = s * x + c * y;
    }
}

static double column_dot(size_t m, size_t n, const double *a, size_t i, size_t j)
{
    double sum = 0;
    for (size_t r = 0; r < m; r++) sum += a[r * n + i] * a[r * n + j];
    return sum;
}

/* Makes two columns orthogonal; false when they are. */
static bool orthogonalise(size_t m, size_t n, double *a, double *w, size_t i, size_t j)
{
    const double ii = column_dot(m, n, a, i, i), jj = column_dot(m, n, a, j, j), ij = column_dot(m, n, a, i, j);
    if (!(fabs(ij) > 1e-15 * sqrt(ii) * sqrt(jj))) return false;
    const double zeta = (jj - ii) / (2 * ij), t = copysign(1, zeta) / (fabs(zeta) + sqrt(1 + zeta * zeta));
    const double c = 1 / sqrt(1 + t * t);
    rotate(m, n, a, i, j, c, c * t);
    rotate(n, n, w, i, j, c, c * t);
    return true;
}

static void swap_columns(size_t rows, size_t n, double *a, size_t i, size_t j)
{
    for (size_t r = 0; r < rows; r++) {
        const double held = a[r * n + i];
        a[r * n + i] = a[r * n + j];
        a[r * n + j] = held;
    }
}

void dense_svd(size_t m, size_t n, double *a, double *w, double *s)
{
    bool moved = true;
    for (size_t i = 0; i < n * n; i++) w[i] = i % (n + 1) == 0;
    for (int sweep = 0; sweep < SWEEPS && moved; sweep++) {
        moved = false;
        for (size_t i = 0; i < n; i++)
            for (size_t j = i + 1; j < n; j++) moved = orthogonalise(m, n, a, w, i, j) || moved;
    }
    for (size_t i = 0; i < n; i++) s[i] = sqrt(column_dot(m, n, a, i, i));
    for (size_t i = 0; i < n; i++) {
        size_t best = i;
        for (size_t j = i + 1; j < n; j++)
            if (s[j] > s[best]) best = j;
        const double held = s[i];
        s[i] = s[best];
        s[best] = held;
        if (best == i) continue;
        swap_columns(m, n, a, i, best);
        swap_columns(n, n, w, i, best);
    }
}
