/* ctx - cross transformers (Doersch et al., NeurIPS 2020): each location of the query looks, by attention, for what matches it in a
 * class, and the class scores how near what it finds comes.
 *
 * With key, query and value maps K, Q, V [128, C], for location p and the features s_j of all shots of a class:
 *     a_j = softmax_j((Q q_p).(K s_j) / sqrt(128)),   t_p = sum_j a_j V s_j,   logit = - mean over p of |t_p - V q_p|^2.
 * The variant `released` is the code of MCL: the query's values [128, r] are read as [r, 128] without being transposed, and
 * distances are averaged over all pairs of a t and a value. */
#include "heads/shots.h"
#include <math.h>

enum { WIDTH = 128 };
enum { INTENDED, RELEASED };
static const char *const variant_names[] = {"intended", "released", NULL};

struct ctx {
    int variant;
    int64_t tie;
};

static const struct option ctx_options[] = {
    OPT_NAME(
        struct ctx, variant, "variant", INTENDED, variant_names,
        "distances at the same location, or between all, with values read untransposed, as the code of MCL has it"),
    OPT_INT(struct ctx, tie, "tie", 0, 0, 1, "1: queries use the key map too, and head.query.weight is not used"),
    OPT_END};

enum { KEY, QUERY, VALUE, PARAMS };
static size_t dim_map(size_t channels, int axis) { return axis == 0 ? WIDTH : axis == 1 ? channels : 1; }
#define MAP(name_) \
    { \
        .name = name_, .rank = 4, .dim = dim_map, .start_uniform = 1, .by_channels = true \
    }
static const struct head_param ctx_params[] = {[KEY] = MAP("head.key.weight"),
                                               [QUERY] = MAP("head.query.weight"),
                                               [VALUE] = MAP("head.value.weight"),
                                               [PARAMS] = {.name = NULL}};

/* maps [n, C, r] by a weight [128, C, 1, 1]: [n, 128, r] */
static var *mapped(tape *t, var *weight, var *maps)
{
    if (!weight || !maps) return NULL;
    var *matrix = op_reshape(t, weight, 2, (size_t[]){WIDTH, weight->value.dim[1]});
    return op_matmul(t, matrix, false, maps, false);
}

/* [n, 128, r] as rows [n*r, 128] */
static var *rows_of(tape *t, var *maps)
{
    if (!maps) return NULL;
    const size_t n = maps->value.dim[0], r = maps->value.dim[2];
    return op_reshape(t, op_permute(t, maps, (int[]){0, 2, 1}), 2, (size_t[]){n * r, WIDTH});
}

/* found [nq*rq, 128] against the query's values [nq, 128, rq]: mean distances [nq, 1] */
static var *apart(tape *t, int variant, var *found, var *values)
{
    if (!found || !values) return NULL;
    const size_t nq = values->value.dim[0], rq = values->value.dim[2], n = nq * rq;
    if (variant == RELEASED) {
        const size_t dim[] = {nq, rq, WIDTH};
        var *all = op_sqdist(t, op_reshape(t, found, 3, dim), op_reshape(t, values, 3, dim)); /* [nq, rq, rq] */
        return op_mean(t, op_reshape(t, all, 2, (size_t[]){nq, rq * rq}), 1u << 1, KEEP_AXES);
    }
    const size_t dim[] = {n, 1, WIDTH};
    var *own = op_sqdist(t, op_reshape(t, found, 3, dim), op_reshape(t, rows_of(t, values), 3, dim)); /* [n, 1, 1] */
    return op_mean(t, op_reshape(t, own, 2, (size_t[]){nq, rq}), 1u << 1, KEEP_AXES);
}

/* What the chunks of queries share: settings and, as inputs, these. */
enum { KEYS, OFFERS, ASK, OFFER, SHARED }; /* [ns*rs, 128] twice, then the maps of queries */
struct job {
    struct ctx s;
    const size_t *first; /* [way + 1] pictures of the classes */
    size_t way, rs;
};

/* Mean distances [nq, way] of some queries, one class after the other: attention over it is all that is kept of the
 * pairs. */
static var *distances(tape *t, const void *context, var *const *shared, var *query, size_t first)
{
    const struct job *j = context;
    void *host;
    const status st = tape_host(t, j->way * sizeof(var *), &host);
    (void)first;
    if (st != OK) return tape_fail(t, st);
    var **each = host;
    var *asks = op_affine(t, rows_of(t, mapped(t, shared[ASK], query)), 1 / sqrt((double)WIDTH), 0); /* [nq*rq, 128] */
    var *values = mapped(t, shared[OFFER], query);                                                   /* [nq, 128, rq] */
    for (size_t c = 0; c < j->way; c++) {
        const size_t from = j->first[c] * j->rs, to = j->first[c + 1] * j->rs;
        var *attention = op_softmax(t, op_matmul(t, asks, false, op_slice(t, shared[KEYS], 0, from, to), true), 1);
        var *found = op_matmul(t, attention, false, op_slice(t, shared[OFFERS], 0, from, to), false);
        each[c] = apart(t, j->s.variant, found, values);
    }
    return op_concat(t, j->way, each, 1);
}

static bool ctx_forward(tape *t, const void *settings, struct params *params, const struct episode *e, unsigned want,
                        struct head_result *out)
{
    const struct ctx *s = settings;
    struct shots shots;
    var *v[PARAMS];
    void *job;
    (void)want;
    if (!e->query || !shots_sort(t, e, &shots)) return false;
    const dtype type = e->support->value.type;
    const size_t rs = e->support->value.dim[2], rq = e->query->value.dim[2];
    const status st = tape_host(t, sizeof(struct job), &job);
    if (st != OK) return tape_fail(t, st) != NULL;
    *(struct job *)job = (struct job){*s, shots.first, e->way, rs};
    for (int i = 0; i < PARAMS; i++) v[i] = head_var(t, params, &ctx_params[i], e->support->value.dim[1], type);
    var *const shared[SHARED] = {[KEYS] = rows_of(t, mapped(t, v[KEY], shots.support)),
                                 [OFFERS] = rows_of(t, mapped(t, v[VALUE], shots.support)),
                                 [ASK] = v[s->tie ? KEY : QUERY],
                                 [OFFER] = v[VALUE]};
    const size_t numbers = rq * (2 * shots.first[e->way] * rs + (e->way + 3) * WIDTH);
    const struct chunks chunks = {chunks_rows(t, type, numbers), e->way, distances, job};
    out->scores = op_affine(t, op_chunks(t, &chunks, SHARED, shared, e->query), -1, 0);
    if (e->query_labels) out->loss = op_cross_entropy(t, out->scores, e->query_labels);
    return out->scores && (out->loss || !e->query_labels);
}

const struct head ctx_head = {
    .name = "ctx",
    .title = "how near attention over a class comes to the query (CrossTransformer)",
    .paper = "Doersch et al., CrossTransformers: Spatially-aware Few-shot Transfer, NeurIPS 2020",
    .options = ctx_options,
    .settings_bytes = sizeof(struct ctx),
    .params = ctx_params,
    .forward = ctx_forward};
