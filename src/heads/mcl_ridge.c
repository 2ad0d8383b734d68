/* mcl-ridge - ridge regression on pooled shots and the mutual walk between places, added: what is best on networks that were
 * trained on many kinds of photos (docs/everyday.md).
 *
 * The regression takes roots of the pooled channels, so that a few strong ones do not decide alone (the power transform of Yang
 * et al., ICLR 2021, and Hellinger's kernel): v = n(root(n(x))) with n(x) = x / |x| and, both signs alike, root(x) =
 * sqrt(x + e) - sqrt(e). e is 0.4 / sqrt(C), some of what channels of a unit vector are: weak ones are left in proportion, and the
 * derivative at 0 is finite. With X [ns, C] those of the shots,
 *
 *     score = scale v(query) X^T (X X^T + lambda I)^-1 Y + walk ln prob
 *
 * where prob are the class masses of docs/mcl.md. Both know what the other does not: the regression what a picture shows on the
 * whole, the walk what is found where. No learned parameters. */
#include "heads/head.h"
#include "heads/matrix.h"
#include "heads/shots.h"
#include <math.h>

struct mcl_ridge {
    double gamma, beta, alpha, lambda, scale, walk;
};

static const double SOFT = 0.4; /* e sqrt(C) */

static const struct option options[] = {
    OPT_FLOAT_INSIDE(struct mcl_ridge, gamma, "gamma", 40, 0, 1e7, "sharpness of the walk from query to support"),
    OPT_FLOAT_INSIDE(struct mcl_ridge, beta, "beta", 20, 0, 1e7, "sharpness of the walk from support to query"),
    OPT_FLOAT_INSIDE(struct mcl_ridge, alpha, "alpha", 0.9, 0, 1,
                     "damping of the walk; near 1 it forgets where it began"),
    OPT_FLOAT_INSIDE(struct mcl_ridge, lambda, "lambda", 0.2, 0, 1e12, "strength of the ridge"),
    OPT_FLOAT(struct mcl_ridge, scale, "scale", 12, 0, 1e6, "what multiplies the regression"),
    OPT_FLOAT(struct mcl_ridge, walk, "walk", 0.4, 0, 1e6, "what multiplies the logarithm of the walk's masses"),
    OPT_END};

static struct walk walk_of(const void *settings)
{
    const struct mcl_ridge *s = settings;
    return (struct walk){s->gamma, s->beta, s->alpha, WALK_AUTO};
}

/* maps [n, C, r] to [n, C] */
static var *rooted(tape *t, var *maps)
{
    var *x = op_l2norm(t, op_mean(t, maps, 1u << 2, DROP_AXES), 1);
    if (!x) return NULL;
    const double e = SOFT / sqrt((double)x->value.dim[1]);
    var *above = op_sqrt(t, op_affine(t, op_relu(t, x), 1, e));
    var *below = op_sqrt(t, op_affine(t, op_relu(t, op_affine(t, x, -1, 0)), 1, e));
    return op_l2norm(t, op_sub(t, above, below), 1); /* one of the two is sqrt(e) */
}

/* [nq, way] */
static var *regress(tape *t, double lambda, const struct episode *e)
{
    struct shots shots;
    if (!shots_sort(t, e, &shots)) return NULL;
    var *x = rooted(t, shots.support), *query = rooted(t, e->query);
    if (!x || !query) return NULL;
    const dtype type = x->value.type;
    var *ridge = op_affine(t, matrix_identity(t, type, x->value.dim[0]), lambda, 0);
    var *gram = op_add(t, op_matmul(t, x, false, x, true), ridge);
    var *z = op_cholesky_solve(t, gram, matrix_one_hot(t, type, shots.first, e->way));
    return op_matmul(t, op_matmul(t, query, false, x, true), false, z, false);
}

static bool mcl_ridge_forward(tape *t, const void *settings, struct params *params, const struct episode *e,
                              unsigned want, struct head_result *out)
{
    const struct mcl_ridge *s = settings;
    const struct walk w = walk_of(settings);
    const unsigned wanted = WALK_LOG_PROB | (want & HEAD_CENTRALITY ? WALK_PI_SUPPORT | WALK_PI_QUERY : 0);
    struct walk_vars v = {0};
    (void)params;
    if (!op_walk(t, op_class_mean(t, e->support, e->support_labels, e->way), e->query, &w, wanted, &v)) return false;
    out->scores = op_add(t, op_affine(t, regress(t, s->lambda, e), s->scale, 0), op_affine(t, v.log_prob, s->walk, 0));
    out->pi_support = v.pi_support;
    out->pi_query = v.pi_query;
    if (e->query_labels) out->loss = op_cross_entropy(t, out->scores, e->query_labels);
    return out->scores && (out->loss || !e->query_labels);
}

const struct head mcl_ridge_head = {
    .name = "mcl-ridge",
    .title = "ridge regression on pooled shots and the mutual walk, added",
    .paper = "Liu et al., CVPR 2022, for the walk; Bertinetto et al., ICLR 2019, for the "
             "regression",
    .options = options,
    .settings_bytes = sizeof(struct mcl_ridge),
    .walk = walk_of,
    .forward = mcl_ridge_forward};
