/* walk.c - the passes over one query's similarities: scale and maxima, the two softmaxes, the derivative.
 *
 * The matrix [rq, m] lies in the second-level cache; each pass reads it once. Column sums are kept in memory beside
 * the pass (m numbers: first-level cache), row sums in registers. */
#include "cpu/simd/vec.h"
#include <math.h>

void K(walk_scale)(real *phi, size_t step, size_t rq, size_t m, const real *row, real *row_max, real *column_max)
{
    const size_t whole = m / V * V, rest = m - whole;
    const vec least = vec_set(-REAL_MAX);
    for (size_t j = 0; j < m; j++) column_max[j] = -REAL_MAX;
    for (size_t i = 0; i < rq; i++, phi += step) {
        const vec scale = vec_set(row[i]);
        vec largest = least;
        for (size_t j = 0; j < whole; j += V) {
            const vec x = vec_mul(vec_load(phi + j), scale);
            vec_store(phi + j, x);
            largest = vec_max(largest, x);
            vec_store(column_max + j, vec_max(vec_load(column_max + j), x));
        }
        if (rest) {
            const vec x = vec_mul(vec_load_part(phi + whole, rest), scale);
            const vec top = vec_max(vec_load_part(column_max + whole, rest), x);
            vec_store_part(phi + whole, x, rest);
            vec_store_part(column_max + whole, top, rest);
            largest = vec_max(largest, vec_first_or(x, least, rest));
        }
        row_max[i] = vec_max_all(largest);
    }
}

/* Both softmaxes of one row's vector: the numerator of the row softmax is returned, the column one is added up. */
static inline vec exp_both(vec x, vec gamma, vec beta, vec row_max, const real *column_max, size_t lanes, real *eb,
                           real *column_sum)
{
    if (eb) {
        const vec b = vec_exp(vec_mul(beta, vec_sub(x, vec_load_some(column_max, lanes))));
        vec_store_some(eb, b, lanes);
        vec_store_some(column_sum, vec_add(vec_load_some(column_sum, lanes), b), lanes);
    }
    return vec_exp(vec_mul(gamma, vec_sub(x, row_max)));
}

void K(walk_exp)(const real *phi, size_t step, size_t rq, size_t m, real gamma, real beta, const real *row_max,
                 const real *column_max, real *ea, real *eb, real *row_inverse, real *column_inverse)
{
    const vec g = vec_set(gamma), b = vec_set(beta);
    if (eb)
        for (size_t j = 0; j < m; j++) column_inverse[j] = 0;
    for (size_t i = 0; i < rq; i++) {
        const size_t at = i * step;
        const vec top = vec_set(row_max[i]);
        vec sum = vec_set(0);
        for (size_t j = 0; j < m; j += V) {
            const size_t lanes = m - j;
            const vec x = vec_load_some(phi + at + j, lanes);
            const vec a = exp_both(x, g, b, top, column_max + j, lanes, eb ? eb + at + j : 0, column_inverse + j);
            vec_store_some(ea + at + j, a, lanes);
            sum = vec_add(sum, lanes >= V ? a : vec_load_part(ea + at + j, lanes)); /* lanes outside count as 0 */
        }
        row_inverse[i] = 1 / vec_sum(sum);
    }
    if (eb)
        for (size_t j = 0; j < m; j++) column_inverse[j] = 1 / column_inverse[j];
}

struct grad_row { /* one row's numbers, in all lanes */
    vec a, l, m, g, scale;
};

static inline vec grad_part(const struct grad_row *r, const struct walk_grad_vectors *v, vec ea, vec eb,
                            bool walks_back, size_t j, size_t lanes)
{
    const vec cv = vec_load_some((const real *)v->column_v + j, lanes);
    vec d = vec_mul(vec_mul(r->a, ea), vec_sub(cv, r->l));
    if (!walks_back) return d;
    const vec cz = vec_load_some((const real *)v->column_z + j, lanes),
              ct = vec_load_some((const real *)v->column_t + j, lanes);
    vec back = vec_mul(cz, vec_sub(r->m, ct));
    if (v->column_y) {
        const vec cy = vec_load_some((const real *)v->column_y + j, lanes),
                  cs = vec_load_some((const real *)v->column_s + j, lanes);
        back = vec_fma(cy, vec_sub(r->g, cs), back);
    }
    return vec_fma(eb, back, d);
}

void K(walk_grad)(real *phi, size_t step, size_t rq, size_t m, const real *ea, const real *eb,
                  const struct walk_grad_vectors *v, real *row_dot)
{
    for (size_t i = 0; i < rq; i++) {
        const struct grad_row r = {vec_set(((const real *)v->row_a)[i]), vec_set(((const real *)v->row_l)[i]),
                                   vec_set(eb ? ((const real *)v->row_m)[i] : 0),
                                   vec_set(v->column_y ? ((const real *)v->row_g)[i] : 0),
                                   vec_set(((const real *)v->row_scale)[i])};
        vec dot = vec_set(0);
        for (size_t j = 0; j < m; j += V) {
            const size_t at = i * step + j, lanes = m - j;
            const vec x = vec_load_some(phi + at, lanes), b = eb ? vec_load_some(eb + at, lanes) : x;
            const vec d = grad_part(&r, v, vec_load_some(ea + at, lanes), b, eb != NULL, j, lanes);
            dot = vec_fma(x, d, dot);
            vec_store_some(phi + at, vec_mul(d, r.scale), lanes);
        }
        row_dot[i] = vec_sum(dot);
    }
}
