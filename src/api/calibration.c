/* calibration.c - using what calibrate.c has learned: from a score to a familiarity, from sharp or blunt probabilities to right
 * ones. */
#include "api/classifier.h"
#include "eval/interval.h"
#include <math.h>
#include <stdlib.h>

static const double LEAST_SPREAD = 0.01; /* of scores: equal pictures in a class must not make all others strange */

void calibration_free(struct calibration *k)
{
    free(k->score);
    free(k->head);
    *k = (struct calibration){.temperature = 1};
}

void calibration_measure(struct calibration *k)
{
    double sum = 0, squares = 0;
    if (k->count < 2) return;
    for (size_t i = 0; i < k->count; i++) sum += k->score[i];
    k->mean = sum / (double)k->count;
    for (size_t i = 0; i < k->count; i++) squares += (k->score[i] - k->mean) * (k->score[i] - k->mean);
    k->spread = fmax(LEAST_SPREAD, sqrt(squares / (double)(k->count - 1)));
}

double calibration_rank(const struct calibration *k, double score)
{
    if (k->count < 2) return NAN;
    const double n = (double)k->count, deviation = k->spread * sqrt(1 + 1 / n);
    return student_below((score - k->mean) / deviation, n - 1);
}

void calibration_temper(double temperature, double *p, size_t way)
{
    double top = 0, sum = 0;
    if (temperature == 1) return;
    for (size_t i = 0; i < way; i++) top = fmax(top, p[i]);
    for (size_t i = 0; i < way; i++) {
        p[i] = p[i] > 0 ? exp(log(p[i] / top) / temperature) : 0;
        sum += p[i];
    }
    for (size_t i = 0; i < way; i++) p[i] /= sum;
}
