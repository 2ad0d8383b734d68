/* walk.c - the specification of the passes over one query's similarities phi [rq, m]; see kernels.def. */
#include "cpu/portable/portable.h"
#include <math.h>

void K(walk_scale)(real *phi, size_t step, size_t rq, size_t m, const real *row, real *row_max, real *column_max)
{
    for (size_t i = 0; i < rq; i++) row_max[i] = -REAL_MAX;
    for (size_t j = 0; j < m; j++) column_max[j] = -REAL_MAX;
    for (size_t i = 0; i < rq; i++)
        for (size_t j = 0; j < m; j++) {
            const real x = phi[i * step + j] *= row[i];
            if (x > row_max[i]) row_max[i] = x;
            if (x > column_max[j]) column_max[j] = x;
        }
}

static void exp_rows(const real *phi, size_t step, size_t rq, size_t m, real gamma, const real *row_max, real *ea,
                     real *row_inverse)
{
    for (size_t i = 0; i < rq; i++) {
        double sum = 0;
        for (size_t j = 0; j < m; j++) {
            ea[i * step + j] = (real)exp((double)(gamma * (phi[i * step + j] - row_max[i])));
            sum += (double)ea[i * step + j];
        }
        row_inverse[i] = (real)(1 / sum);
    }
}

static void exp_columns(const real *phi, size_t step, size_t rq, size_t m, real beta, const real *column_max, real *eb,
                        real *column_inverse)
{
    for (size_t j = 0; j < m; j++) {
        double sum = 0;
        for (size_t i = 0; i < rq; i++) {
            eb[i * step + j] = (real)exp((double)(beta * (phi[i * step + j] - column_max[j])));
            sum += (double)eb[i * step + j];
        }
        column_inverse[j] = (real)(1 / sum);
    }
}

void K(walk_exp)(const real *phi, size_t step, size_t rq, size_t m, real gamma, real beta, const real *row_max,
                 const real *column_max, real *ea, real *eb, real *row_inverse, real *column_inverse)
{
    exp_rows(phi, step, rq, m, gamma, row_max, ea, row_inverse);
    if (eb) exp_columns(phi, step, rq, m, beta, column_max, eb, column_inverse);
}

/* The part of d that goes through eb: what stands beside eb[i, j] in kernels.def. */
static real walk_back(const struct walk_grad_vectors *v, size_t i, size_t j)
{
    const real *row_m = v->row_m, *row_g = v->row_g;
    const real *z = v->column_z, *t = v->column_t, *y = v->column_y, *s = v->column_s;
    const real back = z[j] * (row_m[i] - t[j]);
    return y ? back + y[j] * (row_g[i] - s[j]) : back;
}

void K(walk_grad)(real *phi, size_t step, size_t rq, size_t m, const real *ea, const real *eb,
                  const struct walk_grad_vectors *v, real *row_dot)
{
    const real *row_a = v->row_a, *row_l = v->row_l, *row_scale = v->row_scale, *column_v = v->column_v;
    for (size_t i = 0; i < rq; i++) {
        double dot = 0;
        for (size_t j = 0; j < m; j++) {
            const size_t at = i * step + j;
            real d = row_a[i] * ea[at] * (column_v[j] - row_l[i]);
            if (eb) d += eb[at] * walk_back(v, i, j);
            dot += (double)phi[at] * (double)d;
            phi[at] = row_scale[i] * d;
        }
        row_dot[i] = (real)dot;
    }
}
