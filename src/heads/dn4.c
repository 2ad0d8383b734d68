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

/* What the chunks of queries share beside the support's directions. */
struct job {
    struct dn4 s;
    struct shots shots;
    size_t way, rs;
};

/* Scores [nq, way] of some queries, with the directions of the support [features, C]. */
static var *score_some(tape *t, const void *context, var *const *shared, var *query, size_t first)
{
    const struct job *j = context;
    (void)first;
    if (!query || !shared[0]) return NULL;
    const size_t nq = query->value.dim[0], rq = query->value.dim[2], features = shared[0]->value.dim[0];
    var *cosines = op_matmul(t, op_l2norm(t, query, 1), true, shared[0], true); /* [nq, rq, features] */
    cosines = op_reshape(t, cosines, 2, (size_t[]){nq * rq, features});
    var *found = j->s.shots == PER_SHOT ? nearest_per_shot(t, &j->s, cosines, &j->shots, j->way)
                 : j->s.shots == AVERAGE || j->shots.equal
                     ? nearest(t, &j->s, cosines, j->way)
                     : nearest_each(t, &j->s, cosines, j->shots.first, j->way, j->rs);
    return op_sum(t, op_reshape(t, found, 3, (size_t[]){nq, rq, j->way}), 1u << 1, DROP_AXES);
}

/* In one call, where the sets that are searched are equally large; NULL: not offered, or failed. */
static var *score_at_once(tape *t, const struct dn4 *s, const struct shots *shots, var *maps, const struct episode *e)
{
    const bool per_shot = s->shots == PER_SHOT;
    if (!maps || (s->shots != AVERAGE && !shots->equal) || !op_nearest_offered(t, maps, e->query, (size_t)s->k))
        return NULL;
    const size_t ns = maps->value.dim[0], groups = per_shot ? ns : e->way, nq = e->query->value.dim[0];
    if ((size_t)s->k > ns / groups * maps->value.dim[2]) return NULL; /* which the other way explains */
    var *found = op_nearest(t, maps, groups, e->query, (size_t)s->k, s->reduce == SUM ? 1 : 1 / (double)s->k);
    if (!per_shot || ns == e->way) return found;
    return op_sum(t, op_reshape(t, found, 3, (size_t[]){nq, e->way, ns / e->way}), 1u << 2, DROP_AXES);
}

static var *scores_of(tape *t, const struct dn4 *s, const struct shots *shots, var *maps, const struct episode *e)
{
    void *job;
    const status st = tape_host(t, sizeof(struct job), &job);
    if (st != OK) return tape_fail(t, st);
    if (!maps) return NULL;
    const size_t c = maps->value.dim[1], rs = maps->value.dim[2], features = maps->value.dim[0] * rs;
    *(struct job *)job = (struct job){*s, *shots, e->way, rs};
    var *rows = op_reshape(t, op_permute(t, op_l2norm(t, maps, 1), (int[]){0, 2, 1}), 2, (size_t[]){features, c});
    const size_t numbers = e->query->value.dim[2] * (c + 2 * features);
    const struct chunks chunks = {chunks_rows(t, maps->value.type, numbers), e->way, score_some, job};
    return op_chunks(t, &chunks, 1, &rows, e->query);
}

static bool dn4_forward(tape *t, const void *settings, struct params *params, const struct episode *e, unsigned want,
                        struct head_result *out)
{
    const struct dn4 *s = settings;
    struct shots shots;
    (void)params;
    (void)want;
    if (!shots_sort(t, e, &shots) || !e->query) return false;
    var *maps = s->shots == AVERAGE ? op_class_mean(t, e->support, e->support_labels, e->way) : shots.support;
    out->scores = score_at_once(t, s, &shots, maps, e);
    if (!out->scores) out->scores = scores_of(t, s, &shots, maps, e);
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
