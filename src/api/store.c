/* store.c - the folder of the user's own models. */
#include "api/store.h"
#include "base/file.h"
#include "base/plain.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char CHOICE[] = "default"; /* a file with the name of a model; no model's file is called so */
enum { CHOICE_BYTES = 4096 };

static int by_name(const void *a, const void *b) { return strcmp(a, b); }

/* "" where neither variable says. A relative XDG_DATA_HOME counts as none, as its specification wants. */
static status find_folder(char out[PATH_MAX])
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    int n = 0;
    if (data && *data == '/') n = plain_snprintf(out, PATH_MAX, "%s/centra/models", data);
    else if (home && *home == '/') n = plain_snprintf(out, PATH_MAX, "%s/.local/share/centra/models", home);
    else out[0] = '\0';
    return n >= 0 && n < PATH_MAX ? OK : fail(ST_USAGE, "the path of the folder of own models is too long");
}

status store_read(struct shelf *s)
{
    s->count = 0;
    const status st = find_folder(s->folder);
    if (st != OK || !s->folder[0]) return st;
    DIR *d = opendir(s->folder);
    if (d) shelf_read(d, by_name, s);
    else if (errno == ENOMEM) return fail(ST_MEMORY, "no memory to read '%.300s'", s->folder);
    else if (errno != ENOENT)
        return fail(ST_IO, "cannot read the folder of own models, '%.300s': %s", s->folder, plain_strerror(errno));
    return OK;
}

status store_open(struct shelf *s)
{
    status st = store_read(s);
    if (st == OK && !s->folder[0])
        return fail(ST_USAGE, "there is no place for own models: set HOME, or XDG_DATA_HOME to a whole path");
    return st == OK ? folder_make(s->folder) : st;
}

static status choice_path(const struct shelf *s, char out[PATH_MAX])
{
    const int n = plain_snprintf(out, PATH_MAX, "%s/%s", s->folder, CHOICE);
    return n > 0 && n < PATH_MAX ? OK : fail(ST_USAGE, "the path of the folder of own models is too long");
}

status store_default(const struct shelf *s, char out[MODEL_NAME_ROOM])
{
    char path[PATH_MAX], *said = NULL;
    size_t n = 0;
    status st = OK;
    out[0] = '\0';
    if (!s->folder[0]) return OK;
    TRY(choice_path(s, path));
    if (access(path, F_OK) && errno == ENOENT) return OK;
    TRY(file_read(path, CHOICE_BYTES, &said, &n));
    said[strcspn(said, "\n")] = '\0';
    if (!model_name_good(said))
        TRY(fail(ST_FORMAT, "'%.300s' names no model; centra models default NAME sets it anew", path));
    memcpy(out, said, strlen(said) + 1);
done:
    free(said);
    return st;
}

status store_set_default(const struct shelf *s, const char *name)
{
    char path[PATH_MAX];
    struct file_writer w;
    status st = OK;
    TRY(choice_path(s, path));
    if (!name) {
        if (unlink(path) && errno != ENOENT)
            return fail(ST_IO, "cannot remove '%.300s': %s", path, plain_strerror(errno));
        return OK;
    }
    TRY(file_begin(path, &w));
    file_put(&w, name, strlen(name));
    file_put(&w, "\n", 1);
    TRY(file_commit(&w));
done:
    return st;
}

status store_remove(const struct shelf *s, const char *name)
{
    char path[PATH_MAX];
    const status st = shelf_path(s, name, path);
    if (st != OK) return st;
    if (unlink(path)) return fail(ST_IO, "cannot remove '%.300s': %s", path, plain_strerror(errno));
    return OK;
}
