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

static status write_renamed(const struct weights *w, enum weights_format to, const char *path)
{
    status st = OK;
    struct named_array *arrays = calloc(size_max(w->count, 1), sizeof *arrays);
    char(*names)[NAME_TEXT] = calloc(size_max(w->count, 1), sizeof *names);
    if (!arrays || !names) {
        st = fail(ST_MEMORY, "no memory to write '%s'", path);
        goto done;
    }
    if (w->count) memcpy(arrays, w->array, w->count * sizeof *arrays);
    for (size_t i = 0; i < w->count; i++) rename_array(&arrays[i], names[i]);
    st = to == WEIGHTS_NPY ? weights_write_npy(path, w->count, arrays)
                           : weights_write(path, w->count, arrays, w->metas, w->meta);
done:
    free(arrays);
    free(names);
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
