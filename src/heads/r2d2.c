/* r2d2 - ridge regression as a classifier (Bertinetto et al., ICLR 2019): one-hot labels are regressed on the pooled shots, in closed
 * form, and the regression is applied to the queries.
 *
 * With X [ns, C] the shots, in the dual: logits = scale (Q X^T) (X X^T + lambda I)^-1 Y. */
#include "heads/matrix.h"
#include "heads/pool.h"
#include "heads/shots.h"

struct r2d2 {
    double lambda;
    struct pool_settings pool;
};

#define LAMBDA OPT_FLOAT_INSIDE(struct r2d2, lambda, "lambda", 50, 0, 1e12, "strength of the ridge")

static const struct option plain_options[] = {LAMBDA, POOL_QUERY_OPTIONS(struct r2d2, POOL_MEAN), OPT_END};
static const struct option plugged_options[] = {LAMBDA, POOL_QUERY_OPTIONS(struct r2d2, POOL_MCL_QUERY), OPT_END};

static size_t dim_one(size_t channels, int axis) { return (void)channels, (void)axis, 1; }
static const struct head_param r2d2_params[] = {{.name = "head.scale", .rank = 1, .dim = dim_one, .start = 1},
                                                {.name = NULL}};

/* query [nq, C]; unscaled logits [nq, way] */
static var *regress(tape *t, double lambda, const struct shots *shots, size_t way, var *query)
{
    var *x = op_mean(t, shots->support, 1u << 2, DROP_AXES); /* [ns, C] */
    if (!x) return NULL;
    const dtype type = x->value.type;
    var *ridge = op_affine(t, matrix_identity(t, type, x->value.dim[0]), lambda, 0);
    var *gram = op_add(t, op_matmul(t, x, false, x, true), ridge);
    var *z = op_cholesky_solve(t, gram, matrix_one_hot(t, type, shots->first, way));
    return op_matmul(t, op_matmul(t, query, false, x, true), false, z, false);
}

static bool r2d2_forward(tape *t, const void *settings, struct params *params, const struct episode *e, unsigned want,
                         struct head_result *out)
{
    const struct r2d2 *s = settings;
    struct shots shots;
    struct pooled p;
    (void)want;
    var *maps = pool_class_maps(t, &s->pool, e->support, e->support_labels, e->way);
    if (!maps || !pool_features(t, &s->pool, maps, e->query, &p) || !shots_sort(t, e, &shots)) return false;
    var *scale = head_var(t, params, &r2d2_params[0], maps->value.dim[1], maps->value.type);
    out->scores = op_mul(t, regress(t, s->lambda, &shots, e->way, p.query), scale);
    if (e->query_labels) out->loss = op_cross_entropy(t, out->scores, e->query_labels);
    return out->scores && (out->loss || !e->query_labels);
}

#define R2D2(name_, title_, table) \
    { \
        .name = name_, .title = title_, \
        .paper = "Bertinetto et al., Meta-learning with Differentiable Closed-form Solvers, ICLR 2019", \
        .options = table, .settings_bytes = sizeof(struct r2d2), .params = r2d2_params, .pools = true, \
        .forward = r2d2_forward \
    }

const struct head r2d2_head = R2D2("r2d2", "ridge regression of labels on pooled shots", plain_options);
const struct head r2d2_mcl_head = R2D2("r2d2+mcl", "r2d2 with the query weighted by centrality", plugged_options);
