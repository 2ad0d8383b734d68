/* support_folder.c - known pictures from a folder of class folders. They are decoded on all threads, a batch at a time, and
 * collected in a support of their own, so that a failure leaves the caller's as it was. */
#include "api/classifier.h"
#include "base/size.h"
#include "data/source.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct known_file {
    const char *class_name, *name, *path; /* "cat", "cat/tom.jpg", "support/cat/tom.jpg" */
};

struct known_list {
    arena *memory;           /* owned: the names */
    struct known_file *file; /* owned */
    size_t count, room;
};

static status list_add(struct known_list *l, const char *root, const char *class_name, const char *file)
{
    struct known_file f = {.class_name = class_name};
    status st = OK;
    if (l->count == l->room) {
        const size_t room = size_max(64, 2 * l->room);
        struct known_file *more = realloc(l->file, room * sizeof *more);
        if (!more) return fail(ST_MEMORY, "no memory for the names of %zu pictures", room);
        l->file = more;
        l->room = room;
    }
    TRY(path_join(l->memory, class_name, file, &f.name));
    TRY(path_join(l->memory, root, f.name, &f.path));
    l->file[l->count++] = f;
done:
    return st;
}

static status list_class(struct known_list *l, const char *root, const char *class_name)
{
    struct folder_entry *entry;
    const char *path;
    size_t n;
    const size_t before = l->count;
    status st = OK;
    TRY(support_name_check("class", class_name));
    TRY(path_join(l->memory, root, class_name, &path));
    TRY(folder_entries(path, l->memory, &entry, &n));
    for (size_t i = 0; i < n; i++)
        if (!entry[i].folder && picture_suffix(entry[i].name)) TRY(list_add(l, root, class_name, entry[i].name));
    if (l->count == before)
        TRY(fail(ST_VALUE, "class '%.200s' of '%.200s' has no pictures; put some into it, or take the folder away",
                 class_name, root));
done:
    return st;
}

static status list_folder(struct known_list *l, const char *root)
{
    struct folder_entry *entry;
    struct stat about;
    size_t n, classes = 0;
    status st = OK;
    if (stat(root, &about) == 0 && !S_ISDIR(about.st_mode))
        return fail(ST_USAGE,
                    "'%.300s' is no folder; known pictures are given as a folder with a folder for each class", root);
    TRY(folder_entries(root, l->memory, &entry, &n));
    for (size_t i = 0; i < n; i++) {
        if (!entry[i].folder) continue;
        TRY(list_class(l, root, entry[i].name));
        classes++;
    }
    if (!classes)
        TRY(fail(ST_VALUE, "'%.300s' has no class folders; make a folder for each class and put its pictures there",
                 root));
done:
    return st;
}

/* One batch of files into the support. */
struct batch {
    struct sight *sight; /* owned, [most] */
    unsigned char *seen; /* owned, [most, pixels] */
    size_t most, unreadable;
};

static status add_batch(centra_support *s, centra_classifier *c, struct batch *b, const struct known_file *file,
                        size_t count, const centra_data_watch *watch)
{
    struct maps maps;
    status st = OK;
    for (size_t i = 0; i < count; i++)
        b->sight[i] = (struct sight){.path = file[i].path, .seen = b->seen + i * support_pixels(s)};
    TRY(classifier_encode(c, b->sight, count, &maps));
    TRY(support_reserve(s, count, maps.dim));
    for (size_t i = 0; i < count; i++) {
        if (b->sight[i].error.st == OK) {
            TRY(support_insert(s, file[i].class_name, file[i].name, maps.features + i * support_numbers(s),
                               b->sight[i].seen));
            continue;
        }
        b->unreadable++;
        if (watch && watch->warning) watch->warning(watch->context, b->sight[i].error.text);
    }
done:
    return st;
}

static status add_files(centra_support *s, centra_classifier *c, const struct known_list *l,
                        const centra_data_watch *watch, size_t *unreadable)
{
    struct batch b = {.most = size_min(classifier_batch(c), l->count)};
    status st = OK;
    b.sight = calloc(b.most, sizeof *b.sight);
    b.seen = calloc(b.most, support_pixels(s));
    if (!b.sight || !b.seen) TRY(fail(ST_MEMORY, "no memory for a batch of %zu pictures", b.most));
    for (size_t first = 0; first < l->count; first += b.most) {
        if (watch && watch->progress && watch->progress(watch->context, first, l->count))
            TRY(fail(ST_USAGE, "stopped after %zu of %zu known pictures", first, l->count));
        TRY(add_batch(s, c, &b, l->file + first, size_min(b.most, l->count - first), watch));
    }
    if (watch && watch->progress) (void)watch->progress(watch->context, l->count, l->count);
    *unreadable = b.unreadable;
done:
    free(b.sight);
    free(b.seen);
    return st;
}

/* A class of the list that is not in the support has nothing that can be read. */
static status check_classes(const centra_support *s, const struct known_list *l, const char *root)
{
    size_t at = 0;
    for (size_t i = 0; i < l->count; i++) {
        while (at < s->classes && strcmp(s->class[at].name, l->file[i].class_name) < 0) at++;
        if (at == s->classes || strcmp(s->class[at].name, l->file[i].class_name))
            return fail(ST_FORMAT, "class '%.200s' of '%.200s' has no picture that can be read", l->file[i].class_name,
                        root);
    }
    return OK;
}

centra_status centra_support_add_folder(centra_support *s, centra_classifier *c, const char *path,
                                        const centra_data_watch *watch, size_t *unreadable)
{
    struct known_list l = {0};
    centra_support *fresh = NULL;
    size_t left_out = 0;
    status st = OK;
    if (!s || !c || !path)
        return (centra_status)fail(ST_USAGE, "centra_support_add_folder needs a support, a classifier and a folder");
    TRY(support_belongs(s, c));
    l.memory = arena_new(1 << 14);
    if (!l.memory) TRY(fail(ST_MEMORY, "no memory to read the folder '%.300s'", path));
    TRY((status)centra_support_new(s->model, &fresh));
    TRY(list_folder(&l, path));
    TRY(add_files(fresh, c, &l, watch, &left_out));
    TRY(check_classes(fresh, &l, path));
    TRY(support_merge(s, fresh));
    if (unreadable) *unreadable = left_out;
done:
    centra_support_free(fresh);
    arena_free(l.memory);
    free(l.file);
    return (centra_status)st;
}
