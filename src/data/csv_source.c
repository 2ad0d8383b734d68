/* csv_source.c - a data set as lists of file names and labels beside a folder of pictures.
 *
 * One list is a set without splits. A folder with train.csv, val.csv or test.csv is a set with those splits, whose
 * pictures are in its folder images, or in itself when it has none. */
#include "base/file.h"
#include "data/csv.h"
#include "data/source.h"
#include <stdlib.h>
#include <string.h>

enum { LIST_MOST_BYTES = 1 << 30 };

static status add_line(void *context, const char *filename, const char *label)
{
    return item_add(context, NULL, label, filename, 0, 0);
}

/* context: the folder of the pictures, owned. */
static status csv_bytes(const struct source *s, const struct item *i, struct source_bytes *out)
{
    return source_read_file(s->context, i->name + i->label_bytes + 1, out);
}

static void csv_close(struct source *s) { free(s->context); }

static status begin(struct source *out, const char *split, const char *images, size_t images_bytes)
{
    status st = source_begin(out, split);
    if (st != OK) return st;
    out->bytes = csv_bytes;
    out->close = csv_close;
    char *folder = malloc(images_bytes + 1);
    if (!folder) return fail(ST_MEMORY, "no memory for the path '%s'", images);
    memcpy(folder, images, images_bytes);
    folder[images_bytes] = 0;
    out->context = folder;
    return OK;
}

static status read_list(const char *path, struct item_list *list)
{
    char *bytes = NULL;
    size_t n = 0;
    status st = file_read(path, LIST_MOST_BYTES, &bytes, &n);
    if (st == OK) st = csv_read(path, bytes, n, add_line, list);
    free(bytes);
    return st;
}

status csv_source_open(const char *path, const char *images, struct source *out)
{
    const char *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash - path) + (slash == path) : 0;
    status st;
    if (images) st = begin(out, NULL, images, strlen(images));
    else st = folder ? begin(out, NULL, path, folder) : begin(out, NULL, ".", 1);
    return st == OK ? read_list(path, &out->list) : st;
}

static const char *const lists[SPLITS_USUAL] = {"train.csv", "val.csv", "test.csv"};

/* The path of a split's list in the list's arena; NULL when the file is not there. */
static status find_list(const char *path, int which, arena *memory, const char **out)
{
    status st = path_join(memory, path, lists[which], out);
    if (st == OK && !file_exists(*out)) *out = NULL;
    return st;
}

status csv_folder_open(const char *path, const char *split, const char *images, struct source *out)
{
    status st = OK;
    const char *list, *pictures = images ? images : path;
    TRY(begin(out, split, pictures, strlen(pictures)));
    if (!images) {
        TRY(path_join(out->list.memory, path, "images", &pictures));
        if (file_exists(pictures)) {
            free(out->context);
            out->context = strdup(pictures);
            if (!out->context) return fail(ST_MEMORY, "no memory for the path '%s'", pictures);
        }
    }
    for (int i = 0; i < SPLITS_USUAL; i++) {
        static const char *const names[SPLITS_USUAL] = {"train", "val", "test"};
        TRY(find_list(path, i, out->list.memory, &list));
        if (!list) continue;
        TRY(item_split(&out->list, names[i]));
        if (!split || strcmp(split, names[i])) continue;
        out->list.wanted = NULL; /* a list's lines are of no split: they are all wanted */
        TRY(read_list(list, &out->list));
        out->list.wanted = split;
        out->list.plain = false;
    }
done:
    return st;
}

status csv_folder_is(const char *path, bool *out)
{
    arena *memory = arena_new(1 << 12);
    if (!memory) return fail(ST_MEMORY, "no memory to read the folder '%s'", path);
    status st = OK;
    *out = false;
    for (int i = 0; st == OK && !*out && i < SPLITS_USUAL; i++) {
        const char *list = NULL;
        st = find_list(path, i, memory, &list);
        *out = list != NULL;
    }
    arena_free(memory);
    return st;
}
