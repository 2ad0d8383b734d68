/* dense.h - small dense matrices in double, on the host: what heads that solve or fit something per episode need.
 *
 * Row-major, sizes of a few dozen; larger work belongs to a device. Nothing here allocates. Sums run in a fixed order. */
#ifndef BASE_DENSE_H
#define BASE_DENSE_H
#include <stdbool.h>
#include <stddef.h>

double dense_dot(const double *a, const double *b, size_t n);
/* y += scale x */
void dense_add(double scale, const double *x, size_t n, double *y);

/* An orthonormal basis q of the rows of x [rows, n], and x = l q. A row whose part outside the earlier ones is not longer
 * than `tolerance` times the longest row adds nothing. q has room for [min(rows, n), n], l is [rows, min(rows, n)] with
 * zeros behind the rank, which is returned. */
size_t dense_span(size_t rows, size_t n, const double *x, double tolerance, double *q, double *l);

/* a [n, n] becomes its lower Cholesky factor; the upper half is left as it was. False when a is not positive definite. */
bool dense_cholesky(size_t n, double *a);
/* b [n] becomes the solution of l l^T x = b. */
void dense_cholesky_solve(size_t n, const double *l, double *b);

/* Singular values by one-sided Jacobi: a [m, n], m >= n, becomes v s with orthogonal columns of falling length s; w [n, n]
 * is orthogonal with a_before w = a_after. */
void dense_svd(size_t m, size_t n, double *a, double *w, double *s);
#endif
