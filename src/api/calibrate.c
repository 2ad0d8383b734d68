/* calibrate.c - what familiar means, learned from the known pictures themselves.
 *
 * Each picture of a class with two or more is left out in turn and treated as a query against the rest. How familiar it then
 * looks with the class it is given is what pictures of these classes look like; a new picture's familiarity is the part of
 * them that looked stranger (docs/classify.md). */
#include "api/classifier.h"
#include "base/size.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LEFT_OUT = 256 }; /* pictures; of more, an even choice */

void calibration_free(struct calibration *k)
{
    free(k->score);
    free(k->head);
    *k = (struct calibration){.temperature = 1};
}

bool calibration_fits(const struct calibration *k, const centra_classifier *c)
{
    return k->head && !strcmp(k->head, c->words);
}

double calibration_rank(const struct calibration *k, double score)
{
    size_t low = 0, high = k->count;
    if (!k->count) return NAN;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (k->score[mid] < score) low = mid + 1;
        else high = mid;
    }
    return (double)(low + 1) / (double)(k->count + 1);
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

double familiar_score(const float *likeness, const int32_t *labels, size_t count, size_t best)
{
    double most = -1;
    for (size_t i = 0; i < count; i++)
        if ((size_t)labels[i] == best) most = fmax(most, (double)likeness[i]);
    return most;
}

/* The support without one row. */
struct rest {
    float *features; /* owned, [count - 1, numbers] */
    int32_t *labels; /* owned, [count - 1] */
    double *chances; /* owned, [way] */
    float *likeness; /* owned, [count - 1] */
};

static status rest_new(const centra_support *s, struct rest *r)
{
    const size_t n = s->count;
    r->features = malloc(n * support_numbers(s) * sizeof(float));
    r->labels = malloc(n * sizeof *r->labels);
    r->chances = malloc(s->classes * sizeof *r->chances);
    r->likeness = malloc(n * sizeof *r->likeness);
    if (!r->features || !r->labels || !r->chances || !r->likeness)
        return fail(ST_MEMORY, "no memory to leave one of %zu pictures out", n);
    memcpy(r->features, s->features + support_numbers(s), (n - 1) * support_numbers(s) * sizeof(float));
    memcpy(r->labels, s->label + 1, (n - 1) * sizeof *r->labels);
    return OK;
}

static void rest_free(struct rest *r)
{
    free(r->features);
    free(r->labels);
    free(r->chances);
    free(r->likeness);
}

/* From "all but row - 1" to "all but row": one row changes. */
static void rest_next(struct rest *r, const centra_support *s, size_t from, size_t row)
{
    const size_t numbers = support_numbers(s);
    for (size_t i = from; i < row; i++) {
        memcpy(r->features + i * numbers, s->features + i * numbers, numbers * sizeof(float));
        r->labels[i] = s->label[i];
    }
}

static status leave_out(centra_classifier *c, const centra_support *s, const struct rest *r, size_t row, double *score)
{
    const struct rows known = {r->features, r->labels, s->count - 1, s->classes, s->channels, s->height * s->width};
    const float *query = s->features + row * support_numbers(s);
    size_t best = 0;
    status st = OK;
    TRY(classifier_score(c, &known, query, 1, r->chances));
    TRY(classifier_likeness(c, &known, query, 1, r->likeness));
    for (size_t i = 1; i < s->classes; i++)
        if (r->chances[i] > r->chances[best]) best = i;
    *score = familiar_score(r->likeness, r->labels, known.count, best);
done:
    return st;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Pictures that can be left out: not the only ones of their class. */
static size_t spare_count(const centra_support *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->classes; i++) n += s->class[i].count > 1 ? s->class[i].count : 0;
    return n;
}

static status leave_each_out(centra_classifier *c, const centra_support *s, struct calibration *k)
{
    const size_t spare = spare_count(s), wanted = size_min(spare, MOST_LEFT_OUT);
    size_t seen = 0, from = 0;
    struct rest r = {0};
    status st = OK;
    if (!wanted) return OK;
    k->score = malloc(wanted * sizeof *k->score);
    if (!k->score) return fail(ST_MEMORY, "no memory for a calibration");
    TRY(rest_new(s, &r));
    for (size_t row = 0; row < s->count && k->count < wanted; row++) {
        if (s->class[s->label[row]].count < 2) continue;
        if (seen++ * wanted / spare < k->count) continue; /* picture `seen` of `spare` belongs to one that is there */
        rest_next(&r, s, from, row);
        from = row;
        TRY(leave_out(c, s, &r, row, &k->score[k->count]));
        k->count++;
    }
    qsort(k->score, k->count, sizeof *k->score, by_size);
done:
    rest_free(&r);
    return st;
}

centra_status centra_support_calibrate(centra_support *s, centra_classifier *c)
{
    struct calibration k = {.temperature = 1};
    status st = OK;
    if (!s || !c) return (centra_status)fail(ST_USAGE, "centra_support_calibrate needs a support and a classifier");
    TRY(classify_ready(c, s));
    k.head = strdup(c->words);
    if (!k.head) TRY(fail(ST_MEMORY, "no memory for a calibration"));
    TRY(leave_each_out(c, s, &k));
    calibration_free(&s->calibration);
    s->calibration = k;
    k = (struct calibration){0};
done:
    calibration_free(&k);
    return (centra_status)st;
}

int centra_support_calibrated(const centra_support *s, const centra_classifier *c)
{
    return s && c && calibration_fits(&s->calibration, c);
}
