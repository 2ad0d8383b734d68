/* pool.c - pooled vectors, plain or weighted by centrality (Liu et al., CVPR 2022, the plug-in). Features are weighted
 * raw; a head that compares directions normalises afterwards. */
#include "heads/pool.h"

const char *const pool_mode_names[] = {"mean", "mcl-query", "mcl-support", "mcl-both", NULL};
const char *const pool_query_names[] = {"mean", "mcl-query", NULL};

/* the average over locations, [n, C] */
static var *average(tape *t, var *maps)
{
    if (maps && maps->value.dim[2] == 1) return op_reshape(t, maps, 2, maps->value.dim);
    return op_mean(t, maps, 1u << 2, DROP_AXES);
}

var *pool_class_maps(tape *t, const struct pool_settings *s, var *support, const tensor *labels, size_t way)
{
    if (s->mode == POOL_MEAN) support = op_mean(t, support, 1u << 2, KEEP_AXES);
    return op_class_mean(t, support, labels, way);
}

static var *perhaps_detached(tape *t, var *weights, bool detach)
{
    return detach && weights ? tape_constant(t, &weights->value) : weights;
}

/* sum_i weights[n, i] query[n, :, i] */
static var *weighted_query(tape *t, var *query, var *weights)
{
    const size_t nq = query->value.dim[0], channels = query->value.dim[1], rq = query->value.dim[2];
    var *column = op_reshape(t, weights, 3, (size_t[]){nq, rq, 1});
    return op_reshape(t, op_matmul(t, query, false, column, false), 2, (size_t[]){nq, channels});
}

/* pi(S) [nq, way*rs] with each class scaled to sum 1: [nq, way, rs] */
static var *class_weights(tape *t, var *pi_support, size_t way, size_t rs)
{
    const size_t nq = pi_support->value.dim[0];
    var *maps = op_reshape(t, pi_support, 3, (size_t[]){nq, way, rs});
    return op_div(t, maps, op_sum(t, maps, 1u << 2, KEEP_AXES));
}

/* sum_i weights[n, c, i] proto[c, :, i], as one product a class: [nq, way, C] */
static var *weighted_classes(tape *t, var *proto, var *weights)
{
    const int turn[] = {1, 0, 2};
    var *by_class = op_permute(t, weights, turn); /* [way, nq, rs] */
    return op_permute(t, op_matmul(t, by_class, false, proto, true), turn);
}

bool pool_features(tape *t, const struct pool_settings *s, var *proto, var *query, struct pooled *out)
{
    const bool on_query = s->mode == POOL_MCL_QUERY || s->mode == POOL_MCL_BOTH;
    const bool on_support = s->mode == POOL_MCL_SUPPORT || s->mode == POOL_MCL_BOTH;
    const unsigned want = (on_query ? WALK_PI_QUERY : 0) | (on_support ? WALK_PI_SUPPORT : 0);
    struct walk_vars v = {0};
    *out = (struct pooled){0};
    if (want && !op_walk(t, proto, query, &s->walk, want, &v)) return false;
    if (on_query) {
        out->query_weights = perhaps_detached(t, v.pi_query, s->detach);
        out->query = weighted_query(t, query, out->query_weights);
    } else {
        out->query = average(t, query);
    }
    if (on_support) {
        var *weights = class_weights(t, v.pi_support, proto->value.dim[0], proto->value.dim[2]);
        out->class_weights = perhaps_detached(t, weights, s->detach);
        out->classes = weighted_classes(t, proto, out->class_weights);
    } else {
        out->classes = average(t, proto);
    }
    return out->query && out->classes;
}

var *pool_compare(tape *t, const struct pooled *p, var *(*pairs)(tape *t, var *a, var *b))
{
    if (!p->query || !p->classes) return NULL;
    const size_t nq = p->query->value.dim[0], channels = p->query->value.dim[1];
    if (p->classes->value.rank == 2) return pairs(t, p->query, p->classes);
    var *own = op_reshape(t, p->query, 3, (size_t[]){nq, 1, channels}); /* each query has class vectors of its own */
    return op_reshape(t, pairs(t, own, p->classes), 2, (size_t[]){nq, p->classes->value.dim[1]});
}
