/* mn4, dmn4 - mutual and discriminative mutual nearest neighbours (Liu et al., AAAI 2022): as dn4 with one
 * neighbour, but only some locations of the query count.
 *
 * m_c[q] is the largest cosine of location q to a feature of class c, nn(q) the feature nearest to q among those of all
 * classes, and logit_c = temperature * sum over the locations kept of m_c[q]. Kept are
 *     mn4:            q that is in turn the location nearest to nn(q),
 *     mn4 `released`: q that is nearest to nn(q) among the locations with the same nn, as the code of MCL has it; some more,
 *     dmn4:           q whose best class leads the second by most among the locations with the same nn.
 * Ties go to the lowest index. Which are kept is decided on the host, and is a constant for gradients. With `norm` a query's sum is
 * divided by how many it kept, and its loss counts in proportion to them. No learned parameters. */
#include "heads/shots.h"
#include <string.h>

enum { POOL, AVERAGE };
static const char *const shots_names[] = {"pool", "average", NULL};
enum { MUTUAL, RELEASED, LEADING };
static const char *const variant_names[] = {"mutual", "released", NULL};

struct mn4 {
    double temperature;
    int64_t norm;
    int shots, keep;
};

#define MN4_OPTIONS \
    OPT_FLOAT_INSIDE(struct mn4, temperature, "temperature", 2, 0, 1e6, "multiplies the scores"), \
        OPT_INT(struct mn4, norm, "norm", 0, 0, 1, \
                "1: scores are means over the locations kept, whose number weighs a query's loss"), \
        OPT_NAME(struct mn4, shots, "shots", POOL, shots_names, "one set of all shots' features, or their average")

static const struct option mn4_options[] = {
    MN4_OPTIONS,
    OPT_NAME(struct mn4, keep, "variant", MUTUAL, variant_names,
             "compare with all locations of the query, or with those that chose the same feature"),
    OPT_END};
static const struct option dmn4_options[] = {MN4_OPTIONS, OPT_END};

static void keep_leading(void *settings) { ((struct mn4 *)settings)->keep = LEADING; }

/* What the choice of locations looks at, on the host. */
struct matches {
    size_t nq, rq, way, features;
    dtype type;
    const void *best;        /* [nq, rq, way] largest cosines, of the type */
    const int32_t *nearest;  /* [nq, rq] feature */
    const int32_t *location; /* [nq, features] nearest location, for MUTUAL */
    int32_t *winner;         /* [features], for the others */
};

static status fetch(tape *t, const tensor *x, const void **out)
{
    status st = OK;
    struct device *d = tape_device(t);
    void *host;
    TRY(tape_host(t, tensor_bytes(x), &host));
    TRY(d->download(d, host, x->data, tensor_bytes(x)));
    *out = host;
done:
    return st;
}

static double at(const struct matches *m, size_t i)
{
    return m->type == DT_F32 ? (double)((const float *)m->best)[i] : ((const double *)m->best)[i];
}

/* What location i (of all pictures) competes by. */
static double claim(const struct matches *m, int rule, size_t i)
{
    double first = at(m, i * m->way), second = -2; /* below every cosine */
    for (size_t c = 1; c < m->way; c++) {
        const double x = at(m, i * m->way + c);
        if (x > first) {
            second = first;
            first = x;
        } else if (x > second) {
            second = x;
        }
    }
    return rule == LEADING ? first - second : first;
}

/* keep[q] of picture n's locations; how many. */
static size_t choose(const struct matches *m, int rule, size_t n, bool *keep)
{
    size_t kept = 0;
    const int32_t *nearest = m->nearest + n * m->rq;
    for (size_t q = 0; q < m->rq && rule != MUTUAL; q++) m->winner[nearest[q]] = -1;
    for (size_t q = 0; q < m->rq && rule != MUTUAL; q++) {
        int32_t *winner = &m->winner[nearest[q]];
        if (*winner < 0 || claim(m, rule, n * m->rq + q) > claim(m, rule, n * m->rq + (size_t)*winner))
            *winner = (int32_t)q;
    }
    const int32_t *answer = rule == MUTUAL ? m->location + n * m->features : m->winner;
    for (size_t q = 0; q < m->rq; q++) kept += keep[q] = answer[nearest[q]] == (int32_t)q;
    return kept;
}

/* Neighbours of both kinds, from cosines [nq, rq, features]; no gradient passes here. */
static bool match(tape *t, const struct mn4 *s, var *cosines, var *best, struct matches *m)
{
    status st = OK;
    const void *nearest = NULL, *location = NULL;
    void *winner;
    var *index = NULL, *constant = cosines ? tape_constant(t, &cosines->value) : NULL;
    if (!op_top_k(t, constant, 2, 1, &index) || !best) return false;
    TRY(fetch(t, &index->value, &nearest));
    TRY(fetch(t, &best->value, &m->best));
    if (s->keep == MUTUAL) {
        if (!op_top_k(t, constant, 1, 1, &index)) return false;
        TRY(fetch(t, &index->value, &location));
    }
    TRY(tape_host(t, m->features * sizeof(int32_t), &winner));
    m->nearest = nearest;
    m->location = location;
    m->winner = winner;
done:
    if (st != OK) tape_fail(t, st);
    return st == OK;
}

/* The weights of the locations [nq, rq, 1], and how many each query kept. */
static var *weights(tape *t, const struct mn4 *s, const struct matches *m, size_t *kept)
{
    status st = OK;
    void *host, *keep;
    TRY(tape_host(t, m->nq * m->rq * sizeof(double), &host));
    TRY(tape_host(t, m->rq * sizeof(bool), &keep));
    for (size_t n = 0; n < m->nq; n++) {
        kept[n] = choose(m, s->keep, n, keep);
        const double weight = s->norm && kept[n] ? s->temperature / (double)kept[n] : s->temperature;
        for (size_t q = 0; q < m->rq; q++) {
            const double w = ((bool *)keep)[q] ? weight : 0;
            if (m->type == DT_F32) ((float *)host)[n * m->rq + q] = (float)w;
            else ((double *)host)[n * m->rq + q] = w;
        }
    }
    return tape_upload(t, m->type, 3, (size_t[]){m->nq, m->rq, 1}, host);
done:
    return tape_fail(t, st);
}

/* The mean cross entropy, each query weighed by how many locations it kept. */
static var *weighted_loss(tape *t, var *scores, const tensor *labels, const size_t *kept)
{
    status st = OK;
    const void *label;
    void *host;
    double total = 0;
    if (!scores) return NULL;
    const dtype type = scores->value.type;
    const size_t nq = scores->value.dim[0], way = scores->value.dim[1];
    TRY(fetch(t, labels, &label));
    TRY(tape_host(t, nq * way * sizeof(double), &host));
    memset(host, 0, nq * way * sizeof(double));
    for (size_t n = 0; n < nq; n++) total += (double)kept[n];
    for (size_t n = 0; n < nq; n++) {
        const size_t i = n * way + (size_t)((const int32_t *)label)[n];
        if (type == DT_F32) ((float *)host)[i] = (float)(-(double)kept[n] / total);
        else ((double *)host)[i] = -(double)kept[n] / total;
    }
    var *weight = tape_upload(t, type, 2, (size_t[]){nq, way}, host);
    return op_sum(t, op_mul(t, op_log_softmax(t, scores, 1), weight), 3, DROP_AXES);
done:
    return tape_fail(t, st);
}

/* What the chunks of queries share beside the support's directions. */
struct job {
    struct mn4 s;
    size_t way, rs;
    const size_t *first; /* [way + 1] pictures of the classes */
    bool equal;
    size_t *kept; /* [nq] to be filled in */
};

/* The largest of each class's columns of cosines [nq, rq, features]: [nq, rq, way] */
static var *best_of_classes(tape *t, const struct job *j, var *cosines)
{
    void *host;
    if (!cosines) return NULL;
    const size_t nq = cosines->value.dim[0], rq = cosines->value.dim[1], m = cosines->value.dim[2];
    if (j->equal) return op_max(t, op_reshape(t, cosines, 4, (size_t[]){nq, rq, j->way, m / j->way}), 3);
    const status st = tape_host(t, j->way * sizeof(var *), &host);
    if (st != OK) return tape_fail(t, st);
    var **each = host;
    for (size_t c = 0; c < j->way; c++) {
        var *own = op_max(t, op_slice(t, cosines, 2, j->first[c] * j->rs, j->first[c + 1] * j->rs), 2);
        each[c] = op_reshape(t, own, 3, (size_t[]){nq, rq, 1});
    }
    return op_concat(t, j->way, each, 2);
}

/* Scores of some queries; shared[0] are the support's directions [features, C]. */
static var *score_some(tape *t, const void *context, var *const *shared, var *query, size_t first)
{
    const struct job *j = context;
    var *cosines = op_matmul(t, op_l2norm(t, query, 1), true, shared[0], true); /* [nq, rq, features] */
    var *best = best_of_classes(t, j, cosines);
    if (!best) return NULL;
    struct matches m = {.nq = query->value.dim[0],
                        .rq = query->value.dim[2],
                        .way = j->way,
                        .features = cosines->value.dim[2],
                        .type = cosines->value.type};
    if (!match(t, &j->s, cosines, best, &m)) return NULL;
    return op_sum(t, op_mul(t, best, weights(t, &j->s, &m, j->kept + first)), 1u << 1, DROP_AXES);
}

static struct job *job_new(tape *t, const struct mn4 *s, const struct episode *e, const struct shots *shots)
{
    status st = OK;
    void *host, *kept;
    TRY(tape_host(t, sizeof(struct job), &host));
    TRY(tape_host(t, e->query->value.dim[0] * sizeof(size_t), &kept));
    *(struct job *)host = (struct job){.s = *s,
                                       .way = e->way,
                                       .rs = e->support->value.dim[2],
                                       .first = shots->first,
                                       .equal = shots->equal || s->shots == AVERAGE,
                                       .kept = kept};
    return host;
done:
    tape_fail(t, st);
    return NULL;
}

static bool mn4_forward(tape *t, const void *settings, struct params *params, const struct episode *e, unsigned want,
                        struct head_result *out)
{
    const struct mn4 *s = settings;
    struct shots shots;
    (void)params;
    (void)want;
    if (!e->query || !shots_sort(t, e, &shots)) return false;
    if (s->keep == LEADING && e->way < 2)
        return tape_fail(t, fail(ST_VALUE,
                                 "dmn4 compares the best class with the second; this episode has one class")) != NULL;
    var *maps = s->shots == AVERAGE ? op_class_mean(t, e->support, e->support_labels, e->way) : shots.support;
    const struct job *j = maps ? job_new(t, s, e, &shots) : NULL;
    if (!j) return false;
    const size_t c = maps->value.dim[1], features = maps->value.dim[0] * j->rs, rq = e->query->value.dim[2];
    var *rows = op_reshape(t, op_permute(t, op_l2norm(t, maps, 1), (int[]){0, 2, 1}), 2, (size_t[]){features, c});
    const size_t numbers = rq * (c + 2 * features);
    const struct chunks chunks = {chunks_rows(t, maps->value.type, numbers), e->way, score_some, j};
    out->scores = op_chunks(t, &chunks, 1, &rows, e->query);
    if (e->query_labels && s->norm) out->loss = weighted_loss(t, out->scores, e->query_labels, j->kept);
    else if (e->query_labels) out->loss = op_cross_entropy(t, out->scores, e->query_labels);
    return out->scores && (out->loss || !e->query_labels);
}

const struct head mn4_head = {
    .name = "mn4",
    .title = "nearest features, for locations that are nearest in turn",
    .paper = "Liu et al., DMN4: Few-shot Learning via Discriminative Mutual Nearest Neighbor Neural Network, AAAI 2022",
    .options = mn4_options,
    .settings_bytes = sizeof(struct mn4),
    .forward = mn4_forward};

const struct head dmn4_head = {
    .name = "dmn4",
    .title = "nearest features, for the location that tells classes apart best",
    .paper = "Liu et al., DMN4: Few-shot Learning via Discriminative Mutual Nearest Neighbor Neural Network, AAAI 2022",
    .options = dmn4_options,
    .settings_bytes = sizeof(struct mn4),
    .presets = keep_leading,
    .forward = mn4_forward};
