/* explain.c - why a picture got its class: the guess of centra_classify, the walk's maps and pairs, and Grad-CAM. */
#include "api/explain.h"
#include "nets/extract.h"
#include <stdlib.h>
#include <string.h>

struct centra_explanation {
    centra_why why;             /* its pictures and maps are owned */
    centra_why_class *classes;  /* owned, the likeliest first */
    double *probabilities;      /* owned, by class */
    float *on_query, *grad_cam; /* owned, [places] */
    float *on_known;            /* owned, [classes, places]: a class's picture's */
    centra_pair *pairs;         /* owned, [classes, WHY_PAIRS] */
};

static status explain_new(const centra_support *s, size_t side, centra_explanation **out)
{
    const size_t places = s->height * s->width;
    centra_explanation *e = calloc(1, sizeof *e);
    if (e) {
        e->classes = calloc(s->classes, sizeof *e->classes);
        e->probabilities = calloc(s->classes, sizeof *e->probabilities);
        e->on_query = calloc(places, sizeof *e->on_query);
        e->grad_cam = calloc(places, sizeof *e->grad_cam);
        e->on_known = calloc(s->classes * places, sizeof *e->on_known);
        e->pairs = calloc(s->classes * WHY_PAIRS, sizeof *e->pairs);
        e->why.seen = (centra_picture){side, side, calloc(side * side, 3)};
    }
    if (!e || !e->classes || !e->probabilities || !e->on_query || !e->grad_cam || !e->on_known || !e->pairs ||
        !e->why.seen.rgb) {
        centra_explanation_free(e);
        return fail(ST_MEMORY, "no memory for an explanation with %zu classes", s->classes);
    }
    *out = e;
    return OK;
}

void centra_explanation_free(centra_explanation *e)
{
    if (!e) return;
    free(e->classes);
    free(e->probabilities);
    free(e->on_query);
    free(e->grad_cam);
    free(e->on_known);
    free(e->pairs);
    centra_picture_free(&e->why.seen);
    free(e);
}

/* A map scaled to sum to 1; one without weight becomes even. */
static void share_out(const double *map, size_t places, float *out)
{
    double all = 0;
    for (size_t i = 0; i < places; i++) all += map[i];
    for (size_t i = 0; i < places; i++) out[i] = (float)(all > 0 ? map[i] / all : 1 / (double)places);
}

/* A class's picture, its map and its pairs; for the class that is told, the query's map as well. */
static status explain_class(const struct why_walk *w, const struct why_input *in, const centra_support *s, size_t index,
                            centra_explanation *e)
{
    const struct support_class *k = &s->class[index];
    struct why_class found = {.on_query = malloc(w->places * sizeof(double)),
                              .on_known = malloc(w->places * sizeof(double))};
    status st = OK;
    if (!found.on_query || !found.on_known) TRY(fail(ST_MEMORY, "no memory for maps of %zu places", w->places));
    TRY(why_class(w, in, k->first, k->count, &found));
    share_out(found.on_known, w->places, e->on_known + index * w->places);
    if (index == e->why.guess.best) share_out(found.on_query, w->places, e->on_query);
    memcpy(e->pairs + index * WHY_PAIRS, found.pairs, found.pair_count * sizeof *e->pairs);
    e->classes[index] = (centra_why_class){.index = index,
                                           .probability = e->probabilities[index],
                                           .picture = found.picture - k->first,
                                           .centrality = e->on_known + index * w->places,
                                           .pairs = e->pairs + index * WHY_PAIRS,
                                           .pair_count = found.pair_count};
done:
    free(found.on_query);
    free(found.on_known);
    return st;
}

/* The strongest pair of all gets weight 1. */
static void scale_pairs(centra_explanation *e, size_t classes)
{
    double most = 0;
    for (size_t k = 0; k < classes; k++)
        if (e->classes[k].pair_count && e->classes[k].pairs[0].weight > most) most = e->classes[k].pairs[0].weight;
    for (size_t k = 0; most > 0 && k < classes; k++)
        for (size_t i = 0; i < e->classes[k].pair_count; i++) e->pairs[k * WHY_PAIRS + i].weight /= most;
}

static int by_probability(const void *a, const void *b)
{
    const centra_why_class *x = a, *y = b;
    if (x->probability > y->probability) return -1;
    if (x->probability < y->probability) return 1;
    return x->index < y->index ? -1 : 1;
}

static status explain_features(centra_classifier *c, const centra_support *s, const float *query, centra_explanation *e)
{
    status st = OK;
    struct why_walk w = {0};
    const struct why_input in = {c, support_rows(s), s->height, s->width, query};
    TRY(classify_features(c, s, query, 1, e->probabilities, &e->why.guess));
    TRY(why_walk(&in, &w));
    for (size_t k = 0; k < s->classes; k++) TRY(explain_class(&w, &in, s, k, e));
    TRY(why_grad_cam(&in, e->why.guess.best, e->grad_cam));
    scale_pairs(e, s->classes);
    qsort(e->classes, s->classes, sizeof *e->classes, by_probability);
    e->why.height = s->height;
    e->why.width = s->width;
    e->why.centrality = e->on_query;
    e->why.grad_cam = e->grad_cam;
    e->why.classes = s->classes;
done:
    why_walk_free(&w);
    return st;
}

/* Cells of a grid or a pyramid overlap and have no one place in the picture. */
static status has_places(const centra_classifier *c)
{
    if (c->model->extractor.kind == EXTRACT_MAP) return OK;
    return fail(
        ST_UNSUPPORTED,
        "the model %s takes its vectors by %s, whose cells overlap; explanations need a model with the extractor map",
        c->model->info.name, c->model->info.extractor);
}

centra_status centra_explain(centra_classifier *c, const centra_support *s, const centra_picture *picture,
                             centra_explanation **out)
{
    status st = OK;
    centra_explanation *e = NULL;
    struct maps maps;
    if (!c || !s || !picture || !picture->rgb || !picture->width || !picture->height || !out)
        return (centra_status)fail(ST_USAGE,
                                   "centra_explain needs a classifier, a support, a picture with pixels and a place");
    TRY(classify_ready(c, s));
    TRY(has_places(c));
    TRY(explain_new(s, c->model->info.side, &e));
    const struct picture ours = {picture->width, picture->height, picture->rgb};
    struct sight sight = {.picture = &ours, .seen = e->why.seen.rgb};
    TRY(classifier_encode(c, &sight, 1, &maps));
    if (maps.dim[0] != s->channels || maps.dim[1] != s->height || maps.dim[2] != s->width)
        TRY(fail(ST_SHAPE, "the support's maps of %zu x %zu x %zu are not those of the model %s", s->channels,
                 s->height, s->width, c->model->info.name));
    TRY(explain_features(c, s, maps.features, e));
    *out = e;
    e = NULL;
done:
    centra_explanation_free(e);
    return (centra_status)st;
}

void centra_explanation_why(const centra_explanation *e, centra_why *out) { *out = e->why; }

centra_status centra_explanation_class(const centra_explanation *e, size_t rank, centra_why_class *out)
{
    if (!e || !out) return (centra_status)fail(ST_USAGE, "centra_explanation_class needs an explanation and a place");
    if (rank >= e->why.classes)
        return (centra_status)fail(ST_USAGE, "there is no class of rank %zu; there are %zu", rank, e->why.classes);
    *out = e->classes[rank];
    return CENTRA_OK;
}
