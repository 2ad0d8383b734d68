/* against.c - queries against known pictures: the head's probabilities, and how alike pictures are place by place.
 *
 * Both go over the queries in groups that bound the memory; a query's numbers do not depend on its group. */
#include "api/classifier.h"
#include "base/size.h"
#include <math.h>
#include <string.h>

enum { QUERIES_AT_ONCE = 64, ALIKE_AT_ONCE = 16, COSINES_AT_ONCE = 4 << 20 };

static var *host_maps(tape *t, const struct rows *like, const float *data, size_t count)
{
    return classifier_lend(t, 3, (size_t[]){count, like->channels, like->locations}, data);
}

static status score_group(centra_classifier *c, const struct rows *known, const float *queries, size_t count,
                          float *scores)
{
    tape *t = c->session->tape;
    struct device *d = c->session->dev;
    struct head_result r = {0};
    status st = OK;
    tape_reset(t, TAPE_INFERENCE);
    struct episode e = {.way = known->way, .support_host = known->labels};
    e.support = host_maps(t, known, known->features, known->count);
    e.query = host_maps(t, known, queries, count);
    e.support_labels = op_labels(t, known->labels, known->count, known->way);
    TRY(tape_status(t));
    c->head->forward(t, c->head_settings, c->head_params, &e, 0, &r);
    TRY(tape_status(t));
    TRY(d->download(d, scores, r.scores->value.data, tensor_bytes(&r.scores->value)));
done:
    return st;
}

/* exp(x - max) / sum for logits; probabilities are taken as they are, but for rounding that keeps them from summing to 1. */
static status to_probabilities(const struct head *h, const float *scores, size_t way, double *out)
{
    double top = (double)scores[0], sum = 0;
    for (size_t i = 1; i < way; i++) top = fmax(top, (double)scores[i]);
    for (size_t i = 0; i < way; i++) {
        out[i] = h->probabilities ? fmax((double)scores[i], 0) : exp((double)scores[i] - top);
        sum += out[i];
    }
    if (!isfinite(sum) || !(sum > 0))
        return fail(ST_NUMERIC, "the head %s has no finite scores for a picture", h->name);
    for (size_t i = 0; i < way; i++) out[i] /= sum;
    return OK;
}

status classifier_score(centra_classifier *c, const struct rows *known, const float *queries, size_t count,
                        double *probabilities)
{
    const size_t each = known->channels * known->locations, most = size_min(count, QUERIES_AT_ONCE);
    status st = OK;
    TRY(block_reserve(&c->scores, most, known->way * sizeof(float), "the scores"));
    for (size_t first = 0; first < count; first += most) {
        const size_t n = size_min(most, count - first);
        const float *scores = c->scores.data;
        TRY(score_group(c, known, queries + first * each, n, c->scores.data));
        for (size_t i = 0; i < n; i++)
            TRY(to_probabilities(c->head, scores + i * known->way, known->way,
                                 probabilities + (first + i) * known->way));
    }
done:
    return st;
}

/* [n, C, l] as rows [n * l, C] */
static var *places(tape *t, var *maps, size_t count, const struct rows *like)
{
    var *x = op_permute(t, maps, (int[]){0, 2, 1});
    return op_reshape(t, x, 2, (size_t[]){count * like->locations, like->channels});
}

static status likeness_group(centra_classifier *c, const struct rows *known, const float *queries, size_t count,
                             float *out)
{
    tape *t = c->session->tape;
    struct device *d = c->session->dev;
    const size_t l = known->locations, n = known->count;
    status st = OK;
    tape_reset(t, TAPE_INFERENCE);
    var *q = places(t, host_maps(t, known, queries, count), count, known);
    var *s = places(t, host_maps(t, known, known->features, n), n, known);
    var *cosines = op_reshape(t, op_cosine(t, q, s), 3, (size_t[]){count, l, n * l});
    var *best = op_reshape(t, op_max(t, cosines, 1), 3, (size_t[]){count, n, l}); /* of each known place */
    var *half = op_top_k(t, best, 2, (l + 1) / 2, NULL);
    var *mean = op_mean(t, half, 1u << 2, DROP_AXES);
    TRY(tape_status(t));
    TRY(d->download(d, out, mean->value.data, tensor_bytes(&mean->value)));
done:
    return st;
}

/* Queries that are compared with the pictures of one class. */
struct alike {
    struct rows class;
    size_t row; /* the class's first among the known pictures */
    size_t count, most;
    size_t query[ALIKE_AT_ONCE];
    float *maps, *likeness; /* [most, channels, locations], [most, class.count] */
};

static status alike_compare(centra_classifier *c, struct alike *a, size_t known_count, float *out)
{
    status st = OK;
    if (!a->count) return OK;
    TRY(likeness_group(c, &a->class, a->maps, a->count, a->likeness));
    for (size_t i = 0; i < a->count; i++)
        memcpy(out + a->query[i] * known_count + a->row, a->likeness + i * a->class.count,
               a->class.count * sizeof *out);
    a->count = 0;
done:
    return st;
}

/* On to the class whose pictures follow those of the last. */
static void alike_next(struct alike *a, const struct rows *known)
{
    const size_t l = known->locations, row = a->row + a->class.count;
    a->row = row;
    a->class = *known;
    a->class.count = 0;
    while (row + a->class.count < known->count && known->labels[row + a->class.count] == known->labels[row])
        a->class.count++;
    a->class.features += row * known->channels * l;
    a->class.labels += row;
    a->most = size_max(1, size_min(ALIKE_AT_ONCE, COSINES_AT_ONCE / (l * l * size_max(1, a->class.count))));
}

status classifier_likeness(centra_classifier *c, const struct rows *known, const float *queries, size_t count,
                           const size_t *class, float *out)
{
    const size_t each = known->channels * known->locations;
    struct alike a = {0};
    status st = OK;
    TRY(block_reserve(&c->alike, ALIKE_AT_ONCE, (each + known->count) * sizeof(float), "the features"));
    a.maps = c->alike.data;
    a.likeness = a.maps + ALIKE_AT_ONCE * each;
    for (size_t k = 0; k < known->way; k++) {
        alike_next(&a, known);
        for (size_t i = 0; i < count; i++) {
            if (class[i] != k) continue;
            memcpy(a.maps + a.count * each, queries + i * each, each * sizeof *queries);
            a.query[a.count++] = i;
            if (a.count == a.most) TRY(alike_compare(c, &a, known->count, out));
        }
        TRY(alike_compare(c, &a, known->count, out));
    }
done:
    return st;
}
