/* model_find.c - from what was given to a model's file.
 *
 * Models that came with the library lie in CENTRA_MODELS, else beside library and program, else where `make install` puts
 * them; the first of these folders that is there counts. */
#include "api/model_find.h"
#include "api/places.h"
#include "api/store.h"
#include "base/file.h"
#include "base/option.h"
#include "base/plain.h"
#include "centra.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#ifndef CENTRA_MODEL_DIR
#define CENTRA_MODEL_DIR ""
#endif

/* The standard model is the first of these that is there; the others follow by name. */
static const char *const preferred[] = {"resnet12-general", "conv4-mini", "conv4-cub"};
enum { PREFERRED = sizeof preferred / sizeof *preferred };

static DIR *open_in(const char *folder, const char *below, char out[PATH_MAX])
{
    const int n = *folder ? plain_snprintf(out, PATH_MAX, "%s%s", folder, below) : 0;
    return n > 0 && n < PATH_MAX ? opendir(out) : NULL;
}

static DIR *open_shelf(char out[PATH_MAX])
{
    static const char *const below[] = {"/../share/centra/models", "/models", "/../models"};
    char folder[2][PATH_MAX];
    const char *asked = getenv("CENTRA_MODELS");
    DIR *d = NULL;
    if (asked && *asked) return open_in(asked, "", out);
    place_of_library(folder[0]);
    place_of_program(folder[1]);
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < sizeof below / sizeof *below; k++)
            if ((d = open_in(folder[i], below[k], out)) || errno == ENOMEM) return d;
    return open_in(CENTRA_MODEL_DIR, "", out);
}

static size_t rank_of(const char *name)
{
    size_t i = 0;
    while (i < PREFERRED && strcmp(preferred[i], name)) i++;
    return i;
}

static int by_preference(const void *a, const void *b)
{
    const size_t x = rank_of(a), y = rank_of(b);
    return x != y ? (x < y ? -1 : 1) : strcmp(a, b);
}

status shipped_read(struct shelf *s)
{
    s->count = 0;
    s->folder[0] = '\0';
    errno = 0;
    DIR *d = open_shelf(s->folder);
    if (d) shelf_read(d, by_preference, s);
    else if (errno == ENOMEM) return fail(ST_MEMORY, "no memory to look for models");
    return OK;
}

status models_read(struct models **out)
{
    struct models *m = calloc(1, sizeof *m);
    if (!m) return fail(ST_MEMORY, "no memory for the names of models");
    status st = shipped_read(&m->shipped);
    if (st == OK) st = store_read(&m->own);
    if (st == OK) *out = m;
    else free(m);
    return st;
}

const char *models_nearest(const struct models *m, const char *given)
{
    const char *names[2 * SHELF_MOST + 1] = {0};
    size_t n = 0;
    for (size_t i = 0; i < m->own.count; i++) names[n++] = m->own.name[i];
    for (size_t i = 0; i < m->shipped.count; i++) names[n++] = m->shipped.name[i];
    return nearest_name(given, names);
}

static status refuse(const struct models *m, const char *given)
{
    const char *meant = models_nearest(m, given);
    if (meant) return fail(ST_USAGE, "there is no model '%.100s', did you mean %s?", given, meant);
    return fail(ST_USAGE,
                "there is no model '%.100s': it is no file, no run's folder and none that centra list models shows",
                given);
}

static status no_default(void)
{
    const char *asked = getenv("CENTRA_MODELS");
    if (asked && *asked)
        return fail(ST_USAGE, "no model is named, and there is none in '%.200s', where CENTRA_MODELS points", asked);
    return fail(ST_USAGE, "no model is named, and none came with this library; name a file of weights");
}

static bool is_there(const struct models *m, const char *name)
{
    return shelf_find(&m->own, name) < m->own.count || shelf_find(&m->shipped, name) < m->shipped.count;
}

/* Who chose a model that is gone hears it, rather than getting another one. */
status models_default(const struct models *m, char out[MODEL_NAME_ROOM])
{
    const status st = store_default(&m->own, out);
    if (st != OK) return st;
    if (out[0] && !is_there(m, out))
        return fail(ST_USAGE, "the default model '%s' is not there any more; centra models default NAME sets another",
                    out);
    if (out[0]) return OK;
    if (!m->shipped.count) return no_default();
    memcpy(out, m->shipped.name[0], MODEL_NAME_ROOM);
    return OK;
}

const char model_standard_head[] = "mcl-ridge";

/* A path: the best model of a run's folder, or the file itself. False when there is neither. */
static bool find_file(const char *given, char out[PATH_MAX])
{
    struct stat about;
    int n = plain_snprintf(out, PATH_MAX, "%s/best.safetensors", given);
    if (n > 0 && n < PATH_MAX && file_exists(out)) return true;
    n = plain_snprintf(out, PATH_MAX, "%s", given);
    return n > 0 && n < PATH_MAX && !stat(out, &about) && !S_ISDIR(about.st_mode);
}

/* On one of the shelves; a name is on both only where a later version brought a model of that name, and then it means the
 * user's own. */
static bool find_on(const struct models *m, const char *name, char out[PATH_MAX])
{
    const struct shelf *s = shelf_find(&m->own, name) < m->own.count ? &m->own : &m->shipped;
    return shelf_find(s, name) < s->count && shelf_path(s, name, out) == OK;
}

/* A store that cannot be read does not stand in the way of a model that came along. */
static bool find_shipped(const char *name, char out[PATH_MAX])
{
    struct models *m = calloc(1, sizeof *m);
    const bool found = m && shipped_read(&m->shipped) == OK && find_on(m, name, out);
    free(m);
    return found;
}

bool model_find_name(const char *name, char out[PATH_MAX])
{
    struct models *m = NULL;
    if (!model_name_good(name)) return false;
    if (models_read(&m) != OK) return find_shipped(name, out);
    const bool found = find_on(m, name, out);
    free(m);
    return found;
}

/* Neither a path nor a model, but nearly one of these. */
static status check_spelling(const char *given)
{
    struct models *m = NULL;
    if (file_exists(given) || !model_name_good(given)) return OK;
    status st = models_read(&m);
    if (st != OK) return st;
    const char *meant = models_nearest(m, given);
    if (meant) st = fail(ST_USAGE, "there is neither a file nor a model '%.100s', did you mean %s?", given, meant);
    free(m);
    return st;
}

status model_find_weights(const char *given, char out[PATH_MAX])
{
    if (!file_exists(given) && model_find_name(given, out)) return OK;
    if (find_file(given, out)) return OK;
    const status st = check_spelling(given);
    if (st != OK) return st;
    const int n = plain_snprintf(out, PATH_MAX, "%s", given);
    return n >= 0 && n < PATH_MAX ? OK : fail(ST_USAGE, "a path of %zu characters is too long", strlen(given));
}

status model_find(const char *given, char out[PATH_MAX])
{
    struct models *m = NULL;
    char name[MODEL_NAME_ROOM];
    if (given && find_file(given, out)) return OK;
    status st = models_read(&m);
    if (st != OK) {
        struct error why;
        error_take(st, &why);
        return given && find_shipped(given, out) ? OK : error_put(&why);
    }
    if (!given) st = models_default(m, name);
    if (st == OK && !find_on(m, given ? given : name, out)) {
        if (given && file_exists(given)) plain_snprintf(out, PATH_MAX, "%s", given); /* a folder of arrays */
        else st = refuse(m, given ? given : name);
    }
    free(m);
    return st;
}

centra_status centra_model_shipped(size_t index, const char **name, const char **path)
{
    static _Thread_local char kept_name[MODEL_NAME_ROOM], kept_path[PATH_MAX];
    struct shelf *s = malloc(sizeof *s);
    if (!s) return (centra_status)fail(ST_MEMORY, "no memory for the names of models");
    status st = shipped_read(s);
    if (st == OK && index >= s->count) st = fail(ST_USAGE, "there is no model %zu; there are %zu", index, s->count);
    if (st == OK) st = shelf_path(s, s->name[index], kept_path);
    if (st == OK) memcpy(kept_name, s->name[index], sizeof kept_name);
    free(s);
    if (st == OK && name) *name = kept_name;
    if (st == OK && path) *path = kept_path;
    return (centra_status)st;
}
