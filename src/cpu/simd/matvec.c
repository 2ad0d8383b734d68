/* matvec.c - a matrix times a vector from either side, and the norms of columns: the memory-bound inner loops.
 *
 * Four rows are taken at once, so that the vector that runs along the columns is loaded once for all four. */
#include "cpu/simd/vec.h"
#include "cpu/norm.h"

/* y += four rows of e, each times its number */
static inline void add_four_rows(const real *e, size_t e_row, size_t columns, const real *v, real *y)
{
    const vec v0 = vec_set(v[0]), v1 = vec_set(v[1]), v2 = vec_set(v[2]), v3 = vec_set(v[3]);
    const real *e1 = e + e_row, *e2 = e1 + e_row, *e3 = e2 + e_row;
    for (size_t j = 0; j < columns; j += V) {
        const size_t lanes = columns - j;
        vec s = vec_load_some(y + j, lanes);
        s = vec_fma(v0, vec_load_some(e + j, lanes), s);
        s = vec_fma(v1, vec_load_some(e1 + j, lanes), s);
        s = vec_fma(v2, vec_load_some(e2 + j, lanes), s);
        s = vec_fma(v3, vec_load_some(e3 + j, lanes), s);
        vec_store_some(y + j, s, lanes);
    }
}

void K(columns_dot)(const real *e, size_t e_row, size_t rows, size_t columns, const real *v, real *y)
{
    for (size_t j = 0; j < columns; j++) y[j] = 0;
    size_t i = 0;
    for (; i + 4 <= rows; i += 4) add_four_rows(e + i * e_row, e_row, columns, v + i, y);
    for (; i < rows; i++) K(axpy)(v[i], e + i * e_row, y, columns);
}

static inline void dot_four_rows(const real *e, size_t e_row, size_t columns, const real *v, real *y)
{
    const real *e1 = e + e_row, *e2 = e1 + e_row, *e3 = e2 + e_row;
    vec s0 = vec_set(0), s1 = s0, s2 = s0, s3 = s0;
    for (size_t j = 0; j < columns; j += V) {
        const size_t lanes = columns - j;
        const vec w = vec_load_some(v + j, lanes);
        s0 = vec_fma(vec_load_some(e + j, lanes), w, s0);
        s1 = vec_fma(vec_load_some(e1 + j, lanes), w, s1);
        s2 = vec_fma(vec_load_some(e2 + j, lanes), w, s2);
        s3 = vec_fma(vec_load_some(e3 + j, lanes), w, s3);
    }
    y[0] = vec_sum(s0);
    y[1] = vec_sum(s1);
    y[2] = vec_sum(s2);
    y[3] = vec_sum(s3);
}

void K(rows_dot)(const real *e, size_t e_row, size_t rows, size_t columns, const real *v, real *y)
{
    size_t i = 0;
    for (; i + 4 <= rows; i += 4) dot_four_rows(e + i * e_row, e_row, columns, v, y + i);
    for (; i < rows; i++) K(dot)(e + i * e_row, v, columns, y + i);
}

void K(inverse_norms)(const real *x, size_t x_row, size_t k, size_t n, real *out)
{
    for (size_t j = 0; j < n; j += 2 * V) { /* two sums at a time hide the latency of the additions */
        const size_t lanes = n - j, more = lanes > V ? lanes - V : 0;
        vec s0 = vec_set(0), s1 = s0;
        for (size_t p = 0; p < k; p++) {
            const vec a = vec_load_some(x + p * x_row + j, lanes);
            s0 = vec_fma(a, a, s0);
            if (more) {
                const vec b = vec_load_some(x + p * x_row + j + V, more);
                s1 = vec_fma(b, b, s1);
            }
        }
        vec_store_some(out + j, s0, lanes);
        if (more) vec_store_some(out + j + V, s1, more);
    }
    for (size_t j = 0; j < n; j++) out[j] = norm_inverse((double)out[j], x + j, x_row, k);
}
