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

/* w of pi(S) = A^T w, A leading from query to support, from pi(q), which is (sigma w - 1) / (sigma - rq): sigma is the sum of
 * 1 + x(q) over the query's places, (rq + alpha way rs) / (1 - alpha^2). */
static var *walk_weights(tape *t, const struct walk *s, var *pi_query, size_t known)
{
    const double rq = (double)pi_query->value.dim[1], a = s->alpha;
    const double even = (1 - a * a) / (rq + a * (double)known); /* 1 / sigma */
    var *w = op_affine(t, pi_query, 1 - rq * even, even);
    return op_clip(t, w, pi_query->value.type == DT_F32 ? 1e-37 : 1e-307, 2); /* at alpha = 1 some may be 0 */
}

/* The same from logarithms, for walks so sharp that all of a class's pi(S) may be 0 in this type: of s_ij = ln w_i + ln A_ij, a
 * softmax over i and the j of a class, summed over i. */
static var *class_weights_sharp(tape *t, const struct walk *s, var *proto, var *query, var *pi_query)
{
    const size_t way = proto->value.dim[0], c = proto->value.dim[1], rs = proto->value.dim[2];
    const size_t nq = query->value.dim[0], rq = query->value.dim[2];
    const int last[] = {0, 2, 1};
    var *from = op_reshape(t, op_permute(t, query, last), 2, (size_t[]){nq * rq, c});
    var *to = op_reshape(t, op_permute(t, proto, last), 2, (size_t[]){way * rs, c});
    var *steps = op_log_softmax(t, op_affine(t, op_cosine(t, from, to), s->gamma, 0), 1); /* ln A: [nq*rq, way*rs] */
    var *start = op_reshape(t, op_log(t, walk_weights(t, s, pi_query, way * rs)), 2, (size_t[]){nq * rq, 1});
    var *by_class = op_reshape(t, op_add(t, steps, start), 4, (size_t[]){nq, rq, way, rs});
    by_class = op_reshape(t, op_permute(t, by_class, (int[]){0, 2, 3, 1}), 3, (size_t[]){nq, way, rs * rq});
    return op_sum(t, op_reshape(t, op_softmax(t, by_class, 2), 4, (size_t[]){nq, way, rs, rq}), 1u << 3, DROP_AXES);
}

/* exp(-2 gamma), the least that a step can be, and room for sums. */
static bool too_sharp(const struct walk *s, dtype type) { return s->gamma > (type == DT_F32 ? 40 : 340); }

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
    *out = (struct pooled){0};
    if (!proto || !query) return false;
    const bool sharp = too_sharp(&s->walk, proto->value.type);
    const unsigned want = (on_query || (on_support && sharp) ? WALK_PI_QUERY : 0) |
                          (on_support && !sharp ? WALK_PI_SUPPORT : 0);
    struct walk_vars v = {0};
    if (want && !op_walk(t, proto, query, &s->walk, want, &v)) return false;
    if (on_query) {
        out->query_weights = perhaps_detached(t, v.pi_query, s->detach);
        out->query = weighted_query(t, query, out->query_weights);
    } else {
        out->query = average(t, query);
    }
    if (on_support) {
        var *weights = sharp ? class_weights_sharp(t, &s->walk, proto, query, v.pi_query)
                             : class_weights(t, v.pi_support, proto->value.dim[0], proto->value.dim[2]);
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
