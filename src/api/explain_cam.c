/* explain_cam.c - Grad-CAM of the last convolution (Selvaraju et al., ICCV 2017), for every head.
 *
 *     weight[c] = mean over the query's places i of d ln p / d F[c, i]        p: the class's probability
 *     map[i]    = the positive part of: sum over c of weight[c] F[c, i]
 *
 * scaled to sum to 1. ln p is minus the head's loss with the class as label (with the loss's own temperature, if it has
 * one), so that whatever a head can be trained by also explains it. Heads that are fitted to an episode cannot be
 * trained; a channel's weight is then a difference quotient: all of its places are raised and lowered a little and
 * scored, many channels at once. A map without a positive part has nothing to show and is even. */
#include "api/explain.h"
#include "base/size.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NUMBERS = 16 << 20 };   /* of the queries that are scored at once for difference quotients */
static const double STEP = 0.02;    /* of the features' root mean square */
static const double LEAST = 1e-300; /* probability that has a logarithm */

/* Fills `gradient`, [channels, places], with that of the loss. */
static status loss_gradient(const struct why_input *in, size_t class_index, float *gradient)
{
    status st = OK;
    centra_classifier *c = in->classifier;
    tape *t = c->session->tape;
    struct device *d = tape_device(t);
    const struct rows *k = &in->known;
    const size_t dim[] = {1, k->channels, k->locations};
    const int32_t label = (int32_t)class_index;
    struct head_result r = {0};
    tensor grad;
    if (c->head_params) TRY(params_zero_grad(c->head_params));
    tape_reset(t, TAPE_TRAINING);
    struct episode e = {.way = k->way, .support_host = k->labels};
    e.support = tape_upload(t, DT_F32, 3, (size_t[]){k->count, k->channels, k->locations}, k->features);
    const var *query = tape_upload(t, DT_F32, 3, dim, in->query);
    TRY(tape_tensor(t, DT_F32, 3, dim, &grad));
    TRY(tape_status(t));
    e.query = tape_leaf(t, &query->value, &grad, GRAD_OVERWRITES);
    e.support_labels = op_labels(t, k->labels, k->count, k->way);
    e.query_labels = op_labels(t, &label, 1, k->way);
    TRY(tape_status(t));
    c->head->forward(t, c->head_settings, c->head_params, &e, 0, &r);
    TRY(tape_status(t));
    TRY(tape_backward(t, r.loss));
    TRY(d->download(d, gradient, grad.data, tensor_bytes(&grad)));
    TRY(d->sync(d));
done:
    tape_reset(t, TAPE_INFERENCE);
    return st;
}

/* weight[c] from the loss's gradient. */
static status by_gradient(const struct why_input *in, size_t class_index, double *weight)
{
    const size_t places = in->known.locations;
    float *gradient = malloc(in->known.channels * places * sizeof *gradient);
    if (!gradient) return fail(ST_MEMORY, "no memory for a gradient of %zu channels", in->known.channels);
    const status st = loss_gradient(in, class_index, gradient);
    for (size_t c = 0; st == OK && c < in->known.channels; c++) {
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

/* Copies of the query, two a channel from `first` on: raised and lowered there. */
static void raise_and_lower(const struct why_input *in, size_t first, size_t channels, float step, float *out)
{
    const size_t places = in->known.locations, each = in->known.channels * places;
    for (size_t k = 0; k < 2 * channels; k++) {
        float *copy = out + k * each;
        memcpy(copy, in->query, each * sizeof *copy);
        for (size_t i = 0; i < places; i++) copy[(first + k / 2) * places + i] += k % 2 ? -step : step;
    }
}

static status by_differences(const struct why_input *in, size_t class_index, double *weight)
{
    status st = OK;
    const struct rows *k = &in->known;
    const size_t each = k->channels * k->locations;
    const size_t at_once = size_min(k->channels, size_max(1, MOST_NUMBERS / 2 / each));
    const double step = STEP * size_of_features(in->query, each);
    float *queries = malloc(2 * at_once * each * sizeof *queries);
    double *p = malloc(2 * at_once * k->way * sizeof *p);
    if (!queries || !p) TRY(fail(ST_MEMORY, "no memory for %zu queries of %zu channels", 2 * at_once, k->channels));
    for (size_t first = 0; first < k->channels; first += at_once) {
        const size_t n = size_min(at_once, k->channels - first);
        raise_and_lower(in, first, n, (float)step, queries);
        TRY(classifier_score(in->classifier, k, queries, 2 * n, p));
        for (size_t c = 0; c < n; c++) {
            const double raised = p[2 * c * k->way + class_index], lowered = p[(2 * c + 1) * k->way + class_index];
            weight[first + c] = (log(fmax(raised, LEAST)) - log(fmax(lowered, LEAST))) /
                                (2 * step * (double)k->locations);
        }
    }
done:
    free(queries);
    free(p);
    return st;
}

/* The weights' scale does not matter; where the head is very sure they are tiny, and their products must not vanish. */
static void weighted_map(const struct why_input *in, const double *weight, float *out)
{
    const size_t places = in->known.locations;
    double total = 0, largest = 0;
    for (size_t c = 0; c < in->known.channels; c++) largest = fmax(largest, fabs(weight[c]));
    for (size_t i = 0; i < places; i++) {
        double sum = 0;
        for (size_t c = 0; c < in->known.channels; c++)
            sum += weight[c] / (largest > 0 ? largest : 1) * (double)in->query[c * places + i];
        out[i] = sum > 0 ? (float)sum : 0;
        total += (double)out[i];
    }
    for (size_t i = 0; i < places; i++) out[i] = (float)(total > 0 ? (double)out[i] / total : 1 / (double)places);
}

status why_grad_cam(const struct why_input *in, size_t class_index, float *out)
{
    double *weight = malloc(in->known.channels * sizeof *weight);
    if (!weight) return fail(ST_MEMORY, "no memory for the weights of %zu channels", in->known.channels);
    const status st = in->classifier->head->fitted ? by_differences(in, class_index, weight)
                                                   : by_gradient(in, class_index, weight);
    if (st == OK) weighted_map(in, weight, out);
    free(weight);
    return st;
}
