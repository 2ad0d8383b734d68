/* tar_source.c - a data set in one tar, or in all tars of a folder: the set is then the union of what they hold. */
#include "base/map.h"
#include "base/size.h"
#include "data/source.h"
#include "data/tar.h"
#include <stdlib.h>
#include <string.h>

enum { TARS_MOST = 1 << 10, AT_BITS = 48 }; /* an item's place: which tar, above; which byte, below */

struct tars {
    size_t count;
    struct file_map map[];
};

struct adding {
    struct item_list *list;
    uint64_t which;
};

static status add_member(void *context, const char *name, size_t at, size_t n)
{
    const struct adding *a = context;
    return item_add_path(a->list, name, a->which << AT_BITS | at, n);
}

static status tar_bytes(const struct source *s, const struct item *i, struct source_bytes *out)
{
    const struct tars *t = s->context;
    const unsigned char *bytes = t->map[i->at >> AT_BITS].bytes + (i->at & (((uint64_t)1 << AT_BITS) - 1));
    *out = (struct source_bytes){(const char *)bytes, (size_t)i->bytes, NULL};
    return OK;
}

static void tar_close(struct source *s)
{
    struct tars *t = s->context;
    for (size_t i = 0; t && i < t->count; i++) file_unmap(&t->map[i]);
    free(t);
}

/* An empty source with room for that many tars. */
static status begin(struct source *out, const char *split, size_t tars)
{
    status st = source_begin(out, split);
    if (st != OK) return st;
    out->bytes = tar_bytes;
    out->close = tar_close;
    out->context = calloc(1, sizeof(struct tars) + tars * sizeof(struct file_map));
    return out->context ? OK : fail(ST_MEMORY, "no memory to open %zu tars", tars);
}

static status add_tar(struct source *s, const char *path)
{
    struct tars *t = s->context;
    struct file_map *map = &t->map[t->count];
    struct adding adding = {&s->list, t->count};
    status st = file_map(path, map);
    if (st != OK) return st;
    t->count++;
    if ((uint64_t)map->n >> AT_BITS) return fail(ST_VALUE, "'%s' is larger than 256 TiB", path);
    return tar_walk(path, map->bytes, map->n, add_member, &adding);
}

status tar_source_open(const char *path, const char *split, struct source *out)
{
    status st = begin(out, split, 1);
    return st == OK ? add_tar(out, path) : st;
}

static bool is_tar(const struct folder_entry *e)
{
    size_t n = strlen(e->name);
    return !e->folder && n > 4 && !strcmp(e->name + n - 4, ".tar");
}

status tar_folder_open(const char *path, const char *split, struct source *out)
{
    struct folder_entry *entry;
    size_t count = 0, tars = 0;
    status st = begin(out, split, TARS_MOST);
    if (st != OK) return st;
    TRY(folder_entries(path, out->list.memory, &entry, &count));
    for (size_t i = 0; i < count; i++) {
        const char *full;
        if (!is_tar(&entry[i])) continue;
        if (tars++ == TARS_MOST) {
            st = fail(ST_VALUE, "'%s' has more than %d tars", path, TARS_MOST);
            goto done;
        }
        TRY(path_join(out->list.memory, path, entry[i].name, &full));
        TRY(add_tar(out, full));
    }
done:
    return st;
}

status tar_folder_is(const char *path, bool *out)
{
    struct folder_entry *entry;
    size_t count = 0, tars = 0, folders = 0;
    arena *memory = arena_new(1 << 14);
    if (!memory) return fail(ST_MEMORY, "no memory to read the folder '%s'", path);
    status st = folder_entries(path, memory, &entry, &count);
    for (size_t i = 0; st == OK && i < count; i++) {
        tars += is_tar(&entry[i]);
        folders += entry[i].folder;
    }
    arena_free(memory);
    *out = tars && !folders;
    return st;
}
