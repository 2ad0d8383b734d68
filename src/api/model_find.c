/* model_find.c - the models that came with the library: in CENTRA_MODELS, else beside library and program, else where
 * `make install` puts them. The first of these folders that is there counts. */
#include "api/model_find.h"
#include "api/places.h"
#include "base/file.h"
#include "base/option.h"
#include "centra.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef CENTRA_MODEL_DIR
#define CENTRA_MODEL_DIR ""
#endif

static const char SUFFIX[] = ".safetensors";
/* The standard model is the first of these that is there; the others follow by name. */
static const char *const preferred[] = {"conv4-mini", "conv4-cub"};
enum { PREFERRED = sizeof preferred / sizeof *preferred, MOST_MODELS = 63, NAME_ROOM = 256 };

struct shelf {
    char folder[PATH_MAX];
    size_t count;
    char name[MOST_MODELS][NAME_ROOM]; /* in the order of preference */
};

static DIR *open_in(const char *folder, const char *below, char out[PATH_MAX])
{
    const int n = *folder ? snprintf(out, PATH_MAX, "%s%s", folder, below) : 0;
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

static status shelf_read(struct shelf *s)
{
    s->count = 0;
    s->folder[0] = '\0';
    errno = 0;
    DIR *d = open_shelf(s->folder);
    if (!d && errno == ENOMEM) return fail(ST_MEMORY, "no memory to look for models");
    if (!d) return OK;
    for (const struct dirent *e; s->count < MOST_MODELS && (e = readdir(d));) {
        const size_t n = strlen(e->d_name), end = strlen(SUFFIX);
        if (n <= end || n - end >= NAME_ROOM || e->d_name[0] == '.' || strcmp(e->d_name + n - end, SUFFIX)) continue;
        memcpy(s->name[s->count], e->d_name, n - end);
        s->name[s->count++][n - end] = '\0';
    }
    closedir(d);
    if (s->count) qsort(s->name, s->count, NAME_ROOM, by_preference);
    return OK;
}

static status shelf_path(const struct shelf *s, size_t i, char out[PATH_MAX])
{
    const int n = snprintf(out, PATH_MAX, "%s/%s%s", s->folder, s->name[i], SUFFIX);
    return n > 0 && n < PATH_MAX ? OK : fail(ST_USAGE, "the path of the model %s is too long", s->name[i]);
}

static status refuse(const struct shelf *s, const char *given)
{
    const char *names[MOST_MODELS + 1] = {0};
    for (size_t i = 0; i < s->count; i++) names[i] = s->name[i];
    const char *meant = nearest_name(given, names);
    if (meant) return fail(ST_USAGE, "there is no model '%.100s', did you mean %s?", given, meant);
    return fail(ST_USAGE,
                "there is no model '%.100s': it is no file, no run's folder and none that centra list models shows",
                given);
}

static status no_standard(void)
{
    const char *asked = getenv("CENTRA_MODELS");
    if (asked && *asked)
        return fail(ST_USAGE, "no model is named, and there is none in '%.200s', where CENTRA_MODELS points", asked);
    return fail(ST_USAGE, "no model is named, and none came with this library; name a file of weights");
}

/* A path: the file itself, or the best model of a run's folder. False when there is neither. */
static bool find_path(const char *given, char out[PATH_MAX])
{
    int n = snprintf(out, PATH_MAX, "%s/best.safetensors", given);
    if (n > 0 && n < PATH_MAX && file_exists(out)) return true;
    n = snprintf(out, PATH_MAX, "%s", given);
    return n > 0 && n < PATH_MAX && file_exists(out);
}

status model_find(const char *given, char out[PATH_MAX])
{
    if (given && find_path(given, out)) return OK;
    struct shelf *s = malloc(sizeof *s);
    if (!s) return fail(ST_MEMORY, "no memory for the names of models");
    status st = shelf_read(s);
    size_t i = 0;
    while (given && i < s->count && strcmp(s->name[i], given)) i++;
    if (st != OK) goto done;
    if (i < s->count) st = shelf_path(s, i, out);
    else st = given ? refuse(s, given) : no_standard();
done:
    free(s);
    return st;
}

centra_status centra_model_shipped(size_t index, const char **name, const char **path)
{
    static _Thread_local char kept_name[NAME_ROOM], kept_path[PATH_MAX];
    struct shelf *s = malloc(sizeof *s);
    if (!s) return (centra_status)fail(ST_MEMORY, "no memory for the names of models");
    status st = shelf_read(s);
    if (st == OK && index >= s->count) st = fail(ST_USAGE, "there is no model %zu; there are %zu", index, s->count);
    if (st == OK) st = shelf_path(s, index, kept_path);
    if (st == OK) memcpy(kept_name, s->name[index], NAME_ROOM);
    free(s);
    if (st == OK && name) *name = kept_name;
    if (st == OK && path) *path = kept_path;
    return (centra_status)st;
}
