/* walk_exact.c - the forms in which the paper and its released code solve the walk, kept to be compared with.
 *
 * full: the inverse of the whole (m + rq) matrix; block: the inverse of the rq block, with the m x m product that
 * the block formula asks for; qr and pinv: the stationary distribution as an overdetermined system. All give the same
 * numbers as walk_solve.c and none is faster. */
#include "cpu/prims/walk.h"
#include <float.h>
#include <math.h>

/* Inverts a matrix whose diagonal dominates its columns (I - a P with a < 1 does), in place and without pivoting. */
static void invert(const kernel_table *k, size_t n, real *a)
{
    for (size_t i = 0; i < n; i++) {
        real *top = a + i * n;
        const real p = 1 / top[i];
        top[i] = 1;
        k->affine(top, p, 0, top, n);
        for (size_t r = 0; r < n; r++) {
            if (r == i) continue;
            const real f = a[r * n + i];
            a[r * n + i] = 0;
            k->axpy(-f, top, a + r * n, n);
        }
    }
}

/* w from the row sums of the inverse: those of the query's rows are 1 + x_q, to which w is proportional. */
static void weights_from(const struct R(walk) *w, struct R(walk_query) *q, const real *rows, size_t n)
{
    double total = 0;
    for (size_t i = 0; i < w->rq; i++) {
        w->k->sum(rows + i * n, n, q->w + i);
        total += (double)q->w[i];
    }
    for (size_t i = 0; i < w->rq; i++) q->w[i] = (real)((double)q->w[i] / total);
}

static void full(const struct R(walk) *w, struct R(walk_query) *q)
{
    const size_t n = w->m + w->rq;
    real *t = q->large; /* I - a P, the support first */
    for (size_t i = 0; i < n * n; i++) t[i] = 0;
    for (size_t i = 0; i < n; i++) t[i * n + i] = 1;
    for (size_t i = 0; i < w->rq; i++)
        for (size_t j = 0; j < w->m; j++) {
            t[j * n + w->m + i] = -w->alpha * q->row_inverse[i] * q->ea[i * w->step + j];
            t[(w->m + i) * n + j] = -w->alpha * q->eb[i * w->step + j] * q->column_inverse[j];
        }
    invert(w->k, n, t);
    weights_from(w, q, t + w->m * n, n);
}

/* x_S = a^2 (A^T D^-1 B) 1 + a (A^T D^-1) 1 with D = I - a^2 B A^T */
static void block(const struct R(walk) *w, struct R(walk_query) *q)
{
    const size_t width = w->k->gemm_width, rq = w->rq, m = w->m;
    real *e = q->large, *f = e + m * rq, *packed = f + m * m;
    double total = 0;
    R(walk_two_steps)(w, q);
    for (size_t i = 0; i < rq; i++) {
        w->k->affine(q->g + i * rq, -w->a2, 0, q->g + i * rq, rq);
        q->g[i * rq + i] += 1;
    }
    invert(w->k, rq, q->g);
    w->k->rows_dot(q->g, rq, rq, rq, q->first, q->w);
    w->k->affine(q->w, 1 - w->a2, 0, q->w, rq);
    for (size_t i = 0; i < rq; i++) w->k->affine(q->g + i * rq, q->row_inverse[i], 0, q->g + i * rq, rq);
    w->k->gemm_pack(rq, rq, q->g, rq, 1, packed);
    w->k->gemm(m, rq, rq, q->ea, 1, w->step, packed, width, rq * width, e, rq, false);
    w->k->gemm_pack(rq, m, q->eb, w->step, 1, packed);
    w->k->gemm(m, m, rq, e, rq, 1, packed, width, rq * width, f, m, false);
    for (size_t j = 0; j < m; j++) {
        real through, out;
        w->k->sum(f + j * m, m, &through);
        w->k->sum(e + j * rq, rq, &out);
        q->pi_support[j] = w->a2 * through + w->alpha * out;
        total += (double)q->pi_support[j];
    }
    for (size_t j = 0; j < m; j++) q->pi_support[j] = (real)((double)q->pi_support[j] / total);
    q->has_pi_support = true;
}

/* A column of the system below this (its entries are of the order of 1) depends on the others: the stationary distribution
 * is not unique, and the deflated solver decides. */
#define DEPENDENT fmax(1e-12, 64 * (double)REAL_EPSILON)

/* The overdetermined system [(B A^T - I); 1^T] w = [0; 1], rows of rq numbers. */
static void overdetermined(const struct R(walk) *w, struct R(walk_query) *q, real *a)
{
    const size_t rq = w->rq;
    R(walk_two_steps)(w, q);
    for (size_t i = 0; i < rq * rq; i++) a[i] = q->g[i];
    for (size_t i = 0; i < rq; i++) a[i * rq + i] -= 1;
    for (size_t j = 0; j < rq; j++) a[rq * rq + j] = 1;
}

/* Least squares by Householder reflections, each applied to the rest of the rows and to the right-hand side. False when the
 * columns are not independent. */
static bool least_squares(const kernel_table *k, size_t rows, size_t n, real *a, real *b, real *v, real *t)
{
    for (size_t j = 0; j < n; j++) {
        double norm = 0, length = 0, along = 0;
        for (size_t i = j; i < rows; i++) {
            v[i] = a[i * n + j];
            norm += (double)v[i] * (double)v[i];
        }
        norm = sqrt(norm);
        if (norm <= DEPENDENT) return false;
        v[j] += (real)(v[j] < 0 ? -norm : norm);
        for (size_t i = j; i < rows; i++) {
            length += (double)v[i] * (double)v[i];
            along += (double)v[i] * (double)b[i];
        }
        k->columns_dot(a + j * n + j, n, rows - j, n - j, v + j, t + j);
        for (size_t i = j; i < rows; i++) {
            const real f = (real)(-2 * (double)v[i] / length);
            k->axpy(f, t + j, a + i * n + j, n - j);
            b[i] += (real)((double)f * along);
        }
    }
    for (size_t i = n; i-- > 0;) {
        real sum;
        k->dot(a + i * n + i + 1, b + i + 1, n - i - 1, &sum);
        b[i] = (b[i] - sum) / a[i * n + i];
    }
    return true;
}

static status by_qr(const struct R(walk) *w, struct R(walk_query) *q)
{
    const size_t rq = w->rq, rows = rq + 1;
    real *a = q->large, *b = a + rows * rq, *v = b + rows, *t = v + rows;
    overdetermined(w, q, a);
    for (size_t i = 0; i < rq; i++) b[i] = 0;
    b[rq] = 1;
    if (!least_squares(w->k, rows, rq, a, b, v, t)) return R(walk_solve_deflated)(w, q);
    for (size_t i = 0; i < rq; i++) q->w[i] = b[i];
    return OK;
}

static double dot(const double *x, const double *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

static void rotate(double *x, double *y, size_t n, double cosine, double sine)
{
    for (size_t i = 0; i < n; i++) {
        const double a = x[i], b = y[i];
        x[i] = cosine * a - sine * b;
        y[i] = sine * a + cosine * b;
    }
}

/* One-sided Jacobi: rotates pairs of columns (here: rows of `u`, each a column of the matrix) until all are orthogonal, and
 * the same in `v`. Returns whether this sweep still changed something. */
static bool jacobi_sweep(size_t n, size_t length, double *u, double *v)
{
    bool changed = false;
    for (size_t i = 0; i + 1 < n; i++)
        for (size_t j = i + 1; j < n; j++) {
            double *x = u + i * length, *y = u + j * length;
            const double xx = dot(x, x, length), yy = dot(y, y, length), xy = dot(x, y, length);
            if (fabs(xy) <= 4 * DBL_EPSILON * sqrt(xx * yy)) continue;
            const double z = (yy - xx) / (2 * xy), tangent = (z < 0 ? -1 : 1) / (fabs(z) + sqrt(1 + z * z));
            const double cosine = 1 / sqrt(1 + tangent * tangent), sine = cosine * tangent;
            rotate(x, y, length, cosine, sine);
            rotate(v + i * n, v + j * n, n, cosine, sine);
            changed = true;
        }
    return changed;
}

/* w = the last column of the pseudo-inverse: sum over singular values s of v (u . e_last) / s. In double whatever the type:
 * the squares of small singular values would drown in single precision. */
static status by_pinv(const struct R(walk) *w, struct R(walk_query) *q)
{
    const size_t rq = w->rq, length = rq + 1;
    real *a = q->large;
    double *u = (double *)(void *)(a + size_round_up(length * rq, 16)), *v = u + length * rq;
    overdetermined(w, q, a);
    for (size_t i = 0; i < rq; i++)
        for (size_t p = 0; p < length; p++) u[i * length + p] = (double)a[p * rq + i];
    for (size_t i = 0; i < rq * rq; i++) v[i] = i % (rq + 1) == 0;
    for (int sweep = 0; sweep < 40 && jacobi_sweep(rq, length, u, v); sweep++) {}
    for (size_t i = 0; i < rq; i++) q->w[i] = 0;
    for (size_t i = 0; i < rq; i++) {
        const double square = dot(u + i * length, u + i * length, length); /* of the singular value */
        if (sqrt(square) <= DEPENDENT) return R(walk_solve_deflated)(w, q);
        for (size_t p = 0; p < rq; p++) q->w[p] = (real)((double)q->w[p] + u[i * length + rq] / square * v[i * rq + p]);
    }
    return OK;
}

size_t R(walk_large_count)(const struct R(walk) *w)
{
    const size_t n = w->m + w->rq, rq = w->rq, width = w->k->gemm_width;
    switch (w->args->solver) {
    case WALK_FULL: return n * n;
    case WALK_BLOCK: return w->m * (rq + w->m) + rq * (n + width);
    case WALK_QR: return (rq + 1) * (rq + 2) + rq;
    case WALK_PINV: return size_round_up((rq + 1) * rq, 16) + (2 * rq + 1) * rq * (sizeof(double) / sizeof(real));
    default: return 0;
    }
}

status R(walk_solve_slow)(const struct R(walk) *w, struct R(walk_query) *q)
{
    switch (w->args->solver) {
    case WALK_FULL: full(w, q); break;
    case WALK_BLOCK: block(w, q); break;
    case WALK_QR: return by_qr(w, q);
    default: return by_pinv(w, q);
    }
    return OK;
}
