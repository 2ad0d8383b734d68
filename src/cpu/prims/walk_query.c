/* walk_query.c - one query: similarities, the two softmaxes, the walk, and what the caller wants to know of it.
 *
 * Everything after the matrix product works on [rq, m] matrices that are still in the second-level cache. */
#include "cpu/prims/walk.h"
#include <math.h>

void R(walk_query_layout)(const struct R(walk) *w, struct cursor *c, struct R(walk_query) *q)
{
    const size_t matrix = w->rq * w->step, rq = w->rq, m = w->step;
    q->phi = cursor_reals(c, w->group * matrix); /* of a group: it becomes d phi, which is used for all at once */
    q->ea = cursor_reals(c, matrix);
    q->eb = w->walks_back ? cursor_reals(c, matrix) : NULL;
    real **rows[] = {&q->inverse, &q->row_max, &q->row_inverse, &q->first, &q->w,
                     &q->row_a,   &q->before,  &q->row_b,       &q->row_c};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) *rows[i] = cursor_reals(c, rq);
    real **columns[] = {&q->column_max, &q->column_inverse, &q->pi_support, &q->column_a,
                        &q->column_b,   &q->column_c,       &q->column_d};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) *columns[i] = cursor_reals(c, m);
    q->basis = cursor_reals(c, (WALK_KRYLOV_STEPS + 1) * rq);
    q->g = cursor_reals(c, rq * rq);
    q->pivot = cursor_take(c, rq, sizeof(int));
    q->panels = cursor_reals(c, w->m * (rq + w->k->gemm_width));
    q->d_query = w->differentiates ? cursor_reals(c, rq * w->channel_step) : NULL;
    q->tiled = w->differentiates ? cursor_reals(c, WALK_TILED * rq) : NULL;
    q->large = cursor_reals(c, R(walk_large_count)(w));
    q->wide = cursor_reals(c, R(walk_direct_count)(w));
}

static void similarities(const struct R(walk) *w, struct R(walk_query) *q)
{
    const real *query = reals(w->args->query) + q->n * w->channels * w->rq;
    const size_t width = w->k->gemm_width;
    w->k->inverse_norms(query, w->rq, w->channels, w->rq, q->inverse);
    w->k->gemm(w->rq, w->m, w->channels, query, 1, w->rq, w->forward_panels, width, w->channels * width, q->phi,
               w->step, false);
    w->k->walk_scale(q->phi, w->step, w->rq, w->m, q->inverse, q->row_max, q->column_max);
    w->k->walk_exp(q->phi, w->step, w->rq, w->m, (real)w->args->gamma, (real)w->args->beta, q->row_max, q->column_max,
                   q->ea, q->eb, q->row_inverse, q->column_inverse);
}

/* Where the walk begins: (1 + a B 1) / (rq + a m), which sums to 1. */
static void beginning(const struct R(walk) *w, struct R(walk_query) *q)
{
    const double a = w->args->alpha, total = (double)w->rq + a * (double)w->m;
    if (a > 0) w->k->rows_dot(q->eb, w->step, w->rq, w->m, q->column_inverse, q->first);
    for (size_t i = 0; i < w->rq; i++) q->first[i] = (real)((1 + (a > 0 ? a * (double)q->first[i] : 0)) / total);
}

double R(walk_mass)(const struct R(walk) *w, const struct R(walk_query) *q, size_t class_index)
{
    double mass = 0;
    for (size_t j = class_index * w->rs; j < (class_index + 1) * w->rs; j++) mass += (double)q->pi_support[j];
    return mass;
}

/* A weight that is 0 in this precision counts as this: products with its inverse must stay numbers. */
static const double LEAST_WEIGHT = sizeof(real) == sizeof(float) ? 1e-30 : 1e-100;

/* ln of a class's mass straight from the similarities, for masses too small to be represented:
 * ln sum_q w[q] sum_{j in class} exp(gamma (phi - row_max)) / row_sum, by logarithms of sums of exponentials. */
static double log_mass_far(const struct R(walk) *w, const struct R(walk_query) *q, size_t class_index)
{
    double top = -INFINITY, sum = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < w->rq; i++) {
            const double outer = log(fmax((double)q->w[i], LEAST_WEIGHT)) + log((double)q->row_inverse[i]);
            const real *row = q->phi + i * w->step + class_index * w->rs;
            for (size_t j = 0; j < w->rs; j++) {
                const double e = outer + w->args->gamma * ((double)row[j] - (double)q->row_max[i]);
                if (pass == 0) top = fmax(top, e);
                else sum += exp(e - top);
            }
        }
    return top + log(sum);
}

double R(walk_other_mass)(const struct R(walk) *w, const struct R(walk_query) *q, size_t class_index)
{
    double mass = 0;
    for (size_t j = 0; j < w->m; j++)
        if (j < class_index * w->rs || j >= (class_index + 1) * w->rs) mass += (double)q->pi_support[j];
    return mass;
}

/* A mass near 1 is told by what the others have: 1 - mass would lose its digits. */
double R(walk_log_mass)(const struct R(walk) *w, const struct R(walk_query) *q, size_t class_index)
{
    const double mass = R(walk_mass)(w, q, class_index);
    if (mass > 0.5) return -log1p(R(walk_other_mass)(w, q, class_index) / mass);
    return mass > 1e-30 ? log(mass) : log_mass_far(w, q, class_index);
}

/* pi(q) = B ((1 - a^2) 1 + a (rq + a m) pi(S)) / (m + a rq) */
static void query_centrality(const struct R(walk) *w, struct R(walk_query) *q, real *out)
{
    const double a = (double)w->alpha, rq = (double)w->rq, m = (double)w->m;
    const real start = (real)((1 - a * a) / (m + a * rq)), walked = (real)(a * (rq + a * m) / (m + a * rq));
    w->k->affine(q->pi_support, walked, start, q->column_a, w->m);
    w->k->mul(q->column_a, q->column_inverse, q->column_a, w->m);
    w->k->rows_dot(q->eb, w->step, w->rq, w->m, q->column_a, out);
}

static void report(const struct R(walk) *w, struct R(walk_query) *q)
{
    const struct walk_args *a = w->args;
    for (size_t c = 0; c < w->way; c++) {
        if (a->prob) reals(a->prob)[q->n * w->way + c] = (real)R(walk_mass)(w, q, c);
        if (a->log_prob) reals(a->log_prob)[q->n * w->way + c] = (real)R(walk_log_mass)(w, q, c);
    }
    if (a->pi_support)
        for (size_t j = 0; j < w->m; j++) reals(a->pi_support)[q->n * w->m + j] = q->pi_support[j];
    if (a->pi_query) query_centrality(w, q, reals(a->pi_query) + q->n * w->rq);
    if (w->losses) w->losses[q->n] = -R(walk_log_mass)(w, q, (size_t)ints(a->labels)[q->n]);
}

status R(walk_query_forward)(const struct R(walk) *w, struct R(walk_query) *q)
{
    status st = OK;
    q->factored = q->has_pi_support = false;
    similarities(w, q);
    beginning(w, q);
    TRY(R(walk_solve)(w, q));
    if (!q->has_pi_support) {
        w->k->mul(q->w, q->row_inverse, q->row_a, w->rq);
        w->k->columns_dot(q->ea, w->step, w->rq, w->m, q->row_a, q->pi_support);
    }
    report(w, q);
done:
    return st;
}
