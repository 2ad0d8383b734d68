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

/* One row after the other, as they lie: the processor's own prefetching keeps up. */
void K(rows_sum)(const real *x, size_t rows, size_t columns, real *y)
{
    for (size_t i = 0; i < rows; i++, x += columns) {
        vec s0 = vec_set(0), s1 = s0;
        size_t j = 0;
        for (; j + 2 * V <= columns; j += 2 * V) {
            s0 = vec_add(s0, vec_load(x + j));
            s1 = vec_add(s1, vec_load(x + j + V));
        }
        for (; j + V <= columns; j += V) s0 = vec_add(s0, vec_load(x + j));
        if (j < columns) s1 = vec_add(s1, vec_load_part(x + j, columns - j));
        y[i] = vec_sum(vec_add(s0, s1));
    }
}

/* The squares of one vector of columns, summed over k: four sums at a time hide the latency of the additions. */
static inline vec squares(const real *x, size_t x_row, size_t k, size_t lanes)
{
    vec s0 = vec_set(0), s1 = s0, s2 = s0, s3 = s0;
    size_t p = 0;
    for (; p + 4 <= k; p += 4, x += 4 * x_row) {
        const vec a = vec_load_some(x, lanes), b = vec_load_some(x + x_row, lanes);
        const vec c = vec_load_some(x + 2 * x_row, lanes), d = vec_load_some(x + 3 * x_row, lanes);
        s0 = vec_fma(a, a, s0);
        s1 = vec_fma(b, b, s1);
        s2 = vec_fma(c, c, s2);
        s3 = vec_fma(d, d, s3);
    }
    for (; p < k; p++, x += x_row) {
        const vec a = vec_load_some(x, lanes);
        s0 = vec_fma(a, a, s0);
    }
    return vec_add(vec_add(s0, s1), vec_add(s2, s3));
}

void K(inverse_norms)(const real *x, size_t x_row, size_t k, size_t n, real *out)
{
    for (size_t j = 0; j < n; j += V) {
        if (n - j >= V) vec_store(out + j, squares(x + j, x_row, k, V)); /* a constant: no masks in the loop */
        else vec_store_part(out + j, squares(x + j, x_row, k, n - j), n - j);
    }
    for (size_t j = 0; j < n; j++) out[j] = norm_inverse((double)out[j], x + j, x_row, k);
}
