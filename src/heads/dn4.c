/* dn4 - deep nearest neighbour networks (Li et al., CVPR 2019): each location of the query looks for its k nearest
 * features in a class by cosine, and the class scores the sum.
 *
 * Ties go to the lowest index; gradients reach the nearest only. No learned parameters. */
#include "heads/shots.h"

enum { POOL, AVERAGE, PER_SHOT };
static const char *const shots_names[] = {"pool", "average", "per-shot", NULL};
enum { SUM, MEAN };
static const char *const reduce_names[] = {"sum", "mean", NULL};

struct dn4 {
    int64_t k;
    int shots, reduce;
};

static const struct option dn4_options[] = {
    OPT_INT(struct dn4, k, "k", 1, 1, 1e6, "nearest features that count for a location"),
    OPT_NAME(struct dn4, shots, "shots", POOL, shots_names,
             "one set of all shots' features, their average, or a search in each shot"),
    OPT_NAME(struct dn4, reduce, "reduce", SUM, reduce_names, "what the nearest k become"), OPT_END};

/* [n, C, r] as unit rows [n*r, C] */
static var *directions(tape *t, var *maps)
{
    if (!maps) return NULL;
    const size_t n = maps->value.dim[0], c = maps->value.dim[1], r = maps->value.dim[2];
    var *rows = op_reshape(t, op_permute(t, maps, (int[]){0, 2, 1}), 2, (size_t[]){n * r, c});
    return op_l2norm(t, rows, 1);
}

/* The nearest of groups of features that are equally large: cosines [n, groups*m] to [n, groups]. */
static var *nearest(tape *t, const struct dn4 *s, var *cosines, size_t groups)
{
    if (!cosines) return NULL;
    const size_t n = cosines->value.dim[0], m = cosines->value.dim[1] / groups, k = (size_t)s->k;
    if (k > m)
        return tape_fail(t, fail(ST_VALUE, "--head.k is %zu, but a class has only %zu features to choose from", k, m));
    var *found = op_reshape(t, cosines, 3, (size_t[]){n, groups, m});
    if (k == 1) return op_max(t, found, 2);
    found = op_top_k(t, found, 2, k, NULL);
    return s->reduce == SUM ? op_sum(t, found, 1u << 2, DROP_AXES) : op_mean(t, found, 1u << 2, DROP_AXES);
}

/* Classes of different sizes, one after the other. */
static var *nearest_each(tape *t, const struct dn4 *s, var *cosines, const size_t *first, size_t way, size_t rs)
{
    void *host;
    const status st = tape_host(t, way * sizeof(var *), &host);
    if (st != OK) return tape_fail(t, st);
    var **each = host;
    for (size_t c = 0; c < way; c++)
        each[c] = nearest(t, s, op_slice(t, cosines, 1, first[c] * rs, first[c + 1] * rs), 1);
    for (size_t c = 0; c < way; c++)
        each[c] = each[c] ? op_reshape(t, each[c], 2, (size_t[]){each[c]->value.dim[0], 1}) : NULL;
    return op_concat(t, way, each, 1);
}

/* A search in each shot: the sum over a class's shots, or where classes have different numbers the mean. */
static var *nearest_per_shot(tape *t, const struct dn4 *s, var *cosines, const struct shots *shots, size_t way)
{
    const size_t ns = shots->first[way];
    var *found = nearest(t, s, cosines, ns); /* [n, ns] */
    if (!found) return NULL;
    if (shots->equal) {
        const size_t n = found->value.dim[0], k = shots->first[1];
        return op_sum(t, op_reshape(t, found, 3, (size_t[]){n, way, k}), 1u << 2, DROP_AXES);
    }
    void *host;
    const status st = tape_host(t, way * sizeof(var *), &host);
    if (st != OK) return tape_fail(t, st);
    var **each = host;
    for (size_t c = 0; c < way; c++)
        each[c] = op_mean(t, op_slice(t, found, 1, shots->first[c], shots->first[c + 1]), 1u << 1, KEEP_AXES);
    return op_concat(t, way, each, 1);
}

static bool dn4_forward(tape *t, const void *settings, struct params *params, const struct episode *e, unsigned want,
                        struct head_result *out)
{
    const struct dn4 *s = settings;
    struct shots shots;
    (void)params;
    (void)want;
    if (!shots_sort(t, e, &shots) || !e->query) return false;
    const size_t nq = e->query->value.dim[0], rq = e->query->value.dim[2], rs = e->support->value.dim[2];
    var *maps = s->shots == AVERAGE ? op_class_mean(t, e->support, e->support_labels, e->way) : shots.support;
    var *cosines = op_matmul(t, directions(t, e->query), false, directions(t, maps), true); /* [nq*rq, features] */
    var *found = s->shots == PER_SHOT                 ? nearest_per_shot(t, s, cosines, &shots, e->way)
                 : s->shots == AVERAGE || shots.equal ? nearest(t, s, cosines, e->way)
                                                      : nearest_each(t, s, cosines, shots.first, e->way, rs);
    out->scores = op_sum(t, op_reshape(t, found, 3, (size_t[]){nq, rq, e->way}), 1u << 1, DROP_AXES);
    if (e->query_labels) out->loss = op_cross_entropy(t, out->scores, e->query_labels);
    return out->scores && (out->loss || !e->query_labels);
}

const struct head dn4_head = {
    .name = "dn4",
    .title = "nearest features of each class for every location",
    .paper = "Li et al., Revisiting Local Descriptor based Image-to-Class Measure for Few-shot Learning, CVPR 2019",
    .options = dn4_options,
    .settings_bytes = sizeof(struct dn4),
    .forward = dn4_forward};
