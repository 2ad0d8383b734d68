/* svm_solve.c - Crammer-Singer by interior point, then by its active set: read svm_solve.h first. */
#include "ops/svm_solve.h"
#include "base/dense.h"
#include "base/size.h"
#include "ops/host.h"
#include <math.h>
#include <string.h>

enum { MOST_STEPS = 60, MOST_REPAIRS = 20 };
static const double enough = 1e-12; /* residual, for numbers of size 1 */

/* The factored system of one step: for each class K + ridge + d, and the sum of their inverses. */
struct system {
    const struct svm_problem *p;
    size_t n;      /* way * rows */
    double *class; /* [way, rows, rows] */
    double *schur; /* [rows, rows] */
    double *column;
};

static status system_new(tape *t, const struct svm_problem *p, struct system *s)
{
    status st = OK;
    *s = (struct system){.p = p, .n = p->way * p->rows};
    TRY(host_zeros(t, s->n * p->rows, &s->class));
    TRY(host_zeros(t, p->rows * p->rows, &s->schur));
    TRY(host_zeros(t, p->rows, &s->column));
done:
    return st;
}

static bool is_held(const unsigned char *held, size_t i) { return held && held[i]; }

/* A held number takes no part: its row and column are those of the identity. */
static void class_matrix(const struct system *s, size_t m, const double *d, const unsigned char *held, double *h)
{
    const size_t rows = s->p->rows;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < rows; j++) {
            const bool apart = is_held(held, m * rows + i) || is_held(held, m * rows + j);
            h[i * rows + j] = apart ? (double)(i == j) : s->p->kernel[i * rows + j];
            if (i == j && !apart) h[i * rows + j] += s->p->settings.ridge + (d ? d[m * rows + i] : 0);
        }
}

static status factor(const struct system *s, const double *d, const unsigned char *held)
{
    const size_t rows = s->p->rows;
    memset(s->schur, 0, rows * rows * sizeof *s->schur);
    for (size_t m = 0; m < s->p->way; m++) {
        double *h = s->class + m * rows * rows;
        class_matrix(s, m, d, held, h);
        if (!dense_cholesky(rows, h)) return fail(ST_NUMERIC, "the kernel is not positive definite, or not finite");
        for (size_t j = 0; j < rows; j++) { /* adds column j of the inverse */
            if (is_held(held, m * rows + j)) continue;
            memset(s->column, 0, rows * sizeof *s->column);
            s->column[j] = 1;
            dense_cholesky_solve(rows, h, s->column);
            for (size_t i = 0; i < rows; i++) s->schur[i * rows + j] += s->column[i];
        }
    }
    for (size_t i = 0; i < rows; i++)
        if (s->schur[i * rows + i] == 0) s->schur[i * rows + i] = 1; /* every number of this row is held */
    return dense_cholesky(rows, s->schur) ? OK : fail(ST_NUMERIC, "the system of the support vectors is singular");
}

/* H dx + A^T dy = r, A dx = -ry with A the sums over classes; held numbers have r 0 and stay. ry may be NULL. */
static void solve(const struct system *s, const unsigned char *held, const double *r, const double *ry, double *dx,
                  double *dy)
{
    const size_t rows = s->p->rows;
    for (size_t i = 0; i < rows; i++) dy[i] = ry ? ry[i] : 0;
    for (size_t m = 0; m < s->p->way; m++) {
        memcpy(s->column, r + m * rows, rows * sizeof *s->column);
        dense_cholesky_solve(rows, s->class + m * rows * rows, s->column);
        for (size_t i = 0; i < rows; i++) dy[i] += s->column[i];
    }
    dense_cholesky_solve(rows, s->schur, dy);
    for (size_t i = 0; i < s->n; i++) dx[i] = is_held(held, i) ? 0 : r[i] - dy[i % rows];
    for (size_t m = 0; m < s->p->way; m++) dense_cholesky_solve(rows, s->class + m * rows * rows, dx + m * rows);
}

struct step {
    double *x, *s, *z, *y;
};

/* G dx + dz + A^T dy = -rx, d ds + dz = -rs, dx + ds = -rz, A dx = -ry, with d as it was factored. */
static void direction(const struct system *s, const double *d, const double *const r[4], double *rhs, struct step *out)
{
    for (size_t i = 0; i < s->n; i++) rhs[i] = -r[0][i] + r[1][i] - d[i] * r[2][i];
    solve(s, NULL, rhs, r[3], out->x, out->y);
    for (size_t i = 0; i < s->n; i++) {
        out->s[i] = -r[2][i] - out->x[i];
        out->z[i] = -r[1][i] - d[i] * out->s[i];
    }
}

struct solver { /* one problem; memory of the tape */
    struct system system;
    const struct svm_problem *p;
    size_t n, rows;
    double *linear, *bound; /* p and h */
    struct svm_point now;
    struct step affine, corrector;
    double *d, *rhs, *none; /* none: zeros */
    double *rx, *rs, *rz, *ry;
};

static status take(tape *t, size_t count, size_t n, double **const *to)
{
    status st = OK;
    for (size_t i = 0; i < count; i++) TRY(host_zeros(t, n, to[i]));
done:
    return st;
}

static status solver_new(tape *t, const struct svm_problem *p, struct solver *v)
{
    status st = OK;
    *v = (struct solver){.p = p, .n = p->way * p->rows, .rows = p->rows};
    double **const long_ones[] = {&v->linear,      &v->bound,    &v->now.x,    &v->now.s,       &v->now.z,
                                  &v->affine.x,    &v->affine.s, &v->affine.z, &v->corrector.x, &v->corrector.s,
                                  &v->corrector.z, &v->d,        &v->rhs,      &v->none,        &v->rx,
                                  &v->rs,          &v->rz};
    double **const short_ones[] = {&v->now.y, &v->affine.y, &v->corrector.y, &v->ry};
    TRY(system_new(t, p, &v->system));
    TRY(take(t, sizeof long_ones / sizeof *long_ones, v->n, long_ones));
    TRY(take(t, sizeof short_ones / sizeof *short_ones, v->rows, short_ones));
    for (size_t m = 0; m < p->way; m++)
        for (size_t i = p->first[m]; i < p->first[m + 1]; i++) {
            v->linear[m * v->rows + i] = -1;
            v->bound[m * v->rows + i] = p->settings.c;
        }
done:
    return st;
}

/* rx = G x + p + A^T y (+ z) */
static void stationarity(const struct solver *v, const struct svm_point *at, bool with_z)
{
    for (size_t m = 0; m < v->p->way; m++) {
        const double *x = at->x + m * v->rows;
        for (size_t i = 0; i < v->rows; i++) {
            const size_t k = m * v->rows + i;
            v->rx[k] = dense_dot(v->p->kernel + i * v->rows, x, v->rows) + v->p->settings.ridge * x[i] + v->linear[k] +
                       at->y[i] + (with_z ? at->z[k] : 0);
        }
    }
}

/* ry = A x */
static void sums(const struct solver *v, const struct svm_point *at)
{
    memset(v->ry, 0, v->rows * sizeof *v->ry);
    for (size_t m = 0; m < v->p->way; m++) dense_add(1, at->x + m * v->rows, v->rows, v->ry);
}

static double length(const double *x, size_t n) { return sqrt(dense_dot(x, x, n)); }

/* All residuals at the present point; returns their size. */
static double residual(const struct solver *v)
{
    const struct svm_point *at = &v->now;
    stationarity(v, at, true);
    sums(v, at);
    for (size_t i = 0; i < v->n; i++) v->rz[i] = at->x[i] + at->s[i] - v->bound[i];
    return length(v->ry, v->rows) + length(v->rz, v->n) + length(v->rx, v->n) + fabs(dense_dot(at->s, at->z, v->n));
}

static double lowest(const double *x, size_t n)
{
    double low = INFINITY;
    for (size_t i = 0; i < n; i++) low = fmin(low, x[i]);
    return low;
}

static void lift(double *x, size_t n)
{
    const double low = lowest(x, n);
    for (size_t i = 0; low < 0 && i < n; i++) x[i] += 1 - low;
}

/* Every slack and multiplier is positive from here on. */
static status begin(struct solver *v)
{
    struct step start = {v->now.x, v->now.s, v->now.z, v->now.y};
    for (size_t i = 0; i < v->n; i++) {
        v->d[i] = 1;
        v->rz[i] = -v->bound[i];
    }
    const status st = factor(&v->system, v->d, NULL);
    if (st != OK) return st;
    direction(&v->system, v->d, (const double *const[]){v->linear, v->none, v->rz, v->none}, v->rhs, &start);
    lift(v->now.s, v->n);
    lift(v->now.z, v->n);
    return OK;
}

/* The longest step that keeps both from falling below 0; INFINITY: any. */
static double longest(const struct solver *v, const struct step *by)
{
    double most = INFINITY;
    for (size_t i = 0; i < v->n; i++) {
        if (by->z[i] < 0) most = fmin(most, -v->now.z[i] / by->z[i]);
        if (by->s[i] < 0) most = fmin(most, -v->now.s[i] / by->s[i]);
    }
    return most;
}

static status advance(struct solver *v)
{
    struct svm_point *at = &v->now;
    struct step *a = &v->affine, *c = &v->corrector;
    const double gap = dense_dot(at->s, at->z, v->n), mu = fabs(gap) / (double)v->n;
    double left = 0;
    for (size_t i = 0; i < v->n; i++) v->d[i] = at->z[i] / at->s[i];
    const status st = factor(&v->system, v->d, NULL);
    if (st != OK) return st;
    direction(&v->system, v->d, (const double *const[]){v->rx, at->z, v->rz, v->ry}, v->rhs, a);
    const double reach = fmin(1, longest(v, a));
    for (size_t i = 0; i < v->n; i++) left += (at->s[i] + reach * a->s[i]) * (at->z[i] + reach * a->z[i]);
    const double sigma = pow(left / gap, 3);
    for (size_t i = 0; i < v->n; i++) v->rs[i] = (-mu * sigma + a->s[i] * a->z[i]) / at->s[i];
    direction(&v->system, v->d, (const double *const[]){v->none, v->rs, v->none, v->none}, v->rhs, c);
    for (size_t i = 0; i < v->n; i++) {
        a->x[i] += c->x[i];
        a->s[i] += c->s[i];
        a->z[i] += c->z[i];
    }
    dense_add(1, c->y, v->rows, a->y);
    const double step = fmin(1, 0.999 * longest(v, a));
    dense_add(step, a->x, v->n, at->x);
    dense_add(step, a->s, v->n, at->s);
    dense_add(step, a->z, v->n, at->z);
    dense_add(step, a->y, v->rows, at->y);
    return OK;
}

static void remember(const struct solver *v, struct svm_point *best)
{
    memcpy(best->x, v->now.x, v->n * sizeof *best->x);
    memcpy(best->s, v->now.s, v->n * sizeof *best->s);
    memcpy(best->z, v->now.z, v->n * sizeof *best->z);
    memcpy(best->y, v->now.y, v->rows * sizeof *best->y);
}

/* The best of the start and the points behind it. The point after the last step is not judged, as in qpth. */
static status iterate(struct solver *v, size_t steps, struct svm_point *best)
{
    status st = OK;
    double least = INFINITY;
    TRY(begin(v));
    for (size_t i = 0; i < steps; i++) {
        const double size = residual(v);
        if (!isfinite(size) && i) break; /* past what double can tell apart */
        if (size < least) remember(v, best);
        else if (least < 1e-9) break;
        least = fmin(least, size);
        if (size < enough || lowest(v->now.s, v->n) <= 0 || lowest(v->now.z, v->n) <= 0) break;
        if (i + 1 < steps) {
            st = advance(v);
            if (st != OK && least < 1e-6) { /* the weights d have left the range of double: near enough */
                st = OK;
                break;
            }
            TRY(st);
        }
    }
    if (!isfinite(least)) st = fail(ST_NUMERIC, "the kernel has numbers that are not finite");
done:
    return st;
}

/* Solves with the held numbers at their bounds; *moved tells that some had to be held or let go. */
static status hold(struct solver *v, struct svm_point *at, bool *moved)
{
    status st = OK;
    const double slack = 1e-10 * v->p->settings.c;
    for (size_t i = 0; i < v->n; i++)
        if (at->held[i]) at->x[i] = v->bound[i];
    TRY(factor(&v->system, NULL, at->held));
    memset(at->y, 0, v->rows * sizeof *at->y);
    stationarity(v, at, false);
    sums(v, at);
    for (size_t i = 0; i < v->n; i++) v->rhs[i] = at->held[i] ? 0 : -v->rx[i];
    solve(&v->system, at->held, v->rhs, v->ry, v->affine.x, at->y);
    dense_add(1, v->affine.x, v->n, at->x);
    stationarity(v, at, false);
    *moved = false;
    for (size_t i = 0; i < v->n; i++) {
        at->z[i] = at->held[i] ? -v->rx[i] : 0;
        at->s[i] = v->bound[i] - at->x[i];
        const bool wrong = at->held[i] ? at->z[i] < -1e-10 : at->s[i] < -slack;
        if (wrong) at->held[i] = !at->held[i];
        *moved = *moved || wrong;
    }
done:
    return st;
}

/* From the interior point's answer to the exact one: which bounds hold is known by now. Where that does not settle, at
 * ties, the interior point's answer stays. */
static status polish(struct solver *v, struct svm_point *best)
{
    status st = OK;
    bool moved = true;
    struct svm_point at = v->now;
    at.held = best->held;
    for (size_t i = 0; i < v->n; i++) {
        at.held[i] = best->z[i] > best->s[i];
        at.x[i] = best->x[i];
    }
    for (int i = 0; i < MOST_REPAIRS && moved; i++) TRY(hold(v, &at, &moved));
    if (!moved) remember(v, best);
    best->exact = !moved;
done:
    return st;
}

status svm_solve(tape *t, const struct svm_problem *p, struct svm_point *out)
{
    status st = OK;
    struct solver v;
    void *held;
    double **const long_ones[] = {&out->x, &out->s, &out->z};
    *out = (struct svm_point){0};
    TRY(solver_new(t, p, &v));
    TRY(take(t, 3, v.n, long_ones));
    TRY(host_zeros(t, v.rows, &out->y));
    TRY(tape_host(t, size_max(1, v.n), &held));
    out->held = held;
    TRY(iterate(&v, p->settings.iterations ? (size_t)p->settings.iterations : MOST_STEPS, out));
    if (!p->settings.iterations) TRY(polish(&v, out));
done:
    return st;
}

status svm_derivative(tape *t, const struct svm_problem *p, const struct svm_point *at, const double *g, double **d)
{
    status st = OK;
    struct system s;
    double *weight, *rhs, *y;
    const unsigned char *held = at->exact ? at->held : NULL;
    TRY(system_new(t, p, &s));
    TRY(host_zeros(t, s.n, &weight));
    TRY(host_zeros(t, s.n, &rhs));
    TRY(host_zeros(t, s.n, d));
    TRY(host_zeros(t, p->rows, &y));
    for (size_t i = 0; i < s.n; i++) {
        weight[i] = at->exact ? 0 : fmax(at->z[i], 1e-8) / fmax(at->s[i], 1e-8);
        rhs[i] = is_held(held, i) ? 0 : -g[i];
    }
    TRY(factor(&s, weight, held));
    solve(&s, held, rhs, NULL, *d, y);
done:
    return st;
}
