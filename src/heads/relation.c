/* relation - relation networks (Sung et al., CVPR 2018), in the form of the MCL paper's tables: a small learned network compares
 * the pooled class with the pooled query, and cross entropy takes the place of the squared error.
 *
 * fc2(relu(fc1([class, query]))): the two halves of fc1 are applied on their own and added, so that nothing is
 * computed once for every pair but the hidden layer. */
#include "heads/head.h"
#include "heads/pool.h"

struct relation {
    struct pool_settings pool;
};

static const struct option plain_options[] = {POOL_OPTIONS(struct relation, POOL_MEAN), OPT_END};
static const struct option plugged_options[] = {POOL_OPTIONS(struct relation, POOL_MCL_BOTH), OPT_END};

enum { FC1_WEIGHT, FC1_BIAS, FC2_WEIGHT, FC2_BIAS, PARAMS };
static size_t dim_fc1(size_t channels, int axis) { return axis ? 2 * channels : channels / 2; }
static size_t dim_fc2(size_t channels, int axis) { return axis ? channels / 2 : 1; }
static const struct head_param relation_params[] = {
    [FC1_WEIGHT] = {.name = "head.fc1.weight", .rank = 2, .dim = dim_fc1, .start_normal = 0.01},
    [FC1_BIAS] = {.name = "head.fc1.bias", .rank = 1, .dim = dim_fc1},
    [FC2_WEIGHT] = {.name = "head.fc2.weight", .rank = 2, .dim = dim_fc2, .start_normal = 0.01},
    [FC2_BIAS] = {.name = "head.fc2.bias", .rank = 1, .dim = dim_fc2},
    [PARAMS] = {.name = NULL}};

/* x [..., C] by the columns from..from+C of fc1, as [a, b, hidden] */
static var *half(tape *t, var *x, var *weight, size_t from, var *bias, size_t a, size_t b)
{
    if (!x || !weight) return NULL;
    const size_t c = x->value.dim[x->value.rank - 1];
    var *rows = op_reshape(t, x, 2, (size_t[]){a * b, c});
    var *y = op_linear(t, rows, op_slice(t, weight, 1, from, from + c), bias);
    return op_reshape(t, y, 3, (size_t[]){a, b, weight->value.dim[0]});
}

static var *relate(tape *t, const struct pooled *p, var *const *v, size_t way)
{
    if (!p->query || !p->classes || !v[FC1_WEIGHT]) return NULL;
    const size_t nq = p->query->value.dim[0], c = p->query->value.dim[1], hidden = v[FC1_WEIGHT]->value.dim[0];
    const size_t own = p->classes->value.rank == 3 ? nq : 1; /* class vectors for each query, or for all */
    var *classes = half(t, p->classes, v[FC1_WEIGHT], 0, v[FC1_BIAS], own, way);
    var *query = half(t, p->query, v[FC1_WEIGHT], c, NULL, nq, 1);
    var *both = op_reshape(t, op_relu(t, op_add(t, classes, query)), 2, (size_t[]){nq * way, hidden});
    return op_reshape(t, op_linear(t, both, v[FC2_WEIGHT], v[FC2_BIAS]), 2, (size_t[]){nq, way});
}

static bool relation_forward(tape *t, const void *settings, struct params *params, const struct episode *e,
                             unsigned want, struct head_result *out)
{
    const struct relation *s = settings;
    struct pooled p;
    var *v[PARAMS];
    var *maps = pool_class_maps(t, &s->pool, e->support, e->support_labels, e->way);
    (void)want;
    if (!maps) return false;
    if (maps->value.dim[1] < 2)
        return tape_fail(t, fail(ST_SHAPE, "relation needs features of at least 2 channels; these have 1")) != NULL;
    if (!pool_features(t, &s->pool, maps, e->query, &p)) return false;
    for (int i = 0; i < PARAMS; i++)
        v[i] = head_var(t, params, &relation_params[i], maps->value.dim[1], maps->value.type);
    out->scores = relate(t, &p, v, e->way);
    if (e->query_labels) out->loss = op_cross_entropy(t, out->scores, e->query_labels);
    return out->scores && (out->loss || !e->query_labels);
}

#define RELATION(name_, title_, table) \
    { \
        .name = name_, .title = title_, \
        .paper = "Sung et al., Learning to Compare: Relation Network for Few-Shot Learning, CVPR 2018", \
        .options = table, .settings_bytes = sizeof(struct relation), .params = relation_params, .pools = true, \
        .forward = relation_forward \
    }

const struct head relation_head = RELATION("relation", "a learned comparison of pooled vectors", plain_options);
const struct head relation_mcl_head = RELATION("relation+mcl", "relation with vectors weighted by centrality",
                                               plugged_options);
