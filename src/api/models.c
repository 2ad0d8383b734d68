/* models.c - the public calls on the models that there are: listing, choosing and removing them. */
#include "api/model_find.h"
#include "api/store.h"
#include "centra.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static status no_such(const struct models *m, const char *name)
{
    const size_t there = m->own.count + m->shipped.count;
    const char *meant = models_nearest(m, name);
    if (meant) return fail(ST_USAGE, "there is no model '%.100s', did you mean %s?", name, meant);
    return fail(ST_USAGE, "there is no model '%.100s' among the %zu that centra models list shows", name, there);
}

static bool on(const struct shelf *s, const char *name) { return shelf_find(s, name) < s->count; }

static status place_of(const struct models *m, size_t index, centra_model_place *out)
{
    static _Thread_local char name[MODEL_NAME_ROOM], path[PATH_MAX];
    char standard[MODEL_NAME_ROOM] = "";
    const bool own = index >= m->shipped.count;
    const struct shelf *s = own ? &m->own : &m->shipped;
    const size_t i = own ? index - m->shipped.count : index;
    struct stat about;
    if (i >= s->count) return fail(ST_USAGE, "there is no model %zu; there are %zu", index, index - i + s->count);
    memcpy(name, s->name[i], sizeof name);
    const status st = shelf_path(s, name, path);
    if (st != OK) return st;
    if (models_default(m, standard) != OK) standard[0] = '\0'; /* who opens a model without a name hears why */
    *out = (centra_model_place){.name = name,
                                .path = path,
                                .own = own,
                                .standard = !strcmp(name, standard) && (own || !on(&m->own, name)),
                                .bytes = stat(path, &about) ? 0 : (uint64_t)about.st_size};
    return OK;
}

centra_status centra_model_at(size_t index, centra_model_place *out)
{
    struct models *m = NULL;
    if (!out) return (centra_status)fail(ST_USAGE, "centra_model_at needs a place for the answer");
    status st = models_read(&m);
    if (st == OK) st = place_of(m, index, out);
    free(m);
    return (centra_status)st;
}

centra_status centra_model_default(const char **name)
{
    static _Thread_local char kept[MODEL_NAME_ROOM];
    struct models *m = NULL;
    if (!name) return (centra_status)fail(ST_USAGE, "centra_model_default needs a place for the name");
    status st = models_read(&m);
    if (st == OK) st = models_default(m, kept);
    if (st == OK) *name = kept;
    free(m);
    return (centra_status)st;
}

centra_status centra_model_set_default(const char *name)
{
    struct models *m = NULL;
    status st = OK;
    TRY(models_read(&m));
    if (name && !on(&m->own, name) && !on(&m->shipped, name)) TRY(no_such(m, name));
    TRY(store_open(&m->own));
    TRY(store_set_default(&m->own, name));
done:
    free(m);
    return (centra_status)st;
}

centra_status centra_model_remove(const char *name)
{
    struct models *m = NULL;
    char chosen[MODEL_NAME_ROOM];
    status st = OK;
    if (!name) return (centra_status)fail(ST_USAGE, "centra_model_remove needs a name");
    TRY(models_read(&m));
    if (!on(&m->own, name) && on(&m->shipped, name))
        TRY(fail(ST_USAGE,
                 "the model %s came with the library and cannot be removed; centra models default NAME "
                 "chooses another one",
                 name));
    if (!on(&m->own, name)) TRY(no_such(m, name));
    TRY(store_default(&m->own, chosen));
    if (!strcmp(chosen, name)) TRY(store_set_default(&m->own, NULL)); /* first: it never names what is not there */
    TRY(store_remove(&m->own, name));
done:
    free(m);
    return (centra_status)st;
}
