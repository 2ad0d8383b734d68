/* frn - feature map reconstruction networks (Wertheimer et al., CVPR 2021).
 *
 * With S the rows of a class, lambda > 0 and A = S S^T + lambda I (m x m) or B = S^T S + lambda I (C x C), the
 * reconstruction of a row q is q Hat, Hat = S^T A^-1 S = I - lambda B^-1. The smaller system is inverted, once for all queries:
 *     4 m <= C: k = S q:  |rho q Hat - q|^2 = k.(N k) + |q|^2,  N = (rho^2 - 2 rho) A^-1 - rho^2 lambda A^-2,
 *               because S S^T = A - lambda I; nothing of size C is made per class and query,
 *     m <= C:   rho q Hat - q = k N - q,  N = rho A^-1 S: so many rows may reconstruct a query well, and the difference
 *               above would be of two large numbers,
 *     m > C:    rho q Hat - q = N q,  N = (rho - 1) I - rho lambda B^-1.
 * Rows that are to be divided by sqrt(u) need not be: lambda times u does the same. */
#include "heads/frn.h"
#include "heads/matrix.h"
#include "heads/shots.h"

static var *ridge(tape *t, var *gram, var *lambda)
{
    return gram ? op_add(t, gram, op_mul(t, matrix_identity(t, gram->value.type, gram->value.dim[2]), lambda)) : NULL;
}

/* a^-1 times a number */
static var *inverse(tape *t, var *a, var *times)
{
    return a ? op_cholesky_solve(t, a, op_mul(t, matrix_identity(t, a->value.type, a->value.dim[2]), times)) : NULL;
}

/* N of each class: [b, m, m] or [b, C, C] */
static var *forms_by_rows(tape *t, var *classes, var *lambda, var *rho)
{
    var *i = inverse(t, ridge(t, op_matmul(t, classes, false, classes, true), lambda), rho); /* rho A^-1 */
    return op_sub(t, op_mul(t, i, op_affine(t, rho, 1, -2)), op_mul(t, op_matmul(t, i, false, i, false), lambda));
}

static var *forms_near(tape *t, var *classes, var *lambda, var *rho)
{
    return op_cholesky_solve(t, ridge(t, op_matmul(t, classes, false, classes, true), lambda),
                             op_mul(t, classes, rho)); /* [b, m, C] */
}

static var *forms_by_channels(tape *t, var *classes, var *lambda, var *rho)
{
    var *i = inverse(t, ridge(t, op_matmul(t, classes, true, classes, false), lambda), op_mul(t, rho, lambda));
    return i ? op_sub(t, op_mul(t, matrix_identity(t, i->value.type, i->value.dim[2]), op_affine(t, rho, 1, -1)), i)
             : NULL;
}

/* k of some queries [nq, C, rq] and classes [b, m, C]: [b, nq*rq, m] */
static var *products(tape *t, var *query, var *classes)
{
    const size_t nq = query->value.dim[0], rq = query->value.dim[2];
    const size_t b = classes->value.dim[0], m = classes->value.dim[1], c = classes->value.dim[2];
    var *k = op_matmul(t, query, true, op_reshape(t, classes, 2, (size_t[]){b * m, c}), true); /* [nq, rq, b*m] */
    return op_permute(t, op_reshape(t, k, 3, (size_t[]){nq * rq, b, m}), (int[]){1, 0, 2});
}

/* Sums of the errors over the locations of some queries [nq, C, rq]: [nq, b]. Shared are the forms, then the classes. */
static var *errors_by_rows(tape *t, const void *context, var *const *shared, var *query, size_t first)
{
    (void)context;
    (void)first;
    if (!query || !shared[0] || !shared[1]) return NULL;
    const size_t nq = query->value.dim[0], rq = query->value.dim[2];
    const size_t b = shared[1]->value.dim[0], m = shared[1]->value.dim[1];
    var *k = products(t, query, shared[1]);
    var *both = op_mul(t, k, op_matmul(t, k, false, shared[0], false));
    both = op_sum(t, op_reshape(t, both, 3, (size_t[]){b, nq, rq * m}), 1u << 2, DROP_AXES);
    var *size = op_sum(t, op_mul(t, query, query), 6, DROP_AXES);
    return op_add(t, op_permute(t, both, (int[]){1, 0}), op_reshape(t, size, 2, (size_t[]){nq, 1}));
}

static var *errors_near(tape *t, const void *context, var *const *shared, var *query, size_t first)
{
    (void)context;
    (void)first;
    if (!query || !shared[0] || !shared[1]) return NULL;
    const size_t nq = query->value.dim[0], c = query->value.dim[1], rq = query->value.dim[2];
    const size_t b = shared[1]->value.dim[0];
    var *rows = op_reshape(t, op_permute(t, query, (int[]){0, 2, 1}), 3, (size_t[]){1, nq * rq, c});
    var *e = op_sub(t, op_matmul(t, products(t, query, shared[1]), false, shared[0], false), rows); /* [b, nq*rq, C] */
    e = op_sum(t, op_reshape(t, op_mul(t, e, e), 3, (size_t[]){b, nq, rq * c}), 1u << 2, DROP_AXES);
    return op_permute(t, e, (int[]){1, 0});
}

static var *errors_by_channels(tape *t, const void *context, var *const *shared, var *query, size_t first)
{
    (void)context;
    (void)first;
    if (!query || !shared[0]) return NULL;
    const size_t nq = query->value.dim[0], rq = query->value.dim[2];
    const size_t b = shared[0]->value.dim[0], c = shared[0]->value.dim[1];
    var *e = op_matmul(t, query, true, op_reshape(t, shared[0], 2, (size_t[]){b * c, c}), true); /* [nq, rq, b*C] */
    return op_sum(t, op_reshape(t, op_mul(t, e, e), 4, (size_t[]){nq, rq, b, c}), 1u << 1 | 1u << 3, DROP_AXES);
}

/* Errors of all queries with some classes [b, m, C]: [b, nq]. Shared are the queries and r; the inverses of many large systems
 * are not kept at once either. */
enum { QUERY, TERMS, SHARED };
enum { FEW = 4 }; /* rows that are fewer than so many times as few as channels reconstruct nothing well */
static var *errors_of_classes(tape *t, const void *context, var *const *shared, var *classes, size_t first)
{
    const struct frn_terms *f = context;
    (void)first;
    if (!classes || !shared[QUERY]) return NULL;
    const size_t b = classes->value.dim[0], m = classes->value.dim[1], c = classes->value.dim[2];
    const size_t rq = shared[QUERY]->value.dim[2];
    const bool wide = m > c, few = FEW * m <= c;
    const double share = f->unit * (double)m / (double)c;
    var *lambda = op_affine(t, op_exp(t, op_slice(t, shared[TERMS], 0, 0, 1)), share, f->unit * f->epsilon);
    var *rho = op_exp(t, op_slice(t, shared[TERMS], 0, 1, 2));
    var *const inside[] = {(wide  ? forms_by_channels
                            : few ? forms_by_rows
                                  : forms_near)(t, classes, lambda, rho),
                           classes};
    const size_t numbers = wide ? 3 * b * c : few ? 4 * b * m + c : 4 * b * c + 2 * b * m;
    const size_t rows = chunks_rows(t, classes->value.type, rq * numbers);
    const struct chunks chunks = {rows, b, wide ? errors_by_channels : few ? errors_by_rows : errors_near, NULL};
    return op_permute(t, op_chunks(t, &chunks, wide ? 1 : 2, inside, shared[QUERY]), (int[]){1, 0});
}

var *frn_logits(tape *t, const struct frn_terms *f, var *classes, var *query)
{
    void *host;
    if (!classes || !query || !f->r || !f->scale) return NULL;
    const status st = tape_host(t, sizeof *f, &host);
    if (st != OK) return tape_fail(t, st);
    *(struct frn_terms *)host = *f;
    const size_t m = classes->value.dim[1], c = classes->value.dim[2], n = m > c ? c : m;
    var *const shared[SHARED] = {[QUERY] = query, [TERMS] = f->r};
    const struct chunks chunks = {chunks_rows(t, classes->value.type, 6 * n * n), query->value.dim[0],
                                  errors_of_classes, host};
    var *errors = op_permute(t, op_chunks(t, &chunks, SHARED, shared, classes), (int[]){1, 0}); /* [nq, b] */
    const double mean = 1 / ((double)query->value.dim[2] * (double)c); /* queries were not divided by sqrt(C) */
    return op_mul(t, errors, op_affine(t, f->scale, -mean, 0));
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

/* The same in one call, where the device offers that; NULL: not offered, or failed. */
static var *logits_at_once(tape *t, const struct frn_terms *f, const struct shots *s, const struct episode *e)
{
    if (!s->equal || !f->r || !f->scale || f->r->needs_grad || f->scale->needs_grad) return NULL;
    if (!op_reconstruct_offered(t, s->support, e->query, e->way)) return NULL;
    const double c = (double)e->support->value.dim[1], rs = (double)e->support->value.dim[2];
    const double m = (double)s->first[1] * rs, rq = (double)e->query->value.dim[2];
    const struct reconstruct how = {e->way, f->unit * m / c, f->unit * f->epsilon, -1 / (rq * c)};
    return op_reconstruct(t, s->support, e->query, f->r, f->scale, &how);
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
                                head_var(t, params, &frn_params[R], c, type), s->epsilon, (double)c};
    const bool pushes = e->query_labels && s->aux != FRN_AUX_NONE;
    var *rows = NULL;
    out->scores = logits_at_once(t, &f, &shots, e);
    if (!out->scores || pushes)
        rows = op_reshape(t, op_permute(t, shots.support, (int[]){0, 2, 1}), 2, (size_t[]){ns * rs, c});
    if (!out->scores) out->scores = class_logits(t, &f, &shots, rows, e);
    if (e->query_labels) out->loss = op_cross_entropy(t, out->scores, e->query_labels);
    if (pushes) out->loss = op_add(t, out->loss, pushed_apart(t, (enum frn_aux)s->aux, &shots, rows, e->way, rs));
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
