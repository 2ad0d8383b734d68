/* classify.c - guesses: the class of each picture, how probable it is, and how familiar the picture looks. */
#include "api/classifier.h"
#include "base/size.h"
#include <math.h>
#include <string.h>

status classify_ready(const centra_classifier *c, const centra_support *s)
{
    const status st = support_belongs(s, c);
    if (st != OK || s->classes >= 2) return st;
    if (!s->classes) return fail(ST_USAGE, "there are no known pictures; give at least two classes of them");
    return fail(ST_USAGE,
                "there is only the class '%.200s'; give at least two, so that there is something to tell apart",
                s->class[0].name);
}

/* How much of its class's known pictures is in each query. */
static status compare(centra_classifier *c, const struct rows *known, const float *queries, size_t count,
                      const double *probabilities)
{
    status st = OK;
    TRY(block_reserve(&c->best, count, sizeof(size_t), "the classes"));
    TRY(block_reserve(&c->likeness, count, known->count * sizeof(float), "the likeness"));
    size_t *best = c->best.data;
    for (size_t i = 0; i < count; i++) best[i] = best_class(probabilities + i * known->way, known->way);
    TRY(classifier_likeness(c, known, queries, count, best, c->likeness.data));
done:
    return st;
}

/* One query: familiarity looks at the head's own probabilities, the others see them tempered. */
static centra_guess judge(const struct calibration *k, const struct rows *known, const float *likeness, double *p)
{
    centra_guess g = {.best = best_class(p, known->way), .familiarity = NAN};
    if (likeness) g.familiarity = calibration_rank(k, familiar_score(likeness, known, SIZE_MAX, g.best, p[g.best]));
    calibration_temper(k->temperature, p, known->way);
    g.probability = p[g.best];
    return g;
}

status classify_features(centra_classifier *c, const centra_support *s, const float *queries, size_t count,
                         double *probabilities, centra_guess *guesses)
{
    static const struct calibration none = {.temperature = 1};
    const struct rows known = support_rows(s);
    const struct calibration *k = calibration_fits(&s->calibration, c) ? &s->calibration : &none;
    const float *likeness = NULL;
    double *p = probabilities;
    status st = OK;
    TRY(classify_ready(c, s));
    if (!p) {
        TRY(block_reserve(&c->chances, count, known.way * sizeof(double), "the probabilities"));
        p = c->chances.data;
    }
    TRY(classifier_score(c, &known, queries, count, p));
    if (guesses && k->count) {
        TRY(compare(c, &known, queries, count, p));
        likeness = c->likeness.data;
    }
    for (size_t i = 0; i < count; i++) {
        const centra_guess g = judge(k, &known, likeness ? likeness + i * known.count : NULL, p + i * known.way);
        if (guesses) guesses[i] = g;
    }
done:
    return st;
}

/* Pictures and the sights of them in one block. */
static status take_sights(centra_classifier *c, size_t count, struct sight **sights, struct picture **pictures)
{
    const status st = block_reserve(&c->sights, count, sizeof **sights + sizeof **pictures, "the places");
    if (st != OK) return st;
    *sights = c->sights.data;
    *pictures = (struct picture *)(void *)(*sights + count);
    memset(*sights, 0, count * sizeof **sights);
    return OK;
}

static status classify_sights(centra_classifier *c, const centra_support *s, struct sight *sights, size_t count,
                              double *probabilities, centra_guess *guesses)
{
    struct maps maps;
    status st = OK;
    TRY(classifier_encode(c, sights, count, &maps));
    if (maps.dim[0] != s->channels || maps.dim[1] != s->height || maps.dim[2] != s->width)
        TRY(fail(ST_SHAPE, "the support's maps of %zu x %zu x %zu are not those of the model %s", s->channels,
                 s->height, s->width, c->model->info.name));
    TRY(classify_features(c, s, maps.features, count, probabilities, guesses));
done:
    return st;
}

centra_status centra_classify(centra_classifier *c, const centra_support *s, const centra_picture *pictures,
                              size_t count, double *probabilities, centra_guess *guesses)
{
    struct picture *ours;
    struct sight *sights;
    status st = OK;
    if (!c || !s || (count && !pictures))
        return (centra_status)fail(ST_USAGE, "centra_classify needs a classifier, a support and pictures");
    TRY(classify_ready(c, s));
    if (!count) return CENTRA_OK;
    TRY(take_sights(c, count, &sights, &ours));
    for (size_t i = 0; i < count; i++) {
        const centra_picture *p = &pictures[i];
        if (!p->rgb || !p->width || !p->height) TRY(fail(ST_USAGE, "picture %zu has no pixels", i));
        ours[i] = (struct picture){p->width, p->height, p->rgb};
        sights[i].picture = &ours[i];
    }
    TRY(classify_sights(c, s, sights, count, probabilities, guesses));
done:
    return (centra_status)st;
}

centra_status centra_classify_files(centra_classifier *c, const centra_support *s, const char *const *paths,
                                    size_t count, double *probabilities, centra_guess *guesses,
                                    const centra_data_watch *watch)
{
    struct picture *ours;
    struct sight *sights;
    status st = OK;
    if (!c || !s || !guesses || (count && !paths))
        return (centra_status)fail(ST_USAGE, "centra_classify_files needs a classifier, a support, paths and guesses");
    TRY(classify_ready(c, s));
    if (!count) return CENTRA_OK;
    TRY(take_sights(c, count, &sights, &ours));
    for (size_t i = 0; i < count; i++) sights[i].path = paths[i];
    TRY(classify_sights(c, s, sights, count, probabilities, guesses));
    for (size_t i = 0; i < count; i++) {
        if (sights[i].error.st == OK) continue;
        guesses[i] = (centra_guess){.best = SIZE_MAX, .probability = NAN, .familiarity = NAN};
        if (watch && watch->warning) watch->warning(watch->context, sights[i].error.text);
    }
done:
    return (centra_status)st;
}
