/* walk_krylov.c - the walk's linear system by GMRES (Saad and Schultz 1986): the smallest residual over all that so many
 * walks there and back can reach.
 *
 * Plain iteration is as slow as the slowest way in which the walk mixes; real features come in a few kinds that find
 * each other again and again, which gives a few slow ways and many fast ones. GMRES learns the few and is done after
 * about as many steps as there are. The system is G x = b with the deflated G (walk_solve.c), or its transpose. */
#include "cpu/prims/walk.h"
#include <math.h>

enum { MOST = WALK_KRYLOV_STEPS };

struct arnoldi {              /* the small least-squares problem, rotated to triangular form as it grows */
    double h[MOST + 1][MOST]; /* h[i][j]: row i, column j */
    double c[MOST], s[MOST];  /* rotations */
    double g[MOST + 1];       /* right-hand side; |g[k]| is the residual after k steps */
};

static double dot(const real *x, const real *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)x[i] * (double)y[i];
    return sum;
}

/* y = G x, or G^T x */
static void apply(const struct R(walk) *w, struct R(walk_query) *q, bool transposed, const real *x, real *y)
{
    double sum = 0;
    for (size_t i = 0; i < w->rq; i++) sum += (double)x[i];
    const real mean = (real)(sum / (double)w->rq);
    if (transposed) R(walk_back_and_there)(w, q, x, y);
    else R(walk_there_and_back)(w, q, x, y);
    for (size_t i = 0; i < w->rq; i++) y[i] = x[i] - w->a2 * (y[i] - mean);
}

/* Makes basis vector k + 1 orthogonal to the others and rotates column k of h. */
static void orthogonalise(const kernel_table *kernels, struct arnoldi *a, real *basis, size_t n, size_t k)
{
    real *v = basis + (k + 1) * n;
    for (size_t i = 0; i <= k; i++) {
        a->h[i][k] = dot(v, basis + i * n, n);
        kernels->axpy((real)-a->h[i][k], basis + i * n, v, n);
    }
    a->h[k + 1][k] = sqrt(dot(v, v, n));
    if (a->h[k + 1][k] > 0) kernels->affine(v, (real)(1 / a->h[k + 1][k]), 0, v, n);
    for (size_t i = 0; i < k; i++) {
        const double t = a->c[i] * a->h[i][k] + a->s[i] * a->h[i + 1][k];
        a->h[i + 1][k] = a->c[i] * a->h[i + 1][k] - a->s[i] * a->h[i][k];
        a->h[i][k] = t;
    }
    const double length = hypot(a->h[k][k], a->h[k + 1][k]);
    a->c[k] = a->h[k][k] / length;
    a->s[k] = a->h[k + 1][k] / length;
    a->h[k][k] = length;
    a->g[k + 1] = -a->s[k] * a->g[k];
    a->g[k] *= a->c[k];
}

/* x += basis y, with y from the triangle. */
static void step_to_solution(const kernel_table *kernels, const struct arnoldi *a, const real *basis, size_t n,
                             size_t k, real *x)
{
    double y[MOST];
    for (size_t i = k; i-- > 0;) {
        y[i] = a->g[i];
        for (size_t j = i + 1; j < k; j++) y[i] -= a->h[i][j] * y[j];
        y[i] /= a->h[i][i];
    }
    for (size_t i = 0; i < k; i++) kernels->axpy((real)y[i], basis + i * n, x, n);
}

bool R(walk_krylov)(const struct R(walk) *w, struct R(walk_query) *q, bool transposed, const real *b, real *x)
{
    const size_t n = w->rq;
    const double enough = (double)REAL_EPSILON * sqrt(dot(b, b, n));
    struct arnoldi a;
    real *v = q->basis;
    apply(w, q, transposed, x, v);
    for (size_t i = 0; i < n; i++) v[i] = b[i] - v[i];
    a.g[0] = sqrt(dot(v, v, n));
    if (a.g[0] <= enough) return true;
    if (!(a.g[0] < INFINITY)) return false;
    w->k->affine(v, (real)(1 / a.g[0]), 0, v, n);
    for (size_t k = 0; k < MOST && k < n; k++) {
        apply(w, q, transposed, q->basis + k * n, q->basis + (k + 1) * n);
        orthogonalise(w->k, &a, q->basis, n, k);
        if (fabs(a.g[k + 1]) > enough) continue;
        step_to_solution(w->k, &a, q->basis, n, k + 1, x);
        return true;
    }
    return false;
}
