/* folder.c - pictures in folders: <split>/<class>/<picture>, or <class>/<picture>.
 *
 * Links are followed: sets are often put together from them. The walk never goes deeper than three levels, so a link
 * in a circle does no harm. */
#include "base/plain.h"
#include "data/source.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int by_name(const void *a, const void *b)
{
    const struct folder_entry *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* Whether the entry is a folder, or leads to one; what cannot be examined counts as a file and is found out later. */
static status entry_add(const char *path, const struct dirent *e, arena *memory, struct folder_entry *out)
{
    const char *full;
    struct stat about;
    status st = path_join(memory, path, e->d_name, &full);
    if (st != OK) return st;
    out->name = full + strlen(full) - strlen(e->d_name);
    if (e->d_type != DT_LNK && e->d_type != DT_UNKNOWN) out->folder = e->d_type == DT_DIR;
    else out->folder = stat(full, &about) == 0 && S_ISDIR(about.st_mode);
    return OK;
}

/* The next entry that is not hidden; NULL behind the last, or with errno. */
static const struct dirent *next_entry(DIR *folder)
{
    const struct dirent *e;
    errno = 0;
    while ((e = readdir(folder)) && e->d_name[0] == '.') errno = 0;
    return e;
}

status folder_entries(const char *path, arena *memory, struct folder_entry **out, size_t *count)
{
    status st = OK;
    struct folder_entry *list = NULL;
    void *kept;
    size_t n = 0, capacity = 0;
    DIR *folder = opendir(path);
    if (!folder) return fail(ST_IO, "cannot open the folder '%s': %s", path, plain_strerror(errno));
    for (const struct dirent *e; (e = next_entry(folder)); n++) {
        if (n == capacity) {
            capacity = capacity ? 2 * capacity : 64;
            struct folder_entry *larger = realloc(list, capacity * sizeof *list);
            if (!larger) {
                st = fail(ST_MEMORY, "no memory for the names in '%s'", path);
                goto done;
            }
            list = larger;
        }
        TRY(entry_add(path, e, memory, &list[n]));
    }
    if (errno) {
        st = fail(ST_IO, "cannot read the folder '%s': %s", path, plain_strerror(errno));
        goto done;
    }
    TRY(arena_take(memory, n + 1, sizeof *list, &kept));
    if (n) {
        qsort(list, n, sizeof *list, by_name);
        memcpy(kept, list, n * sizeof *list);
    }
    *out = kept;
    *count = n;
done:
    free(list);
    closedir(folder);
    return st;
}

struct walk {
    const char *path;
    const struct log_sink *log;
    struct item_list *list;
    arena *memory; /* of the walk's own paths */
};

/* What one class folder, or what may be one, holds. */
struct content {
    struct folder_entry *entry;
    size_t count, pictures, folders;
};

static status look(const struct walk *w, const char *path, struct content *out)
{
    *out = (struct content){0};
    status st = folder_entries(path, w->memory, &out->entry, &out->count);
    for (size_t i = 0; st == OK && i < out->count; i++) {
        if (out->entry[i].folder) out->folders++;
        else out->pictures += picture_suffix(out->entry[i].name);
    }
    return st;
}

static status add_class(const struct walk *w, const char *split, const char *label, const struct content *c)
{
    status st = OK;
    if (c->pictures == 0)
        log_line(w->log, LOG_WARN, "class '%s' of '%s' has no pictures and is left out", label, w->path);
    for (size_t i = 0; st == OK && i < c->count; i++)
        if (!c->entry[i].folder && picture_suffix(c->entry[i].name))
            st = item_add(w->list, split, label, c->entry[i].name, 0, 0);
    return st;
}

/* The classes of the wanted split. */
static status add_split(const struct walk *w, const char *split, const char *path, const struct content *classes)
{
    status st = OK;
    for (size_t i = 0; i < classes->count; i++) {
        const char *label = classes->entry[i].name, *full;
        struct content c;
        if (!classes->entry[i].folder) continue;
        TRY(path_join(w->memory, path, label, &full));
        TRY(look(w, full, &c));
        TRY(add_class(w, split, label, &c));
    }
done:
    return st;
}

/* Whether a folder of folders is a split: by its name, or because one of them has pictures. */
static status is_split(const struct walk *w, const char *name, const char *path, const struct content *c, bool *out)
{
    status st = OK;
    *out = c->folders && split_rank(name) < SPLITS_USUAL;
    for (size_t i = 0; !*out && i < c->count; i++) {
        const char *full;
        struct content class;
        if (!c->entry[i].folder) continue;
        TRY(path_join(w->memory, path, c->entry[i].name, &full));
        TRY(look(w, full, &class));
        *out = class.pictures > 0;
    }
done:
    return st;
}

/* A folder directly below the set's: a split when it has folders, a class when it has pictures. */
static status add_top(const struct walk *w, const char *name)
{
    status st = OK;
    const char *full, *wanted = w->list->wanted;
    struct content c;
    bool split = false;
    TRY(path_join(w->memory, w->path, name, &full));
    TRY(look(w, full, &c));
    TRY(is_split(w, name, full, &c, &split));
    if (split) TRY(item_split(w->list, name));
    if (c.pictures) w->list->plain = true;
    if (!wanted && (c.pictures || !c.folders)) TRY(add_class(w, NULL, name, &c));
    if (wanted && !strcmp(name, wanted)) TRY(add_split(w, name, full, &c));
done:
    return st;
}

/* context: the folder above the classes, owned. */
static status folder_bytes(const struct source *s, const struct item *i, struct source_bytes *out)
{
    return source_read_file(s->context, i->name, out);
}

static void folder_close(struct source *s) { free(s->context); }

status folder_source_open(const char *path, const char *split, const struct log_sink *log, struct source *out)
{
    status st = source_begin(out, split);
    if (st != OK) return st;
    struct walk w = {path, log, &out->list, arena_new(1 << 16)};
    struct folder_entry *entry;
    size_t count;
    const char *classes = path;
    out->bytes = folder_bytes;
    out->close = folder_close;
    if (!w.memory) {
        st = fail(ST_MEMORY, "no memory to read the folder '%s'", path);
        goto done;
    }
    if (split) TRY(path_join(w.memory, path, split, &classes));
    out->context = strdup(classes);
    if (!out->context) {
        st = fail(ST_MEMORY, "no memory to read the folder '%s'", path);
        goto done;
    }
    TRY(folder_entries(path, w.memory, &entry, &count));
    for (size_t i = 0; i < count; i++)
        if (entry[i].folder) TRY(add_top(&w, entry[i].name));
done:
    arena_free(w.memory);
    return st;
}
