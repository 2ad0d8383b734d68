/* walk_degenerate.c - a walk at a = 1 that falls apart into closed sets: its stationary distribution is not unique, and the
 * matrix of the direct solvers is singular. a = 1 - 1e-6 decides, as documented (docs/mcl.md).
 *
 * This happens only with very large gamma and beta. It is computed in double whatever the type: in single precision
 * 1 - a^2 = 2e-6 would drown in rounding. */
#include "cpu/prims/walk.h"
#include <math.h>

/* G = I - a^2 K + (a^2/n) 1 1^T, or its transpose, from K = B A^T with its columns made to sum to 1 exactly. */
static void build(size_t n, const real *k, bool transposed, double a2, double *g)
{
    for (size_t j = 0; j < n; j++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++) sum += (double)k[i * n + j];
        for (size_t i = 0; i < n; i++) {
            const double e = a2 / (double)n - a2 * (double)k[i * n + j] / sum + (i == j);
            g[transposed ? j * n + i : i * n + j] = e;
        }
    }
}

/* Gaussian elimination with partial pivoting; x holds the right-hand side, then the solution. False: singular. */
static bool eliminate(size_t n, double *g, double *x)
{
    for (size_t c = 0; c < n; c++) {
        size_t p = c;
        for (size_t i = c + 1; i < n; i++)
            if (fabs(g[i * n + c]) > fabs(g[p * n + c])) p = i;
        if (fabs(g[p * n + c]) < 1e-14) return false;
        for (size_t j = c; j < n && p != c; j++) {
            const double t = g[c * n + j];
            g[c * n + j] = g[p * n + j];
            g[p * n + j] = t;
        }
        const double t = x[c];
        x[c] = x[p];
        x[p] = t;
        for (size_t i = c + 1; i < n; i++) {
            const double f = g[i * n + c] / g[c * n + c];
            for (size_t j = c; j < n; j++) g[i * n + j] -= f * g[c * n + j];
            x[i] -= f * x[c];
        }
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t j = i + 1; j < n; j++) x[i] -= g[i * n + j] * x[j];
        x[i] /= g[i * n + i];
    }
    return true;
}

size_t R(walk_degenerate_count)(const struct R(walk) *w)
{
    return w->rq * (w->rq + 1) * (sizeof(double) / sizeof(real));
}

status R(walk_solve_degenerate)(const struct R(walk) *w, struct R(walk_query) *q, bool transposed, const real *b,
                                real *x)
{
    const size_t n = w->rq;
    const double a2 = fmin((double)w->a2, (1 - 1e-6) * (1 - 1e-6));
    double *g = (double *)(void *)q->wide, *y = g + n * n, sum = 0;
    R(walk_two_steps)(w, q);
    build(n, q->g, transposed, a2, g);
    for (size_t i = 0; i < n; i++) y[i] = transposed ? (double)b[i] : (1 - a2) * (double)b[i] + a2 / (double)n;
    if (!eliminate(n, g, y)) return fail(ST_NUMERIC, "the walk of query %zu has no solution", q->n);
    for (size_t i = 0; i < n; i++) sum += y[i];
    for (size_t i = 0; i < n; i++) x[i] = (real)(transposed ? y[i] : y[i] / sum);
    return OK;
}
