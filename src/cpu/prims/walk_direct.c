/* walk_direct.c - the walk's linear system by LU factors, in double whatever the type.
 *
 * The matrix is G = I - a^2 K + (a^2/n) 1 1^T with K = B A^T. Each column of K sums to 1; rounding leaves it a little off,
 * which a near 1 magnifies up to 500 times, so the columns are made to sum to 1 exactly. That is worth a factor of
 * three in the error of single precision, and double costs little on matrices this small.
 *
 * With a = 1 and a walk that falls apart into closed sets (very large gamma and beta) the stationary distribution is not
 * unique and G is singular: then a = 1 - 1e-6 decides, as documented (docs/mcl.md). */
#include "cpu/prims/lu.h"
#include "cpu/prims/walk.h"

static void build(size_t n, const real *k, double a2, double *g)
{
    for (size_t j = 0; j < n; j++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++) sum += (double)k[i * n + j];
        const double scale = -a2 / sum;
        for (size_t i = 0; i < n; i++) g[i * n + j] = a2 / (double)n + scale * (double)k[i * n + j];
        g[j * n + j] += 1;
    }
}

/* Reals that the factors and a right-hand side take. */
size_t R(walk_direct_count)(const struct R(walk) *w) { return w->rq * (w->rq + 1) * (sizeof(double) / sizeof(real)); }

status R(walk_direct_factor)(const struct R(walk) *w, struct R(walk_query) *q)
{
    const size_t n = w->rq;
    const double nearly_one = (1 - 1e-6) * (1 - 1e-6);
    const struct kernels_f64 *k = &cpu_of(w->dev)->kernels->f64;
    double *g = (double *)(void *)q->wide;
    R(walk_two_steps)(w, q);
    q->direct_a2 = w->args->alpha * w->args->alpha;
    build(n, q->g, q->direct_a2, g);
    size_t good = lu_factor_f64(k, n, g, n, q->pivot, 1e-12);
    if (good < n && q->direct_a2 > nearly_one) {
        q->direct_a2 = nearly_one;
        build(n, q->g, q->direct_a2, g);
        good = lu_factor_f64(k, n, g, n, q->pivot, 1e-14);
    }
    if (good < n) return fail(ST_NUMERIC, "the walk of query %zu has no solution (pivot %zu vanishes)", q->n, good);
    q->factored = true;
    return OK;
}

void R(walk_direct_solve)(const struct R(walk) *w, struct R(walk_query) *q, bool transposed, const real *b, real *x)
{
    const size_t n = w->rq;
    double *g = (double *)(void *)q->wide, *y = g + n * n;
    for (size_t i = 0; i < n; i++) y[i] = (double)b[i];
    lu_solve_one_f64(&cpu_of(w->dev)->kernels->f64, n, g, n, q->pivot, transposed, y);
    for (size_t i = 0; i < n; i++) x[i] = (real)y[i];
}
