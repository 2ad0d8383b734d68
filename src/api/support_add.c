/* support_add.c - decoded pictures become known ones. */
#include "api/classifier.h"
#include <stdlib.h>
#include <string.h>

status support_belongs(const centra_support *s, const centra_classifier *c)
{
    if (s->model == c->model || !strcmp(s->model->fingerprint, c->model->fingerprint)) return OK;
    return fail(ST_USAGE, "the support belongs to the model %s, the classifier to %s", s->model->info.name,
                c->model->info.name);
}

static status check_known(const centra_support *s, const centra_classifier *c, const centra_known *known, size_t count)
{
    status st = OK;
    if (!s || !c || (count && !known))
        return fail(ST_USAGE, "centra_support_add needs a support, a classifier and pictures");
    TRY(support_belongs(s, c));
    for (size_t i = 0; i < count; i++) {
        const centra_picture *p = known[i].picture;
        TRY(support_name_check("class", known[i].class_name));
        TRY(support_name_check("picture", known[i].name));
        if (!p || !p->rgb || !p->width || !p->height) TRY(fail(ST_USAGE, "'%.100s' has no pixels", known[i].name));
    }
done:
    return st;
}

centra_status centra_support_add(centra_support *s, centra_classifier *c, const centra_known *known, size_t count)
{
    status st = OK;
    struct maps maps;
    struct picture *pictures = NULL;
    struct sight *sights = NULL;
    unsigned char *seen = NULL;
    TRY(check_known(s, c, known, count));
    if (!count) return CENTRA_OK;
    pictures = calloc(count, sizeof *pictures);
    sights = calloc(count, sizeof *sights);
    seen = calloc(count, support_pixels(s));
    if (!pictures || !sights || !seen) TRY(fail(ST_MEMORY, "no memory for %zu known pictures", count));
    for (size_t i = 0; i < count; i++) {
        pictures[i] = (struct picture){known[i].picture->width, known[i].picture->height, known[i].picture->rgb};
        sights[i] = (struct sight){.picture = &pictures[i], .seen = seen + i * support_pixels(s)};
    }
    TRY(classifier_encode(c, sights, count, &maps));
    TRY(support_insert_all(s, known, count, maps.features, maps.dim, seen));
done:
    free(pictures);
    free(sights);
    free(seen);
    return (centra_status)st;
}
