/* walk_backward.c - the derivative of the walk in closed form (docs/mcl.md, "Backward").
 *
 * With cotangents gS on pi(S) and gq on pi(q):  v0 = gS + k1 B^T gq,  G^T lam = A v0,  t = B^T lam,  v = v0 + a^2 t, and
 *   d phi = gamma w A (v - lam - mu) + beta B (z (lam - t) + z' (gq - B^T gq)),
 * so one more small solve and a few matrix-vector products give d phi, which overwrites phi. The features' gradients are
 * two matrix products, with the normalisation's own derivative added: d x = (d xhat - xhat (xhat . d xhat)) / |x|. */
#include "cpu/prims/walk.h"
#include <math.h>

/* A loss whose class has a mass below this is differentiated in logarithms (only f32 with gamma > 44 gets there). */
static const double LEAST_MASS = 1e-30;

struct far_label { /* the label's class is too unlikely to divide by its mass */
    bool is;
    size_t label;
    double log_mass;
};

/* gS, centred so that pi(S) . gS = 0: the derivative does not change and the solve stays small. */
static void centre(const struct R(walk) *w, const struct R(walk_query) *q, real *gs)
{
    double mean = 0;
    for (size_t j = 0; j < w->m; j++) mean += (double)q->pi_support[j] * (double)gs[j];
    w->k->affine(gs, 1, (real)-mean, gs, w->m);
}

static void cotangent_of_classes(const struct R(walk) *w, const struct R(walk_query) *q, real *gs)
{
    const struct walk_args *a = w->args;
    for (size_t c = 0; c < w->way; c++) {
        double g = 0;
        if (a->d_prob) g += (double)reals(a->d_prob)[q->n * w->way + c];
        if (a->d_log_prob)
            g += (double)reals(a->d_log_prob)[q->n * w->way + c] / fmax(R(walk_mass)(w, q, c), LEAST_MASS);
        for (size_t i = 0; i < w->rs; i++) gs[c * w->rs + i] = (real)g;
    }
    if (a->d_pi_support) w->k->add(gs, reals(a->d_pi_support) + q->n * w->m, gs, w->m);
}

/* For the mean negative log likelihood the centred cotangent is known: 1 - 1/mass on the label's class, 1 elsewhere. */
static struct far_label cotangent_of_label(const struct R(walk) *w, const struct R(walk_query) *q, real *gs)
{
    struct far_label far = {.label = (size_t)ints(w->args->labels)[q->n]};
    const double mass = R(walk_mass)(w, q, far.label), scale = 1 / (double)w->nq;
    far.is = !(mass > LEAST_MASS) && mass == mass;
    for (size_t j = 0; j < w->m; j++) gs[j] = (real)scale;
    if (far.is) {
        far.log_mass = R(walk_log_mass)(w, q, far.label);
        return far;
    }
    const double others = R(walk_other_mass)(w, q,
                                             far.label); /* 1 - 1/mass is minus this over mass, with all its digits */
    for (size_t i = 0; i < w->rs; i++) gs[far.label * w->rs + i] = (real)(-scale * others / mass);
    return far;
}

/* A / (mass nq) of the label's class at query feature i, location j of the class: in logarithms, so that it exists although
 * both numbers are too small to be represented. */
static double far_entry(const struct R(walk) *w, const struct R(walk_query) *q, const struct far_label *far, size_t i,
                        size_t j)
{
    const double phi = (double)q->phi[i * w->step + far->label * w->rs + j];
    const double log_a = log((double)q->row_inverse[i]) + w->args->gamma * (phi - (double)q->row_max[i]);
    return exp(log_a - far->log_mass) / (double)w->nq;
}

/* The label's part of u = A v0. */
static void far_rows(const struct R(walk) *w, const struct R(walk_query) *q, const struct far_label *far, real *u)
{
    for (size_t i = 0; i < w->rq; i++) {
        double sum = 0;
        for (size_t j = 0; j < w->rs; j++) sum += far_entry(w, q, far, i, j);
        u[i] -= (real)sum;
    }
}

/* The label's columns of ea become the whole first term of d phi there, -gamma w A / (mass nq); A is no longer needed. */
static void far_columns(const struct R(walk) *w, struct R(walk_query) *q, const struct far_label *far)
{
    for (size_t i = 0; i < w->rq; i++)
        for (size_t j = 0; j < w->rs; j++)
            q->ea[i * w->step + far->label * w->rs + j] = (real)(-w->args->gamma * (double)q->w[i] *
                                                                 far_entry(w, q, far, i, j));
}

/* d phi over the columns [from, to); row_dot is added to. */
static void d_phi_columns(const struct R(walk) *w, struct R(walk_query) *q, struct walk_grad_vectors v, const real *eb,
                          size_t from, size_t to, real *row_dot)
{
    const void **columns[] = {&v.column_v, &v.column_z, &v.column_t, &v.column_y, &v.column_s};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (*columns[i]) *columns[i] = (const real *)*columns[i] + from;
    w->k->walk_grad(q->phi + from, w->step, w->rq, to - from, q->ea + from, eb ? eb + from : NULL, &v, q->tiled);
    w->k->add(row_dot, q->tiled, row_dot, w->rq);
}

static void d_phi(const struct R(walk) *w, struct R(walk_query) *q, struct walk_grad_vectors v, const real *eb,
                  const struct far_label *far, real *row_dot)
{
    for (size_t i = 0; i < w->rq; i++) row_dot[i] = 0;
    if (!far->is) {
        d_phi_columns(w, q, v, eb, 0, w->m, row_dot);
        return;
    }
    const size_t from = far->label * w->rs, to = from + w->rs;
    struct walk_grad_vectors own = v; /* on the label's columns ea holds the whole first term */
    far_columns(w, q, far);
    for (size_t i = 0; i < w->rq; i++) q->row_inverse[i] = 1, q->row_max[i] = 0;
    for (size_t j = 0; j < w->m; j++) q->pi_support[j] = 1;
    own.row_a = q->row_inverse;
    own.row_l = q->row_max;
    own.column_v = q->pi_support;
    d_phi_columns(w, q, v, eb, 0, from, row_dot);
    d_phi_columns(w, q, own, eb, from, to, row_dot);
    d_phi_columns(w, q, v, eb, to, w->m, row_dot);
}

/* The vectors of d phi from lam (row_c), v0 (column_b) and B^T gq (column_d). */
static struct walk_grad_vectors vectors(const struct R(walk) *w, struct R(walk_query) *q, const real *gq)
{
    const double a = (double)w->alpha, rq = (double)w->rq, m = (double)w->m, beta = w->args->beta;
    double sum = 0;
    for (size_t i = 0; i < w->rq; i++) sum += (double)q->row_c[i];
    const real mu = (real)((double)w->a2 / rq * sum);
    for (size_t i = 0; i < w->rq; i++) {
        q->row_a[i] = (real)w->args->gamma * q->w[i] * q->row_inverse[i];
        q->row_b[i] = q->row_c[i] + mu;
    }
    struct walk_grad_vectors v = {
        .row_a = q->row_a, .row_l = q->row_b, .row_m = q->row_c, .row_scale = q->inverse, .column_v = q->column_b};
    if (w->alpha > 0 || gq) {
        w->k->columns_dot(q->eb, w->step, w->rq, w->m, q->row_c, q->column_c);
        w->k->mul(q->column_c, q->column_inverse, q->column_c, w->m);
        w->k->axpy(w->a2, q->column_c, q->column_b, w->m);
        w->k->affine(q->pi_support, (real)(beta * a * a), (real)(beta * a * (1 - a * a) / (rq + a * m)), q->column_a,
                     w->m);
        w->k->mul(q->column_a, q->column_inverse, q->column_a, w->m);
        v.column_z = q->column_a;
        v.column_t = q->column_c;
    }
    if (gq) {
        const double over = beta / (m + a * rq);
        w->k->affine(q->pi_support, (real)(over * a * (rq + a * m)), (real)(over * (1 - a * a)), q->column_max, w->m);
        w->k->mul(q->column_max, q->column_inverse, q->column_max, w->m);
        v.column_y = q->column_max;
        v.column_s = q->column_d;
        v.row_g = gq;
    }
    return v;
}

/* d query [C, rq] = (d phi' support^T)^T - query inverse^2 row_dot, where d phi' carries the query's inverse norms. */
static void d_query(const struct R(walk) *w, struct R(walk_query) *q, const real *row_dot)
{
    const size_t width = w->k->gemm_width, each = w->channels * w->rq;
    const real *query = reals(w->args->query) + q->n * each;
    real *out = reals(w->args->d_query) + q->n * each;
    w->k->gemm(w->rq, w->channels, w->m, q->phi, w->step, 1, w->backward_panels, width, w->m * width, q->d_query,
               w->channel_step, false);
    w->k->transpose(w->rq, w->channels, q->d_query, w->channel_step, out, w->rq);
    for (size_t i = 0; i < WALK_TILED * w->rq; i++)
        q->tiled[i] = -q->inverse[i % w->rq] * q->inverse[i % w->rq] * row_dot[i % w->rq];
    for (size_t at = 0; at < each; at += WALK_TILED * w->rq)
        w->k->mul_add(query + at, q->tiled, out + at, size_min(WALK_TILED * w->rq, each - at));
}

status R(walk_query_backward)(const struct R(walk) *w, struct R(walk_query) *q)
{
    status st = OK;
    struct far_label far = {.is = false};
    const real *gq = w->args->d_pi_query ? reals(w->args->d_pi_query) + q->n * w->rq : NULL;
    if (w->args->labels) {
        far = cotangent_of_label(w, q, q->column_b);
    } else {
        cotangent_of_classes(w, q, q->column_b);
        centre(w, q, q->column_b);
    }
    if (gq) {
        const double a = (double)w->alpha, rq = (double)w->rq, m = (double)w->m;
        w->k->columns_dot(q->eb, w->step, w->rq, w->m, gq, q->column_d);
        w->k->mul(q->column_d, q->column_inverse, q->column_d, w->m);
        w->k->axpy((real)(a * (rq + a * m) / (m + a * rq)), q->column_d, q->column_b, w->m);
    }
    w->k->rows_dot(q->ea, w->step, w->rq, w->m, q->column_b, q->row_a);
    w->k->mul(q->row_a, q->row_inverse, q->row_a, w->rq);
    if (far.is) far_rows(w, q, &far, q->row_a);
    if (w->alpha > 0) TRY(R(walk_solve_adjoint)(w, q, q->row_a, q->row_c));
    else w->k->affine(q->row_a, 1, 0, q->row_c, w->rq);
    const struct walk_grad_vectors v = vectors(w, q, gq);
    d_phi(w, q, v, v.column_z ? q->eb : NULL, &far, q->first);
    if (w->args->d_query) d_query(w, q, q->first);
done:
    return st;
}

/* The piece's d support (+)= sum over the group's queries of query d phi'. */
void R(walk_support_backward)(const struct R(walk) *w, size_t piece, size_t first, size_t count, const real *d_phi,
                              bool add)
{
    const size_t each = w->channels * w->rq;
    w->k->gemm_sum(count, each, w->rq * w->step, w->channels, w->m, w->rq, reals(w->args->query) + first * each, w->rq,
                   1, d_phi, w->step, w->k->gemm_width, w->d_support + piece * w->channels * w->step, w->step, add);
}

/* Adds up the pieces' d support in order, a range of the array at a time. */
static status sum_piece(void *context, size_t piece, size_t worker)
{
    const struct R(walk) *w = context;
    const size_t each = w->channels * w->step;
    const struct range r = piece_range(each, GRAIN, piece);
    (void)worker;
    for (size_t p = 1; p < w->pieces; p++)
        w->k->add(w->d_support + r.from, w->d_support + p * each + r.from, w->d_support + r.from, r.to - r.from);
    return OK;
}

/* One class: its columns of d support through the normalisation to d proto [C, rs]. */
static status finish_piece(void *context, size_t piece, size_t worker)
{
    const struct R(walk) *w = context;
    const size_t rs = w->rs, first = piece * rs;
    real *dot = w->forward_panels + first, *out = reals(w->args->d_proto) + piece * w->channels * rs;
    (void)worker;
    for (size_t i = 0; i < rs; i++) dot[i] = 0;
    for (size_t c = 0; c < w->channels; c++)
        w->k->mul_add(w->support + c * w->step + first, w->d_support + c * w->step + first, dot, rs);
    for (size_t i = 0; i < rs; i++) dot[i] = -dot[i];
    for (size_t c = 0; c < w->channels; c++) {
        real *d = w->d_support + c * w->step + first;
        w->k->mul_add(w->support + c * w->step + first, dot, d, rs);
        w->k->mul(d, w->support_inverse + first, out + c * rs, rs);
    }
    return OK;
}

/* The packed support is no longer needed here: its first m numbers hold the dot products. */
status R(walk_support_finish)(struct R(walk) *w)
{
    status st = OK;
    pool *threads = cpu_of(w->dev)->threads;
    TRY(pool_run(threads, pieces_of(w->channels * w->step, GRAIN), sum_piece, w));
    TRY(pool_run(threads, w->way, finish_piece, w));
done:
    return st;
}
