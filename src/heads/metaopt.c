/* metaopt - a support vector machine on the pooled shots (Lee et al., CVPR 2019), trained through the solution of its dual.
 *
 * With X [ns, C] the shots and a [ns, way] the dual variables of the Crammer-Singer machine with the kernel X X^T:
 * logits = scale (Q X^T) a. The authors add 1 to the kernel's diagonal, which changes the solution; so does this by default.
 * The released code of MCL stops after 3 steps of the interior point, well before its end: --head.iterations 3 does, too. */
#include "heads/pool.h"
#include "heads/shots.h"

struct metaopt {
    struct svm svm;
    struct pool_settings pool;
};

#define SVM_OPTIONS \
    OPT_FLOAT_INSIDE(struct metaopt, svm.c, "C", 0.1, 0, 1e6, \
                     "bound of the dual variables: how much an error may cost"), \
        OPT_FLOAT_INSIDE(struct metaopt, svm.ridge, "ridge", 1, 0, 1e12, \
                         "what is added to the diagonal of the kernel"), \
        OPT_INT(struct metaopt, svm.iterations, "iterations", 0, 0, 1000, \
                "steps of the solver; 0: until it has converged; 3: the released code")

static const struct option plain_options[] = {SVM_OPTIONS, POOL_QUERY_OPTIONS(struct metaopt, POOL_MEAN), OPT_END};
static const struct option plugged_options[] = {SVM_OPTIONS, POOL_QUERY_OPTIONS(struct metaopt, POOL_MCL_QUERY),
                                                OPT_END};

static size_t dim_one(size_t channels, int axis) { return (void)channels, (void)axis, 1; }
static const struct head_param metaopt_params[] = {{.name = "head.scale", .rank = 1, .dim = dim_one, .start = 1},
                                                   {.name = NULL}};

static bool metaopt_forward(tape *t, const void *settings, struct params *params, const struct episode *e,
                            unsigned want, struct head_result *out)
{
    const struct metaopt *s = settings;
    struct shots shots;
    struct pooled p;
    (void)want;
    var *maps = pool_class_maps(t, &s->pool, e->support, e->support_labels, e->way);
    if (!maps || !pool_features(t, &s->pool, maps, e->query, &p) || !shots_sort(t, e, &shots)) return false;
    var *x = op_mean(t, shots.support, 1u << 2, DROP_AXES); /* [ns, C] */
    var *dual = op_svm(t, x, shots.first, e->way, &s->svm);
    var *logits = op_matmul(t, op_matmul(t, p.query, false, x, true), false, dual, false);
    var *scale = head_var(t, params, &metaopt_params[0], maps->value.dim[1], maps->value.type);
    out->scores = op_mul(t, logits, scale);
    if (e->query_labels) out->loss = op_cross_entropy(t, out->scores, e->query_labels);
    return out->scores && (out->loss || !e->query_labels);
}

#define METAOPT(name_, title_, table) \
    { \
        .name = name_, .title = title_, \
        .paper = "Lee et al., Meta-Learning with Differentiable Convex Optimization, CVPR 2019", .options = table, \
        .settings_bytes = sizeof(struct metaopt), .params = metaopt_params, .pools = true, .forward = metaopt_forward \
    }

const struct head metaopt_head = METAOPT("metaopt", "a support vector machine on pooled shots", plain_options);
const struct head metaopt_mcl_head = METAOPT("metaopt+mcl", "metaopt with the query weighted by centrality",
                                             plugged_options);
