/* convert.c - any file of named arrays in another format, with our names. Files of other projects become models of ours. */
#include "base/size.h"
#include "weights/file.h"
#include "weights/foreign.h"
#include "weights/names.h"
#include <stdlib.h>
#include <string.h>

/* Our name if there is exactly one other than its own; 'scale' alone, which may be a head's or not, stays. */
static void rename_array(struct named_array *a, char name[NAME_TEXT])
{
    char second[NAME_TEXT];
    if (name_of_ours(a->name, 1, name) && !name_of_ours(a->name, 2, second)) a->name = name;
}

/* The file's arrays under our names. */
struct renamed {
    struct named_array *array; /* owned */
    char (*name)[NAME_TEXT];   /* owned */
};

static void renamed_free(struct renamed *r)
{
    free(r->array);
    free(r->name);
}

static status rename_all(const struct weights *w, const char *path, struct renamed *out)
{
    struct renamed r = {calloc(size_max(w->count, 1), sizeof *r.array), calloc(size_max(w->count, 1), sizeof *r.name)};
    *out = r;
    if (!r.array || !r.name) return fail(ST_MEMORY, "no memory to write '%s'", path);
    if (w->count) memcpy(r.array, w->array, w->count * sizeof *r.array);
    for (size_t i = 0; i < w->count; i++) rename_array(&r.array[i], r.name[i]);
    return OK;
}

static status write_renamed(const struct weights *w, enum weights_format to, const char *path)
{
    struct renamed r;
    arena *halves = NULL;
    status st = OK;
    TRY(rename_all(w, path, &r));
    if (to == WEIGHTS_HALF) {
        if (!(halves = arena_new(1 << 16))) TRY(fail(ST_MEMORY, "no memory to write '%s'", path));
        TRY(arrays_halve(w->path, w->count, r.array, halves));
    }
    TRY(to == WEIGHTS_NPY ? weights_write_npy(path, w->count, r.array)
                          : weights_write(path, w->count, r.array, w->metas, w->meta));
done:
    arena_free(halves);
    renamed_free(&r);
    return st;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct named_array *)a)->name, ((const struct named_array *)b)->name);
}

status weights_convert_fingerprint(const struct weights *w, char hex[65])
{
    struct renamed r;
    const status st = rename_all(w, w->path, &r);
    if (st == OK && w->count) qsort(r.array, w->count, sizeof *r.array, by_name);
    if (st == OK) arrays_fingerprint(w->count, r.array, hex);
    renamed_free(&r);
    return st;
}

status weights_convert_new(const struct weights *w, size_t metas, const struct meta *meta, const char *path,
                           bool *taken)
{
    struct renamed r;
    status st = rename_all(w, path, &r);
    if (st == OK) st = weights_write_new(path, w->count, r.array, metas, meta, taken);
    renamed_free(&r);
    return st;
}

status weights_convert(const struct weights *w, enum weights_format to, const char *path)
{
    struct weights *ours = NULL;
    const struct foreign *f = foreign_find(w);
    if (!f) return write_renamed(w, to, path);
    status st = foreign_convert(f, w, &ours);
    if (st == OK) st = write_renamed(ours, to, path);
    weights_close(ours);
    return st;
}
