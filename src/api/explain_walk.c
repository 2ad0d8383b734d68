/* explain_walk.c - the mutual walk between a query and known pictures, each a class of its own.
 *
 * Whatever head guesses, where query and known pictures found each other is told by the walk of docs/mcl.md: by the
 * head's own where it is one of that family, else by mcl-katz with its standard settings. A class's head averages its
 * pictures place by place; here none is averaged, so that every picture has a mass and every place of it a centrality.
 *
 * Beyond what the head gives, pairs need the weights w of the query's places and the two transition probabilities. w
 * follows from the support's centralities: w = a^2 B pi(S) + (1 - a^2) / (rq + a m) (1 + a B 1). The transitions are
 * kept as cosines and the logarithms of what they are divided by. */
#include "api/explain.h"
#include "base/size.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The head that walks: the one that guesses or the standard one. Settings that were made here are to be freed. */
struct walker {
    const struct head *head;
    const void *settings;
    void *made; /* owned */
};

static status choose_walker(const centra_classifier *c, struct walker *out)
{
    status st = OK;
    *out = (struct walker){c->head, c->head_settings, NULL};
    if (c->head->walk) return OK;
    TRY(head_find("mcl-katz", &out->head));
    out->settings = out->made = calloc(1, out->head->settings_bytes);
    if (!out->made) return fail(ST_MEMORY, "no memory for the settings of a walk");
    options_default(out->head->options, out->made);
done:
    return st;
}

static status make_room(struct why_walk *w)
{
    size_t m, all;
    if (!size_mul(w->count, w->places, &m) || !size_mul(m, w->places, &all) || all > SIZE_MAX / sizeof(double))
        return fail(ST_MEMORY, "a walk between %zu pictures of %zu places is too large", w->count, w->places);
    w->on_known = malloc(m * sizeof *w->on_known);
    w->cosine = malloc(all * sizeof *w->cosine);
    w->leaving = malloc(w->places * sizeof *w->leaving);
    w->there = malloc(w->places * sizeof *w->there);
    w->back = malloc(m * sizeof *w->back);
    w->toward = calloc(w->count * w->places, sizeof *w->toward);
    if (w->toward && w->on_known && w->cosine && w->leaving && w->there && w->back) return OK;
    return fail(ST_MEMORY, "no memory for a walk between %zu pictures of %zu places", w->count, w->places);
}

static const tensor *numbered(tape *t, size_t count)
{
    void *labels;
    const status st = tape_host(t, count * sizeof(int32_t), &labels);
    if (st != OK) {
        tape_fail(t, st);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) ((int32_t *)labels)[i] = (int32_t)i;
    return op_labels(t, labels, count, count);
}

/* [n, C, r] to [n r, C] */
static var *places_first(tape *t, var *x)
{
    if (!x) return NULL;
    const size_t *d = x->value.dim;
    return op_reshape(t, op_permute(t, x, (int[]){0, 2, 1}), 2, (size_t[]){d[0] * d[2], d[1]});
}

static status fetch(struct device *d, const var *from, void *to)
{
    return d->download(d, to, from->value.data, tensor_bytes(&from->value));
}

/* Centralities and cosines. */
static status walk_on_tape(const struct why_input *in, const struct walker *by, struct why_walk *w)
{
    status st = OK;
    tape *t = in->classifier->session->tape;
    struct device *d = tape_device(t);
    struct head_result r = {0};
    struct episode e = {.way = w->count};
    tape_reset(t, TAPE_INFERENCE);
    e.support = tape_upload(t, DT_F32, 3, (size_t[]){w->count, in->known.channels, w->places}, in->known.features);
    e.query = tape_upload(t, DT_F32, 3, (size_t[]){1, in->known.channels, w->places}, in->query);
    e.support_labels = numbered(t, w->count);
    TRY(tape_status(t));
    by->head->forward(t, by->settings, NULL, &e, HEAD_CENTRALITY, &r);
    const var *cosine = op_cosine(t, places_first(t, e.query), places_first(t, e.support));
    TRY(tape_status(t));
    TRY(fetch(d, r.pi_support, w->on_known));
    TRY(fetch(d, cosine, w->cosine));
    TRY(d->sync(d));
done:
    return st;
}

/* ln of the sum of exp(sharpness x[i * step]) over i < n; cosines are at most 1, so nothing overflows behind the shift.
 */
static double log_sum(const float *x, size_t n, size_t step, double sharpness)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += exp(sharpness * ((double)x[i * step] - 1));
    return sharpness + log(sum);
}

static void denominators(struct why_walk *w)
{
    const size_t m = w->count * w->places;
    for (size_t i = 0; i < w->places; i++) w->there[i] = log_sum(w->cosine + i * m, m, 1, w->walk.gamma);
    for (size_t j = 0; j < m; j++) w->back[j] = log_sum(w->cosine + j, w->places, m, w->walk.beta);
}

double walk_there(const struct why_walk *w, size_t query_place, size_t known_place)
{
    const double phi = (double)w->cosine[query_place * w->count * w->places + known_place];
    return exp(w->walk.gamma * phi - w->there[query_place]);
}

double walk_back(const struct why_walk *w, size_t query_place, size_t known_place)
{
    const double phi = (double)w->cosine[query_place * w->count * w->places + known_place];
    return exp(w->walk.beta * phi - w->back[known_place]);
}

static void leaving(struct why_walk *w)
{
    const size_t m = w->count * w->places;
    const double a = w->walk.alpha, even = (1 - a * a) / ((double)w->places + a * (double)m);
    for (size_t i = 0; i < w->places; i++) {
        double central = 0, all = 0;
        for (size_t j = 0; j < m; j++) {
            const double b = walk_back(w, i, j);
            central += b * (double)w->on_known[j];
            all += b;
        }
        w->leaving[i] = a * a * central + even * (1 + a * all);
    }
}

static void toward(struct why_walk *w)
{
    for (size_t i = 0; i < w->places; i++)
        for (size_t j = 0; j < w->count * w->places; j++)
            w->toward[i * w->count + j / w->places] += walk_there(w, i, j);
}

status why_walk(const struct why_input *in, struct why_walk *out)
{
    status st = OK;
    struct walker by;
    struct why_walk w = {.places = in->height * in->width, .count = in->known.count};
    if (in->known.count > INT32_MAX)
        return fail(ST_VALUE, "%zu known pictures are too many for a walk", in->known.count);
    TRY(choose_walker(in->classifier, &by));
    w.walk = by.head->walk(by.settings);
    TRY(make_room(&w));
    TRY(walk_on_tape(in, &by, &w));
    denominators(&w);
    leaving(&w);
    toward(&w);
    *out = w;
    w = (struct why_walk){0};
done:
    why_walk_free(&w);
    free(by.made);
    return st;
}

void why_walk_free(struct why_walk *w)
{
    free(w->on_known);
    free(w->cosine);
    free(w->leaving);
    free(w->there);
    free(w->back);
    free(w->toward);
    *w = (struct why_walk){0};
}
