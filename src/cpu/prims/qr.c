/* qr.c - thin QR by Householder reflections, with r's diagonal made non-negative.
 *
 * The work is done on the transposed matrix, so that columns are contiguous. Reflector j is I - beta v v^T with v in
 * column j below (and on) the diagonal. A column that vanishes gets no reflector and 0 on r's diagonal; q is
 * orthonormal all the same. */
#include "cpu/prims/matrix.h"
#include <float.h>
#include <math.h>
#include <string.h>

struct qr {
    struct device *d;
    const kernel_table *k;
    struct matrices a, q, r;
    size_t grain;
};

struct reflectors {    /* of one matrix */
    real *v;           /* [n, m] columns of a, becoming reflectors below the diagonal and r's columns above */
    real *q;           /* [n, m] columns of q */
    real *beta, *diag; /* [n] */
};

/* NaN if any is. */
static real largest(const real *x, size_t n)
{
    real top = 0;
    for (size_t i = 0; i < n; i++) {
        real size = x[i] < 0 ? -x[i] : x[i];
        if (size > top || size != size) top = size;
    }
    return top;
}

/* Makes x[n] the vector v that reflects it onto its first axis; *diag is what it becomes there. x is scaled to largest
 * element 1 first, so that squares neither overflow nor vanish. */
static real reflector(const kernel_table *k, real *x, size_t n, real *diag)
{
    real scale = largest(x, n), square;
    *diag = 0;
    if (scale < (real)(sizeof(real) == sizeof(float) ? FLT_MIN : DBL_MIN)) return 0;
    k->affine(x, 1 / scale, (real)-0.0, x, n);
    k->dot(x, x, n, &square);
    real norm = (real)sqrt((double)square), head = x[0];
    x[0] = head < 0 ? head - norm : head + norm; /* away from cancellation */
    *diag = (head < 0 ? norm : -norm) * scale;
    return 1 / (norm * (head < 0 ? norm - head : norm + head)); /* 2 / |v|^2 */
}

static void reflect(const kernel_table *k, const real *v, real beta, real *x, size_t n)
{
    real dot;
    k->dot(v, x, n, &dot);
    k->axpy(-beta * dot, v, x, n);
}

/* q's columns are unit vectors with the reflectors applied, last first; column j meets only those up to j. */
static void build_q(const kernel_table *k, const struct reflectors *w, size_t m, size_t n)
{
    memset(w->q, 0, n * m * sizeof *w->q);
    for (size_t j = 0; j < n; j++) {
        real *column = w->q + j * m;
        column[j] = 1;
        for (size_t i = j + 1; i-- > 0;) reflect(k, w->v + i * m + i, w->beta[i], column + i, m - i);
        if (w->diag[j] < 0) k->affine(column, -1, (real)-0.0, column, m);
    }
}

static void write_r(const struct reflectors *w, size_t m, size_t n, real *r)
{
    for (size_t i = 0; i < n; i++) {
        real sign = w->diag[i] < 0 ? -1 : 1;
        for (size_t j = 0; j < i; j++) r[i * n + j] = 0;
        r[i * n + i] = sign * w->diag[i];
        for (size_t j = i + 1; j < n; j++) r[i * n + j] = sign * w->v[j * m + i];
    }
}

static void qr_one(const kernel_table *k, const struct reflectors *w, size_t m, size_t n, const real *a, real *q,
                   real *r)
{
    k->transpose(m, n, a, n, w->v, m);
    for (size_t j = 0; j < n; j++) {
        real *v = w->v + j * m + j;
        w->beta[j] = reflector(k, v, m - j, &w->diag[j]);
        for (size_t l = j + 1; l < n; l++) reflect(k, v, w->beta[j], w->v + l * m + j, m - j);
    }
    build_q(k, w, m, n);
    write_r(w, m, n, r);
    k->transpose(n, m, w->q, m, q, n);
}

static size_t scratch_bytes(const struct qr *w) { return 2 * (w->q.rows + 1) * w->q.columns * sizeof(real); }

static status qr_piece(void *context, size_t piece, size_t worker)
{
    const struct qr *w = context;
    struct range range = piece_range(w->q.batch, w->grain, piece);
    size_t m = w->q.rows, n = w->q.columns;
    void *memory;
    status st = cpu_scratch(cpu_of(w->d), worker, scratch_bytes(w), &memory);
    if (st != OK) return st;
    real *at = memory;
    struct reflectors f = {at, at + m * n, at + 2 * m * n, at + 2 * m * n + n};
    for (size_t t = range.from; t < range.to; t++)
        qr_one(w->k, &f, m, n, matrix_at(&w->a, t), matrix_at(&w->q, t), matrix_at(&w->r, t));
    return OK;
}

status R(prim_qr)(struct device *d, const tensor *a, tensor *q, tensor *r)
{
    struct qr w = {d, KERNELS(d), matrices_of(a), matrices_of(q), matrices_of(r), 0};
    size_t m = w.q.rows, n = w.q.columns;
    w.grain = size_max(1, 8 * GRAIN / size_max(1, m * n * n));
    if (m == 0 || n == 0) return OK;
    const status st = cpu_reserve(cpu_of(d), scratch_bytes(&w));
    return st != OK ? st : pool_run(cpu_of(d)->threads, pieces_of(w.q.batch, w.grain), qr_piece, &w);
}
