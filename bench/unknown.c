/* unknown.c - how well `centra classify` knows what it does not know: episodes of some known classes and as many others, drawn
 * from a data set, through the public library.
 *
 *     cc -O2 bench/unknown.c -Iinclude -Lbuild -lcentra -lm -Wl,-rpath,$PWD/build -o build/unknown
 *     build/unknown MODEL DATA SPLIT [SHOT [EPISODES [SEED [HEAD [THREADS]]]]]
 *
 * Each episode has 5 known classes with SHOT pictures and 5 other classes, 8 queries of each. AUROC is the chance that a query of
 * a known class is more familiar than one of another; false alarms are queries of known classes below 0.05, found are those of
 * others. ECE is the calibration error of the probabilities of known classes' queries in 15 bins. */
#include "centra.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAY = 5, QUERIES = 8, BINS = 15, MOST_SHOT = 20 };

struct tally {
    double *known, *other; /* familiarity of queries */
    size_t known_count, other_count, right;
    double sum[2][BINS], right_in[2][BINS]; /* before and after the temperature */
    size_t in[2][BINS];
};

static void need(centra_status st)
{
    if (st == CENTRA_OK) return;
    fprintf(stderr, "unknown: %s\n", centra_message());
    exit(1);
}

static uint64_t state;
static size_t below(size_t n) /* splitmix64 */
{
    uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (size_t)((z ^ z >> 31) % n);
}

/* `n` different numbers below `of`. */
static void choose(size_t n, size_t of, size_t *out)
{
    if (n > of) {
        fprintf(stderr, "unknown: %zu are to be chosen, but there are only %zu\n", n, of);
        exit(1);
    }
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        out[i] = below(of);
        while (k < i && out[k] != out[i]) k++;
        if (k < i) i--;
    }
}

static void note(struct tally *t, int after, double p, int right)
{
    int bin = (int)(p * BINS);
    if (bin >= BINS) bin = BINS - 1;
    t->in[after][bin]++;
    t->sum[after][bin] += p;
    t->right_in[after][bin] += right;
}

static double ece(const struct tally *t, int after)
{
    double error = 0;
    for (int b = 0; b < BINS; b++) error += fabs(t->sum[after][b] - t->right_in[after][b]);
    return error / (double)t->known_count;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double auroc(const struct tally *t)
{
    double wins = 0;
    size_t low = 0;
    qsort(t->known, t->known_count, sizeof *t->known, by_size);
    qsort(t->other, t->other_count, sizeof *t->other, by_size);
    for (size_t i = 0; i < t->known_count; i++) {
        while (low < t->other_count && t->other[low] < t->known[i]) low++;
        wins += (double)low;
    }
    return wins / (double)t->known_count / (double)t->other_count;
}

static double part_below(const double *x, size_t n, double bound)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++) k += x[i] < bound;
    return (double)k / (double)n;
}

/* The queries of class `c`, of which the first WAY are known. */
static void ask(struct tally *t, centra_classifier *classifier, const centra_support *s, const centra_picture *q,
                size_t c, int after)
{
    centra_guess g[QUERIES];
    const char *name;
    char wanted[16];
    need(centra_classify(classifier, s, q, QUERIES, NULL, g));
    snprintf(wanted, sizeof wanted, "%zu", c);
    for (size_t i = 0; i < QUERIES; i++) {
        need(centra_support_class(s, g[i].best, &name, NULL));
        const int right = !strcmp(name, wanted);
        if (c < WAY) note(t, after, g[i].probability, right);
        if (!after) continue;
        if (c < WAY) t->right += (size_t)right;
        if (c < WAY) t->known[t->known_count++] = g[i].familiarity;
        else t->other[t->other_count++] = g[i].familiarity;
    }
}

static void play(struct tally *t, const centra_data *data, const centra_model *model, centra_classifier *classifier,
                 size_t shot)
{
    size_t classes[2 * WAY];
    centra_picture q[2 * WAY][QUERIES];
    centra_support *s;
    need(centra_support_new(model, &s));
    choose(2 * WAY, centra_data_class_count(data), classes);
    for (size_t c = 0; c < 2 * WAY; c++) {
        size_t first, size, chosen[MOST_SHOT + QUERIES];
        char name[16];
        need(centra_data_class(data, classes[c], NULL, &first, &size));
        choose(shot + QUERIES, size, chosen);
        snprintf(name, sizeof name, "%zu", c);
        for (size_t i = 0; i < shot && c < WAY; i++) {
            centra_picture p;
            need(centra_data_picture(data, first + chosen[i], &p));
            const centra_known known = {name, name, &p};
            need(centra_support_add(s, classifier, &known, 1));
            centra_picture_free(&p);
        }
        for (size_t i = 0; i < QUERIES; i++) need(centra_data_picture(data, first + chosen[shot + i], &q[c][i]));
    }
    for (size_t c = 0; c < WAY; c++) ask(t, classifier, s, q[c], c, 0);
    need(centra_support_calibrate(s, classifier));
    for (size_t c = 0; c < 2 * WAY; c++) ask(t, classifier, s, q[c], c, 1);
    for (size_t i = 0; i < (size_t)2 * WAY * QUERIES; i++) centra_picture_free(&q[i / QUERIES][i % QUERIES]);
    centra_support_free(s);
}

int main(int argc, char **argv)
{
    centra_model *model;
    centra_session *session;
    centra_classifier *classifier;
    centra_data *data;
    if (argc < 4) return fprintf(stderr, "usage: unknown MODEL DATA SPLIT [SHOT [EPISODES [SEED [HEAD [THREADS]]]]]\n"), 2;
    const size_t shot = argc > 4 ? strtoul(argv[4], NULL, 10) : 5,
                 episodes = argc > 5 ? strtoul(argv[5], NULL, 10) : 200;
    state = argc > 6 ? strtoul(argv[6], NULL, 10) : 1;
    const centra_classifier_options how = {.head = argc > 7 ? argv[7] : NULL};
    if (shot < 1 || shot > MOST_SHOT) return fprintf(stderr, "unknown: SHOT must lie between 1 and %d\n", MOST_SHOT), 2;
    need(centra_model_open(argv[1], &model));
    const centra_session_options working = {.threads = argc > 8 ? strtoul(argv[8], NULL, 10) : 0};
    need(centra_session_open(&working, &session));
    need(centra_classifier_new(session, model, &how, &classifier));
    need(centra_data_open(argv[2], strcmp(argv[3], "-") ? argv[3] : NULL, &data));
    struct tally t = {0};
    t.known = malloc(episodes * WAY * QUERIES * sizeof *t.known);
    t.other = malloc(episodes * WAY * QUERIES * sizeof *t.other);
    if (!t.known || !t.other) return 1;
    for (size_t i = 0; i < episodes; i++) play(&t, data, model, classifier, shot);
    printf("%zu episodes, %d known classes x %zu, %d others: accuracy %.1f %%, ECE %.3f before and %.3f after, AUROC "
           "%.3f, "
           "at 0.05 %.1f %% false alarms and %.1f %% found, at 0.1 %.1f %% and %.1f %%\n",
           episodes, WAY, shot, WAY, 100 * (double)t.right / (double)t.known_count, ece(&t, 0), ece(&t, 1), auroc(&t),
           100 * part_below(t.known, t.known_count, 0.05), 100 * part_below(t.other, t.other_count, 0.05),
           100 * part_below(t.known, t.known_count, 0.1), 100 * part_below(t.other, t.other_count, 0.1));
    free(t.known);
    free(t.other);
    centra_data_close(data);
    centra_classifier_free(classifier);
    centra_session_close(session);
    centra_model_close(model);
    return 0;
}
