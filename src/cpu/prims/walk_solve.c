/* walk_solve.c - the weights w of a query's features in the walk, by iteration or by one small linear system.
 *
 * Iterating costs two matrix-vector products a step and shrinks the error by a^2 lambda2 each (lambda2: the second
 * eigenvalue of B A^T), so a = 0.5 needs about ten steps whatever the features. The direct way forms G = I - a^2 B A^T +
 * (a^2/rq) 1 1^T, whose last term uses that the weights sum to 1 and keeps G well conditioned up to a = 1. `auto` iterates
 * while that promises to arrive soon; if not, it goes on with GMRES on large maps (walk_krylov.c) or with LU factors of
 * G on small ones. docs/performance.md has the measurements. */
#include "cpu/prims/lu.h"
#include "cpu/prims/walk.h"
#include <math.h>

void R(walk_there_and_back)(const struct R(walk) *w, struct R(walk_query) *q, const real *x, real *y)
{
    w->k->mul(x, q->row_inverse, q->row_b, w->rq);
    w->k->columns_dot(q->ea, w->step, w->rq, w->m, q->row_b, q->column_a);
    w->k->mul(q->column_a, q->column_inverse, q->column_a, w->m);
    w->k->rows_dot(q->eb, w->step, w->rq, w->m, q->column_a, y);
}

void R(walk_back_and_there)(const struct R(walk) *w, struct R(walk_query) *q, const real *x, real *y)
{
    w->k->columns_dot(q->eb, w->step, w->rq, w->m, x, q->column_a);
    w->k->mul(q->column_a, q->column_inverse, q->column_a, w->m);
    w->k->rows_dot(q->ea, w->step, w->rq, w->m, q->column_a, y);
    w->k->mul(y, q->row_inverse, y, w->rq);
}

/* From this many query features on, a few dozen steps of GMRES cost less than forming and factoring G. */
enum { KRYLOV_FROM = 40 };

/* How many plain steps may be tried before the other ways are cheaper. */
static size_t step_budget(const struct R(walk) *w)
{
    if (w->args->solver == WALK_ITERATE) return 100000;
    return w->rq < KRYLOV_FROM ? 4 + w->rq / 2 : 20;
}

/* Follows the changes from step to step: when to stop, and when to give up. */
struct progress {
    double change, ratio; /* sum of absolute changes of the last step, and that over the one before */
    size_t steps, budget, stalled;
};
enum verdict { GO_ON, ARRIVED, TOO_SLOW };

/* `scale` is the sum of absolute values, against which rounding is measured. */
static enum verdict judge(struct progress *p, double change, double scale)
{
    const double rounding = (double)REAL_EPSILON * scale, ratio = p->steps ? change / p->change : 0.5;
    const double rate = fmax(ratio, p->ratio); /* one good step may be luck */
    p->change = change;
    p->ratio = ratio;
    p->steps++;
    if (!(change > 0) || !(change < INFINITY)) return ARRIVED; /* NaN features: the answer is NaN */
    if (p->steps < 3) return GO_ON;
    if (rate < 1 && change * rate / (1 - rate) <= 0.5 * rounding) return ARRIVED;
    p->stalled = rate > 0.98 && change <= 16 * rounding ? p->stalled + 1 : 0;
    if (p->stalled >= 3) return ARRIVED; /* nothing but rounding is left */
    if (p->steps >= p->budget) return TOO_SLOW;
    if (p->steps < 4) return GO_ON;
    if (rate >= 1) return change <= 16 * rounding ? GO_ON : TOO_SLOW;
    return log(rounding / change) / log(rate) > (double)(p->budget - p->steps) + 4 ? TOO_SLOW : GO_ON;
}

/* Chebyshev's semi-iteration for x = M x + b with the eigenvalues of M between 0 and `most` (Golub and Varga 1961): each step
 * goes beyond the plain one and leans on the step before. For a = 0.5 it needs 7 steps where the plain one needs 12. M
 * is not symmetric, so eigenvalues may lie a little off; the change from step to step shows whether it arrives. When
 * `most` is near 1 the walk usually mixes faster than that and plain steps are as good. */
struct momentum {
    double beyond, sigma2, lean;
};
static const double MOST_FOR_MOMENTUM = 0.5;

static struct momentum momentum_start(double most)
{
    if (most > MOST_FOR_MOMENTUM) return (struct momentum){1, 0, 1};
    const double sigma = most / (2 - most);
    return (struct momentum){2 / (2 - most), sigma * sigma, 1};
}

/* Moves x on, where `plain` is M x + b and `before` the x of the step before; returns the sum of absolute changes. */
static double momentum_step(struct momentum *m, size_t step, size_t n, const real *plain, real *before, real *x,
                            double *size)
{
    double change = 0;
    if (step == 1) m->lean = 1 / (1 - m->sigma2 / 2);
    else if (step > 1) m->lean = 1 / (1 - m->sigma2 * m->lean / 4);
    *size = 0;
    for (size_t i = 0; i < n; i++) {
        const double old = (double)x[i], last = step ? (double)before[i] : 0;
        const double further = m->beyond * (double)plain[i] + (1 - m->beyond) * old;
        const real next = (real)(m->lean * further + (1 - m->lean) * last);
        change += fabs((double)next - old);
        *size += fabs((double)next);
        before[i] = x[i];
        x[i] = next;
    }
    return change;
}

/* w = a^2 B A^T w + (1 - a^2) first */
static bool iterate(const struct R(walk) *w, struct R(walk_query) *q)
{
    struct progress p = {.budget = step_budget(w)};
    struct momentum m = momentum_start((double)w->a2);
    enum verdict v = GO_ON;
    for (size_t i = 0; i < w->rq; i++) q->w[i] = q->first[i];
    for (size_t step = 0; v == GO_ON; step++) {
        double size;
        R(walk_there_and_back)(w, q, q->w, q->row_a);
        for (size_t i = 0; i < w->rq; i++) q->row_a[i] = w->a2 * q->row_a[i] + (1 - w->a2) * q->first[i];
        const double change = momentum_step(&m, step, w->rq, q->row_a, q->before, q->w, &size);
        v = judge(&p, change, size);
    }
    return v == ARRIVED;
}

/* x = a^2 A B^T x - (a^2/rq) sum(x) + u: its limit solves G^T x = u, at the same rate as the walk itself. */
static bool iterate_adjoint(const struct R(walk) *w, struct R(walk_query) *q, const real *u, real *x)
{
    struct progress p = {.budget = step_budget(w)};
    struct momentum m = momentum_start((double)w->a2);
    enum verdict v = GO_ON;
    for (size_t i = 0; i < w->rq; i++) x[i] = u[i];
    for (size_t step = 0; v == GO_ON; step++) {
        double sum = 0, size;
        for (size_t i = 0; i < w->rq; i++) sum += (double)x[i];
        const real mean = (real)(sum / (double)w->rq);
        R(walk_back_and_there)(w, q, x, q->row_b);
        for (size_t i = 0; i < w->rq; i++) q->row_b[i] = w->a2 * (q->row_b[i] - mean) + u[i];
        const double change = momentum_step(&m, step, w->rq, q->row_b, q->before, x, &size);
        v = judge(&p, change, size);
    }
    return v == ARRIVED;
}

/* g = B A^T: one product of [rq, m] with [m, rq]. Afterwards eb carries its column sums: column_inverse is 1. */
void R(walk_two_steps)(const struct R(walk) *w, struct R(walk_query) *q)
{
    const size_t width = w->k->gemm_width;
    for (size_t i = 0; i < w->rq; i++) w->k->mul(q->eb + i * w->step, q->column_inverse, q->eb + i * w->step, w->m);
    for (size_t j = 0; j < w->m; j++) q->column_inverse[j] = 1;
    w->k->gemm_pack(w->m, w->rq, q->ea, 1, w->step, q->panels);
    w->k->gemm(w->rq, w->rq, w->m, q->eb, w->step, 1, q->panels, width, w->m * width, q->g, w->rq, false);
    for (size_t i = 0; i < w->rq; i++) w->k->mul(q->g + i * w->rq, q->row_inverse, q->g + i * w->rq, w->rq);
}

status R(walk_solve_deflated)(const struct R(walk) *w, struct R(walk_query) *q)
{
    const status st = R(walk_direct_factor)(w, q);
    if (st != OK) return st;
    for (size_t i = 0; i < w->rq; i++)
        q->row_c[i] = (real)((1 - q->direct_a2) * (double)q->first[i] + q->direct_a2 / (double)w->rq);
    R(walk_direct_solve)(w, q, false, q->row_c, q->w);
    return OK;
}

/* Goes on from where the iteration stopped. */
static bool krylov(const struct R(walk) *w, struct R(walk_query) *q)
{
    if (w->rq < KRYLOV_FROM) return false;
    for (size_t i = 0; i < w->rq; i++) q->row_c[i] = (1 - w->a2) * q->first[i] + w->a2 / (real)w->rq;
    return R(walk_krylov)(w, q, false, q->row_c, q->w);
}

/* I - a^2 B A^T without the term that keeps it well conditioned; the weights are scaled to sum 1 afterwards. */
static status reduced(const struct R(walk) *w, struct R(walk_query) *q)
{
    R(walk_two_steps)(w, q);
    for (size_t i = 0; i < w->rq; i++) {
        w->k->affine(q->g + i * w->rq, -w->a2, 0, q->g + i * w->rq, w->rq);
        q->g[i * w->rq + i] += 1;
    }
    if (R(lu_factor)(w->k, w->rq, q->g, w->rq, q->pivot, 16 * (double)REAL_EPSILON) < w->rq)
        return fail(ST_NUMERIC, "the reduced system of query %zu is singular; use the deflated solver", q->n);
    for (size_t i = 0; i < w->rq; i++) q->w[i] = q->first[i];
    R(lu_solve_one)(w->k, w->rq, q->g, w->rq, q->pivot, false, q->w);
    return OK;
}

/* Weights are positive and sum to 1; rounding may have left a small one below 0. */
static void normalise(const struct R(walk) *w, struct R(walk_query) *q)
{
    double sum = 0;
    for (size_t i = 0; i < w->rq; i++) {
        if (q->w[i] < 0) q->w[i] = 0;
        sum += (double)q->w[i];
    }
    for (size_t i = 0; i < w->rq; i++) q->w[i] = (real)((double)q->w[i] / sum);
}

static status solve(const struct R(walk) *w, struct R(walk_query) *q)
{
    switch (w->args->solver) {
    case WALK_AUTO:
    case WALK_ITERATE: return iterate(w, q) || krylov(w, q) ? OK : R(walk_solve_deflated)(w, q);
    case WALK_DEFLATED: return R(walk_solve_deflated)(w, q);
    case WALK_REDUCED: return reduced(w, q);
    default: return R(walk_solve_slow)(w, q);
    }
}

status R(walk_solve)(const struct R(walk) *w, struct R(walk_query) *q)
{
    status st = OK;
    if (w->alpha > 0) st = solve(w, q);
    else
        for (size_t i = 0; i < w->rq; i++) q->w[i] = 1;
    if (st == OK) normalise(w, q);
    return st;
}

status R(walk_solve_adjoint)(const struct R(walk) *w, struct R(walk_query) *q, const real *u, real *x)
{
    status st = OK;
    if (!q->factored) {
        if (iterate_adjoint(w, q, u, x)) return OK;
        if (w->rq >= KRYLOV_FROM && R(walk_krylov)(w, q, true, u, x)) return OK;
        st = R(walk_direct_factor)(w, q);
    }
    if (st == OK) R(walk_direct_solve)(w, q, true, u, x);
    return st;
}
