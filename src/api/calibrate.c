/* calibrate.c - what familiar and probable mean, learned from the known pictures themselves.
 *
 * Each picture of a class with two or more is left out in turn and treated as a query against the rest. How familiar it then
 * looks is how pictures of these classes look; a new one's familiarity is the part of them that would look stranger, by
 * Student's distribution with the mean and deviation of those that were left out, which works for few where ranks do not.
 * The same pictures, whose classes are known, say how sure the head may be: one temperature is fitted to its
 * probabilities. docs/classify.md has the reasons and what it achieves. */
#include "api/classifier.h"
#include "base/size.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LEFT_OUT = 256 }; /* pictures; of more, an even choice */
enum { TEMPERATURES = 65 };   /* from 1/5 to 5 */
static const double CHANCE_WEIGHT = 0.05, DOUBT_PENALTY = 30;

bool calibration_fits(const struct calibration *k, const centra_classifier *c)
{
    return k->head && !strcmp(k->head, c->words);
}

int centra_support_calibrated(const centra_support *s, const centra_classifier *c)
{
    return s && c && calibration_fits(&s->calibration, c);
}

size_t best_class(const double *probabilities, size_t way)
{
    size_t best = 0;
    for (size_t i = 1; i < way; i++)
        if (probabilities[i] > probabilities[best]) best = i;
    return best;
}

double familiar_score(const float *likeness, const struct rows *known, size_t except, size_t best, double probability)
{
    double sum = 0, count = 0;
    for (size_t i = 0; i < known->count; i++)
        if ((size_t)known->labels[i] == best && i != except) {
            sum += (double)likeness[i];
            count++;
        }
    return sum / count + CHANCE_WEIGHT * log(fmax(probability, 1e-9));
}

/* Leaving out */

struct trial {
    size_t count, *row; /* owned: the rows that are left out */
    float *features;    /* owned, [count, numbers]: theirs */
    float *likeness;    /* owned, [count, rows] */
    double *chances;    /* owned, [count, way] */
    size_t *best;       /* owned, [count]: the most probable class of each */
    float *rest;        /* owned, [rows, numbers]: the support without one of them */
    int32_t *label;     /* owned, [rows] */
};

static void trial_free(struct trial *t)
{
    free(t->row);
    free(t->features);
    free(t->likeness);
    free(t->chances);
    free(t->best);
    free(t->rest);
    free(t->label);
}

static bool is_spare(const centra_support *s, size_t row) { return s->class[s->label[row]].count > 1; }

/* Chooses the rows, evenly when there are many. */
static void choose_rows(const centra_support *s, size_t spare, size_t wanted, struct trial *t)
{
    size_t seen = 0;
    for (size_t row = 0; row < s->count && t->count < wanted; row++)
        if (is_spare(s, row) && seen++ * wanted / spare >= t->count) t->row[t->count++] = row;
}

static status trial_new(const centra_support *s, struct trial *t)
{
    const size_t numbers = support_numbers(s), bytes = numbers * sizeof(float);
    size_t spare = 0;
    for (size_t row = 0; row < s->count; row++) spare += is_spare(s, row);
    const size_t wanted = size_min(spare, MOST_LEFT_OUT), room = size_max(wanted, 1), rows = size_max(s->count, 1);
    t->row = calloc(room, sizeof *t->row);
    t->features = calloc(room, size_max(bytes, 1));
    t->likeness = calloc(room, rows * sizeof *t->likeness);
    t->chances = calloc(room, size_max(s->classes, 1) * sizeof *t->chances);
    t->best = calloc(room, sizeof *t->best);
    t->rest = calloc(rows, size_max(bytes, 1));
    t->label = calloc(rows, sizeof *t->label);
    if (!t->row || !t->features || !t->likeness || !t->chances || !t->best || !t->rest || !t->label)
        return fail(ST_MEMORY, "no memory to leave %zu known pictures out", wanted);
    choose_rows(s, spare, wanted, t);
    for (size_t i = 0; i < t->count; i++) memcpy(t->features + i * numbers, s->features + t->row[i] * numbers, bytes);
    for (size_t row = 1; row < s->count; row++) { /* all but row 0 */
        memcpy(t->rest + (row - 1) * numbers, s->features + row * numbers, bytes);
        t->label[row - 1] = s->label[row];
    }
    return OK;
}

/* From the support without row `from` to that without row `to`, which comes behind it. */
static void move_gap(struct trial *t, const centra_support *s, size_t from, size_t to)
{
    const size_t numbers = support_numbers(s);
    memcpy(t->rest + from * numbers, s->features + from * numbers, (to - from) * numbers * sizeof(float));
    memcpy(t->label + from, s->label + from, (to - from) * sizeof *t->label);
}

static status leave_out(centra_classifier *c, const centra_support *s, struct trial *t)
{
    const struct rows all = support_rows(s);
    struct rows rest = all;
    status st = OK;
    rest.features = t->rest;
    rest.labels = t->label;
    rest.count--;
    for (size_t i = 0, gap = 0; i < t->count; gap = t->row[i++]) {
        move_gap(t, s, gap, t->row[i]);
        TRY(classifier_score(c, &rest, t->features + i * support_numbers(s), 1, t->chances + i * all.way));
    }
    for (size_t i = 0; i < t->count; i++) t->best[i] = best_class(t->chances + i * all.way, all.way);
    TRY(classifier_likeness(c, &all, t->features, t->count, t->best, t->likeness));
done:
    return st;
}

/* What is learned */

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static status fit_scores(const centra_support *s, const struct trial *t, struct calibration *k)
{
    const struct rows all = support_rows(s);
    k->score = calloc(t->count, sizeof *k->score);
    if (!k->score) return fail(ST_MEMORY, "no memory for a calibration");
    for (size_t i = 0; i < t->count; i++) {
        const size_t best = t->best[i];
        k->score[i] = familiar_score(t->likeness + i * all.count, &all, t->row[i], best,
                                     t->chances[i * all.way + best]);
    }
    k->count = t->count;
    qsort(k->score, k->count, sizeof *k->score, by_size);
    calibration_measure(k);
    return OK;
}

/* - log of what the temperature leaves of the true class's probability */
static double surprise(const double *p, size_t way, size_t truth, double temperature)
{
    double top = -INFINITY, sum = 0;
    for (size_t c = 0; c < way; c++) top = fmax(top, log(fmax(p[c], 1e-12)) / temperature);
    for (size_t c = 0; c < way; c++) sum += exp(log(fmax(p[c], 1e-12)) / temperature - top);
    return log(sum) + top - log(fmax(p[truth], 1e-12)) / temperature;
}

/* The temperature under which the left-out pictures' classes are least surprising. (log T)^2 is added, so that few pictures do
 * not say much; and above 1 thirty times that, because a class that lacks a picture is always told worse than it will be. */
static double fit_temperature(const centra_support *s, const struct trial *t)
{
    double best = INFINITY, temperature = 1;
    for (int i = 0; i < TEMPERATURES; i++) {
        const double log_t = log(5.0) * (2.0 * i / (TEMPERATURES - 1) - 1);
        double cost = (log_t > 0 ? DOUBT_PENALTY : 1) * log_t * log_t;
        for (size_t k = 0; k < t->count; k++)
            cost += surprise(t->chances + k * s->classes, s->classes, (size_t)s->label[t->row[k]], exp(log_t));
        if (cost < best) {
            best = cost;
            temperature = exp(log_t);
        }
    }
    return temperature;
}

centra_status centra_support_calibrate(centra_support *s, centra_classifier *c)
{
    struct calibration k = {.temperature = 1};
    struct trial t = {0};
    status st = OK;
    if (!s || !c) return (centra_status)fail(ST_USAGE, "centra_support_calibrate needs a support and a classifier");
    TRY(classify_ready(c, s));
    k.head = strdup(c->words);
    if (!k.head) TRY(fail(ST_MEMORY, "no memory for a calibration"));
    TRY(trial_new(s, &t));
    if (t.count) {
        TRY(leave_out(c, s, &t));
        TRY(fit_scores(s, &t, &k));
        k.temperature = fit_temperature(s, &t);
    }
    calibration_free(&s->calibration);
    s->calibration = k;
    k = (struct calibration){.temperature = 1};
done:
    trial_free(&t);
    calibration_free(&k);
    return (centra_status)st;
}
