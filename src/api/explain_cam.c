/* explain_cam.c - Grad-CAM of the last convolution (Selvaraju et al., ICCV 2017), for every head.
 *
 *     weight[c] = mean over the query's places i of d ln p / d F[c, i]        p: the class's probability
 *     map[i]    = the positive part of: sum over c of weight[c] F[c, i]
 *
 * scaled to sum to 1. ln p is minus the head's loss with the class as label (with the loss's own temperature, if it has one), so that whatever a head can be trained by also
 * explains it. Heads that are fitted to an episode cannot be trained; a channel's weight is then a difference quotient: all of its
 * places are raised and lowered a little and scored, many channels at once. A map without a positive part has nothing to
 * show and is even. */
#include "api/explain.h"
#include "base/size.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NUMBERS = 16 << 20 }; /* of the queries that are scored at once for difference quotients */
static const double STEP = 0.02;  /* of the features' root mean square */

static centra_episode episode_of(const struct why_input *in, const float *queries, size_t count, const int64_t *labels)
{
    const size_t places = in->height * in->width;
    return (centra_episode){.precision = CENTRA_F32,
                            .channels = in->channels,
                            .support_count = in->count,
                            .support_locations = places,
                            .support = in->known,
                            .support_labels = in->labels,
                            .query_count = count,
                            .query_locations = places,
                            .query = queries,
                            .query_labels = labels};
}

/* weight[c] from the loss's gradient. */
static status by_gradient(const struct why_input *in, size_t class_index, double *weight)
{
    const size_t places = in->height * in->width;
    const int64_t label = (int64_t)class_index;
    float *gradient = malloc(in->channels * places * sizeof *gradient);
    if (!gradient) return fail(ST_MEMORY, "no memory for a gradient of %zu channels", in->channels);
    const centra_episode e = episode_of(in, in->query, 1, &label);
    const centra_result r = {.grad_query = gradient};
    const status st = (status)centra_head_score(in->head, &e, &r);
    for (size_t c = 0; st == OK && c < in->channels; c++) {
        double sum = 0;
        for (size_t i = 0; i < places; i++) sum -= (double)gradient[c * places + i];
        weight[c] = sum / (double)places;
    }
    free(gradient);
    return st;
}

static double size_of_features(const float *x, size_t n)
{
    double square = 0;
    for (size_t i = 0; i < n; i++) square += (double)x[i] * (double)x[i];
    return square > 0 ? sqrt(square / (double)n) : 1;
}

/* ln p of a class from a row of scores. */
static double log_probability(const float *scores, size_t way, size_t class_index, bool probabilities)
{
    const double own = (double)scores[class_index];
    if (probabilities) return log(fmax(own, 1e-30));
    double most = own, sum = 0;
    for (size_t k = 0; k < way; k++) most = fmax(most, (double)scores[k]);
    for (size_t k = 0; k < way; k++) sum += exp((double)scores[k] - most);
    return own - most - log(sum);
}

/* Copies of the query, two a channel from `first` on: raised and lowered there. */
static void raise_and_lower(const struct why_input *in, size_t first, size_t channels, float step, float *out)
{
    const size_t places = in->height * in->width, each = in->channels * places;
    for (size_t k = 0; k < 2 * channels; k++) {
        float *copy = out + k * each;
        memcpy(copy, in->query, each * sizeof *copy);
        for (size_t i = 0; i < places; i++) copy[(first + k / 2) * places + i] += k % 2 ? -step : step;
    }
}

static status by_differences(const struct why_input *in, size_t class_index, double *weight)
{
    status st = OK;
    const size_t places = in->height * in->width, each = in->channels * places;
    const size_t at_once = size_min(in->channels, size_max(1, MOST_NUMBERS / 2 / each));
    const double step = STEP * size_of_features(in->query, each);
    float *queries = malloc(2 * at_once * each * sizeof *queries), *scores = NULL;
    size_t way = 0;
    const centra_episode shape = episode_of(in, in->query, 1, NULL);
    TRY((status)centra_episode_way(&shape, &way));
    scores = malloc(2 * at_once * way * sizeof *scores);
    if (!queries || !scores)
        TRY(fail(ST_MEMORY, "no memory for %zu queries of %zu channels", 2 * at_once, in->channels));
    for (size_t first = 0; first < in->channels; first += at_once) {
        const size_t n = size_min(at_once, in->channels - first);
        raise_and_lower(in, first, n, (float)step, queries);
        const centra_episode e = episode_of(in, queries, 2 * n, NULL);
        const centra_result r = {.scores = scores};
        TRY((status)centra_head_score(in->head, &e, &r));
        const bool p = in->head->head->probabilities;
        for (size_t c = 0; c < n; c++)
            weight[first + c] = (log_probability(scores + 2 * c * way, way, class_index, p) -
                                 log_probability(scores + (2 * c + 1) * way, way, class_index, p)) /
                                (2 * step * (double)places);
    }
done:
    free(queries);
    free(scores);
    return st;
}

/* The weights' scale does not matter; where the head is very sure they are tiny, and their products must not vanish. */
static void weighted_map(const struct why_input *in, const double *weight, float *out)
{
    const size_t places = in->height * in->width;
    double total = 0, largest = 0;
    for (size_t c = 0; c < in->channels; c++) largest = fmax(largest, fabs(weight[c]));
    for (size_t i = 0; i < places; i++) {
        double sum = 0;
        for (size_t c = 0; c < in->channels; c++)
            sum += weight[c] / (largest > 0 ? largest : 1) * (double)in->query[c * places + i];
        out[i] = sum > 0 ? (float)sum : 0;
        total += (double)out[i];
    }
    for (size_t i = 0; i < places; i++) out[i] = (float)(total > 0 ? (double)out[i] / total : 1 / (double)places);
}

status why_grad_cam(const struct why_input *in, size_t class_index, float *out)
{
    double *weight = malloc(in->channels * sizeof *weight);
    if (!weight) return fail(ST_MEMORY, "no memory for the weights of %zu channels", in->channels);
    const status st = in->head->head->fitted ? by_differences(in, class_index, weight)
                                             : by_gradient(in, class_index, weight);
    if (st == OK) weighted_map(in, weight, out);
    free(weight);
    return st;
}
