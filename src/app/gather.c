/* gather.c - walking the folders of a command line. */
#include "app/gather.h"
#include "base/plain.h"
#include "base/size.h"
#include "base/text.h"
#include "centra.h"
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEEPEST = 64 };

struct walk {
    struct gathered *to;
    struct met { /* folders that were walked */
        dev_t device;
        ino_t node;
    } * met; /* owned */
    size_t met_count, met_room;
};

static status no_memory(void) { return fail(ST_MEMORY, "no memory for the names of pictures"); }

static status add(struct gathered *g, const char *path)
{
    if (g->count == g->room) {
        const size_t room = size_max(256, 2 * g->room);
        char **more = realloc(g->path, room * sizeof *more);
        if (!more) return no_memory();
        g->path = more;
        g->room = room;
    }
    g->path[g->count] = strdup(path);
    if (!g->path[g->count]) return no_memory();
    g->count++;
    return OK;
}

/* Whether the folder is met for the first time; it is remembered. */
static status meet(struct walk *w, const struct stat *about, bool *first)
{
    *first = false;
    for (size_t i = 0; i < w->met_count; i++)
        if (w->met[i].device == about->st_dev && w->met[i].node == about->st_ino) return OK;
    if (w->met_count == w->met_room) {
        const size_t room = size_max(64, 2 * w->met_room);
        struct met *more = realloc(w->met, room * sizeof *more);
        if (!more) return no_memory();
        w->met = more;
        w->met_room = room;
    }
    w->met[w->met_count++] = (struct met){about->st_dev, about->st_ino};
    *first = true;
    return OK;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* The names in a folder, sorted; hidden ones are left out. */
static status read_names(const char *path, struct gathered *out)
{
    status st = OK;
    DIR *d = opendir(path);
    if (!d) return fail(ST_IO, "cannot open the folder '%.300s': %s", path, plain_strerror(errno));
    for (const struct dirent *e; st == OK && (e = readdir(d));)
        if (e->d_name[0] != '.') st = add(out, e->d_name);
    closedir(d);
    if (out->count) qsort(out->path, out->count, sizeof *out->path, by_name);
    return st;
}

static status walk_folder(struct walk *w, const char *path, const struct stat *about, int depth);

/* An entry of a folder: walked, taken or passed over. */
static status walk_entry(struct walk *w, const char *folder, const char *name, int depth)
{
    struct stat about;
    text path = {0};
    const size_t n = strlen(folder);
    text_addf(&path, "%s%s%s", folder, n && folder[n - 1] == '/' ? "" : "/", name);
    status st = text_status(&path);
    if (st == OK) {
        if (stat(text_string(&path), &about) == 0 && S_ISDIR(about.st_mode))
            st = walk_folder(w, text_string(&path), &about, depth + 1);
        else if (centra_picture_suffix(name)) st = add(w->to, text_string(&path));
    }
    text_free(&path);
    return st;
}

static status walk_folder(struct walk *w, const char *path, const struct stat *about, int depth)
{
    struct gathered names = {0};
    bool first = false;
    status st = OK;
    if (depth > DEEPEST) return OK;
    TRY(meet(w, about, &first));
    if (first) TRY(read_names(path, &names));
    for (size_t i = 0; i < names.count; i++) TRY(walk_entry(w, path, names.path[i], depth));
done:
    gathered_free(&names);
    return st;
}

status gather(const char *const *arguments, size_t count, struct gathered *out)
{
    struct walk w = {.to = out};
    status st = OK;
    for (size_t i = 0; i < count && st == OK; i++) {
        struct stat about;
        if (stat(arguments[i], &about) == 0 && S_ISDIR(about.st_mode)) st = walk_folder(&w, arguments[i], &about, 0);
        else st = add(out, arguments[i]);
    }
    free(w.met);
    return st;
}

void gathered_free(struct gathered *g)
{
    for (size_t i = 0; i < g->count; i++) free(g->path[i]);
    free(g->path);
    *g = (struct gathered){0};
}
