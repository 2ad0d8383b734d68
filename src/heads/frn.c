/* frn - feature map reconstruction networks (Wertheimer et al., CVPR 2021).
 *
 * With S the rows of a class, lambda > 0 and A = S S^T + lambda I (m x m) or B = S^T S + lambda I (C x C), the
 * reconstruction of a row q is q Hat, Hat = S^T A^-1 S = I - lambda B^-1. The smaller system is solved:
 *     m <= C: k = S q, y = A^-1 k:  |rho q Hat - q|^2 = (rho^2 - 2 rho) k.y - rho^2 lambda |y|^2 + |q|^2,
 *             because S S^T = A - lambda I; nothing of size C is made per class and query,
 *     m > C:  z = B^-1 q:           rho q Hat - q = (rho - 1) q - rho lambda z. */
#include "heads/frn.h"
#include "heads/matrix.h"
#include "heads/shots.h"
#include <math.h>

static var *ridge(tape *t, var *gram, var *lambda)
{
    return gram ? op_add(t, gram, op_mul(t, matrix_identity(t, gram->value.type, gram->value.dim[2]), lambda)) : NULL;
}

static var *squares(tape *t, var *x, unsigned axis) { return op_sum(t, op_mul(t, x, x), 1u << axis, DROP_AXES); }

/* columns [C, n]; [b, n] */
static var *errors_by_rows(tape *t, var *classes, var *columns, var *lambda, var *rho)
{
    var *k = op_matmul(t, classes, false, columns, false); /* [b, m, n] */
    var *y = op_cholesky_solve(t, ridge(t, op_matmul(t, classes, false, classes, true), lambda), k);
    var *ky = op_sum(t, op_mul(t, k, y), 1u << 1, DROP_AXES), *yy = squares(t, y, 1);
    var *of_ky = op_mul(t, rho, op_affine(t, rho, 1, -2));
    var *of_yy = op_mul(t, op_mul(t, rho, rho), lambda);
    var *both = op_sub(t, op_mul(t, ky, of_ky), op_mul(t, yy, of_yy));
    return op_add(t, both, squares(t, columns, 0));
}

static var *errors_by_channels(tape *t, var *classes, var *columns, var *lambda, var *rho)
{
    var *z = op_cholesky_solve(t, ridge(t, op_matmul(t, classes, true, classes, false), lambda), columns);
    var *e = op_sub(t, op_mul(t, columns, op_affine(t, rho, 1, -1)), op_mul(t, z, op_mul(t, rho, lambda)));
    return squares(t, e, 1); /* e [b, C, n] */
}

var *frn_logits(tape *t, const struct frn_terms *f, var *classes, var *query)
{
    if (!classes || !query || !f->r || !f->scale) return NULL;
    const size_t b = classes->value.dim[0], m = classes->value.dim[1], c = classes->value.dim[2];
    const size_t nq = query->value.dim[0], rq = query->value.dim[2];
    var *columns = op_reshape(t, op_permute(t, query, (int[]){1, 0, 2}), 2, (size_t[]){c, nq * rq});
    columns = op_affine(t, columns, 1 / sqrt((double)c), 0);
    var *lambda = op_affine(t, op_exp(t, op_slice(t, f->r, 0, 0, 1)), (double)m / (double)c, f->epsilon);
    var *rho = op_exp(t, op_slice(t, f->r, 0, 1, 2));
    var *errors = (m > c ? errors_by_channels : errors_by_rows)(t, classes, columns, lambda, rho);
    errors = op_mean(t, op_reshape(t, errors, 3, (size_t[]){b, nq, rq}), 1u << 2, DROP_AXES);
    return op_mul(t, op_permute(t, errors, (int[]){1, 0}), op_affine(t, f->scale, -1, 0));
}

/* 1 for pairs of different classes */
static var *pairs(tape *t, dtype type, size_t way) { return op_affine(t, matrix_identity(t, type, way), -1, 1); }

var *frn_aux_loss(tape *t, enum frn_aux kind, var *rows, const size_t *first, size_t way)
{
    void *host;
    const status st = tape_host(t, way * sizeof(var *), &host);
    if (st != OK) return tape_fail(t, st);
    var **grams = host;
    if (kind == FRN_AUX_ROWS) rows = op_l2norm(t, rows, 1);
    else rows = op_div(t, rows, op_sqrt(t, op_sum(t, op_mul(t, rows, rows), 3, KEEP_AXES)));
    if (!rows) return NULL;
    const size_t c = rows->value.dim[1];
    for (size_t i = 0; i < way; i++) { /* |S_i S_j^T|^2 is the inner product of S_i^T S_i and S_j^T S_j */
        var *s = op_slice(t, rows, 0, first[i], first[i + 1]);
        grams[i] = op_reshape(t, op_matmul(t, s, true, s, false), 2, (size_t[]){1, c * c});
    }
    var *all = op_concat(t, way, grams, 0);
    var *products = op_matmul(t, all, false, all, true);
    var *sum = op_sum(t, op_mul(t, products, pairs(t, rows->value.type, way)), 3, DROP_AXES);
    return op_affine(t, sum, 0.03 / 2, 0); /* each pair stands twice in the sum */
}

/* The head */

struct frn {
    double epsilon;
    int64_t aux; /* enum frn_aux */
};

static const struct option frn_options[] = {
    OPT_FLOAT(struct frn, epsilon, "epsilon", 1e-6, 0, 1, "added to the ridge; 0 in the released code of MCL"),
    OPT_INT(struct frn, aux, "aux", FRN_AUX_NONE, FRN_AUX_NONE, FRN_AUX_ROWS,
            "auxiliary loss: 0 none, 1 on support scaled as a whole (FRN's code), 2 on support scaled row by row"),
    OPT_END};

enum { SCALE, R };
static size_t dim_scale(size_t channels, int axis) { return (void)channels, (void)axis, 1; }
static size_t dim_r(size_t channels, int axis) { return (void)channels, (void)axis, 2; }
static const struct head_param frn_params[] = {
    [SCALE] = {.name = "head.scale", .rank = 1, .dim = dim_scale, .start = 1},
    [R] = {.name = "head.r", .rank = 1, .dim = dim_r},
    {.name = NULL}};

/* One batch where all classes have the same number of rows, one class after the other where not. */
static var *class_logits(tape *t, const struct frn_terms *f, const struct shots *s, var *rows, const struct episode *e)
{
    const size_t rs = e->support->value.dim[2], c = e->support->value.dim[1];
    void *host;
    if (s->equal) return frn_logits(t, f, op_reshape(t, rows, 3, (size_t[]){e->way, s->first[1] * rs, c}), e->query);
    const status st = tape_host(t, e->way * sizeof(var *), &host);
    if (st != OK) return tape_fail(t, st);
    var **each = host;
    for (size_t i = 0; i < e->way; i++) {
        const size_t from = s->first[i] * rs, to = s->first[i + 1] * rs;
        var *own = op_reshape(t, op_slice(t, rows, 0, from, to), 3, (size_t[]){1, to - from, c});
        each[i] = frn_logits(t, f, own, e->query);
    }
    return op_concat(t, e->way, each, 1);
}

/* What the auxiliary loss says of the rows of an episode. */
static var *pushed_apart(tape *t, enum frn_aux kind, const struct shots *s, var *rows, size_t way, size_t rs)
{
    void *first;
    const status st = tape_host(t, (way + 1) * sizeof(size_t), &first);
    if (st != OK) return tape_fail(t, st);
    for (size_t i = 0; i <= way; i++) ((size_t *)first)[i] = s->first[i] * rs;
    return frn_aux_loss(t, kind, rows, first, way);
}

static bool frn_forward(tape *t, const void *settings, struct params *params, const struct episode *e, unsigned want,
                        struct head_result *out)
{
    const struct frn *s = settings;
    struct shots shots;
    (void)want;
    if (!shots_sort(t, e, &shots)) return false;
    const dtype type = e->support->value.type;
    const size_t ns = e->support->value.dim[0], c = e->support->value.dim[1], rs = e->support->value.dim[2];
    const struct frn_terms f = {head_var(t, params, &frn_params[SCALE], c, type),
                                head_var(t, params, &frn_params[R], c, type), s->epsilon};
    var *rows = op_reshape(t, op_permute(t, shots.support, (int[]){0, 2, 1}), 2, (size_t[]){ns * rs, c});
    rows = op_affine(t, rows, 1 / sqrt((double)c), 0);
    out->scores = class_logits(t, &f, &shots, rows, e);
    if (e->query_labels) out->loss = op_cross_entropy(t, out->scores, e->query_labels);
    if (e->query_labels && s->aux != FRN_AUX_NONE)
        out->loss = op_add(t, out->loss, pushed_apart(t, (enum frn_aux)s->aux, &shots, rows, e->way, rs));
    return out->scores && (out->loss || !e->query_labels);
}

const struct head frn_head = {
    .name = "frn",
    .title = "ridge regression of the query's map on each class's features",
    .paper = "Wertheimer et al., Few-Shot Classification with Feature Map Reconstruction Networks, CVPR 2021",
    .options = frn_options,
    .settings_bytes = sizeof(struct frn),
    .params = frn_params,
    .forward = frn_forward};
