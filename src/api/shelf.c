/* shelf.c - the names of the models in a folder. */
#include "api/shelf.h"
#include "base/plain.h"
#include <stdlib.h>
#include <string.h>

static const char SUFFIX[] = ".safetensors";

/* Not isalnum, which asks the locale. */
static bool is_plain(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool model_name_good(const char *name)
{
    size_t n = 0;
    if (!is_plain(name[0])) return false;
    while (is_plain(name[n]) || (name[n] && strchr("-_.", name[n]))) n++;
    return !name[n] && n < MODEL_NAME_ROOM;
}

/* "conv4.safetensors" as "conv4"; false for what is no model. */
static bool take_name(const char *file, char out[MODEL_NAME_ROOM])
{
    const size_t n = strlen(file), end = strlen(SUFFIX);
    if (n <= end || n - end >= MODEL_NAME_ROOM || strcmp(file + n - end, SUFFIX)) return false;
    memcpy(out, file, n - end);
    out[n - end] = '\0';
    return model_name_good(out);
}

void shelf_read(DIR *d, int (*compare)(const void *a, const void *b), struct shelf *s)
{
    s->count = 0;
    for (const struct dirent *e; s->count < SHELF_MOST && (e = readdir(d));)
        if (take_name(e->d_name, s->name[s->count])) s->count++;
    closedir(d);
    if (s->count) qsort(s->name, s->count, MODEL_NAME_ROOM, compare);
}

size_t shelf_find(const struct shelf *s, const char *name)
{
    size_t i = 0;
    while (i < s->count && strcmp(s->name[i], name)) i++;
    return i;
}

status shelf_path(const struct shelf *s, const char *name, char out[PATH_MAX])
{
    const int n = plain_snprintf(out, PATH_MAX, "%s/%s%s", s->folder, name, SUFFIX);
    return n > 0 && n < PATH_MAX ? OK : fail(ST_USAGE, "the path of the model %s is too long", name);
}
