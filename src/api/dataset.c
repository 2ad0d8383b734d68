/* dataset.c - the public calls that look into a data set. */
#include "data/dataset.h"
#include "centra.h"
#include "data/sampler.h"
#include <stdlib.h>

struct centra_data {
    struct dataset *set; /* owned */
};

centra_status centra_data_open(const char *path, const char *split, centra_data **out)
{
    if (!path || !out) return (centra_status)fail(ST_USAGE, "centra_data_open needs a path and a place for the set");
    centra_data *d = calloc(1, sizeof *d);
    if (!d) return (centra_status)fail(ST_MEMORY, "no memory to open '%s'", path);
    const status st = dataset_open(path, split, NULL, &d->set);
    if (st == OK) *out = d;
    else free(d);
    return (centra_status)st;
}

void centra_data_close(centra_data *d)
{
    if (!d) return;
    dataset_close(d->set);
    free(d);
}

size_t centra_data_count(const centra_data *d) { return d ? dataset_count(d->set) : 0; }
size_t centra_data_class_count(const centra_data *d) { return d ? dataset_class_count(d->set) : 0; }

centra_status centra_data_class(const centra_data *d, size_t index, const char **name, size_t *first, size_t *size)
{
    if (index >= centra_data_class_count(d))
        return (centra_status)fail(ST_USAGE, "class %zu does not exist; there are %zu", index,
                                   centra_data_class_count(d));
    if (name) *name = dataset_class_name(d->set, index);
    if (first) *first = dataset_class_first(d->set, index);
    if (size) *size = dataset_class_size(d->set, index);
    return CENTRA_OK;
}

centra_status centra_data_item(const centra_data *d, size_t index, const char **name, size_t *of_class)
{
    if (index >= centra_data_count(d))
        return (centra_status)fail(ST_USAGE, "picture %zu does not exist; there are %zu", index, centra_data_count(d));
    if (name) *name = dataset_name(d->set, index);
    if (of_class) *of_class = dataset_class_of(d->set, index);
    return CENTRA_OK;
}

centra_status centra_data_picture(const centra_data *d, size_t index, centra_picture *out)
{
    struct picture p = {0};
    if (!out) return (centra_status)fail(ST_USAGE, "centra_data_picture needs a place for the picture");
    status st = (status)centra_data_item(d, index, NULL, NULL);
    if (st == OK) st = dataset_picture(d->set, index, &p);
    if (st == OK) *out = (centra_picture){p.width, p.height, p.rgb};
    return (centra_status)st;
}

static void give_plan(const struct plan *p, size_t *support, size_t *queries, int64_t *labels)
{
    for (size_t i = 0; i < p->way * p->shot; i++) support[i] = p->support[i];
    for (size_t i = 0; i < p->way * p->query; i++) {
        queries[i] = p->queries[i];
        labels[i] = p->query_labels[i];
    }
}

static status draw(const centra_data *d, uint64_t seed, uint64_t episode, struct plan *p)
{
    const size_t classes = dataset_class_count(d->set);
    struct sampler *s = NULL;
    status st = OK;
    size_t *range = calloc(2 * (classes ? classes : 1), sizeof *range); /* first indices, then sizes */
    if (!range) return fail(ST_MEMORY, "no memory to draw from %zu classes", classes);
    for (size_t c = 0; c < classes; c++) {
        range[c] = dataset_class_first(d->set, c);
        range[classes + c] = dataset_class_size(d->set, c);
    }
    TRY(sampler_new(classes, range, range + classes, p->way, p->shot, p->query, seed, &s));
    TRY(sampler_episode(s, 0, episode, p));
done:
    sampler_free(s);
    free(range);
    return st;
}

centra_status centra_data_episode(const centra_data *d, size_t way, size_t shot, size_t query, uint64_t seed,
                                  uint64_t episode, size_t *support, size_t *queries, int64_t *labels)
{
    struct plan p = {0};
    status st = OK;
    if (!d || !support || !queries || !labels)
        return (centra_status)fail(ST_USAGE, "centra_data_episode needs a data set and places for the pictures");
    TRY(plan_new(way, shot, query, &p));
    TRY(draw(d, seed, episode, &p));
    give_plan(&p, support, queries, labels);
done:
    plan_free(&p);
    return (centra_status)st;
}
