/* pth_zip.c - PyTorch's files since 1.6: a zip archive with a pickle NAME/data.pkl and a member NAME/data/KEY for each
 * storage. */
#include "base/text.h"
#include "weights/pth.h"
#include "weights/zip.h"
#include <string.h>

/* The member whose name ends with "/data.pkl" in the archive's one folder; *folder: bytes of its name, with slash. */
static status find_pickle(const struct weights *w, const struct zip *z, const struct zip_member **out, size_t *folder)
{
    for (size_t i = 0; i < z->count; i++) {
        const char *slash = strchr(z->member[i].name, '/');
        if (!slash || strcmp(slash, "/data.pkl")) continue;
        *out = &z->member[i];
        *folder = (size_t)(slash - z->member[i].name) + 1;
        return OK;
    }
    return fail(ST_FORMAT, "'%s' is a zip archive without a data.pkl: PyTorch did not write it", w->path);
}

/* "FOLDER/REST" in `name`. */
static status join(text *name, const char *folder, size_t n, const char *kind, const char *rest)
{
    text_clear(name);
    text_add_bytes(name, folder, n);
    text_add(name, kind);
    text_add(name, rest);
    return text_status(name);
}

static status find_storages(const struct weights *w, const struct zip *z, const char *folder, size_t n,
                            struct pickle_storage *first, text *name)
{
    status st = OK;
    for (struct pickle_storage *s = first; s; s = s->next) {
        size_t bytes;
        TRY(join(name, folder, n, "data/", s->key));
        TRY(pth_storage_bytes(w, s, &bytes));
        const struct zip_member *m = zip_find(z, text_string(name));
        if (!m)
            return fail(ST_FORMAT, "'%s': member '%.100s' is missing, which a tensor needs", w->path,
                        text_string(name));
        if (m->bytes != bytes)
            return fail(ST_FORMAT, "'%s': member '%.100s' has %zu bytes where its tensors need %zu", w->path, m->name,
                        m->bytes, bytes);
        s->data = m->data;
    }
done:
    return st;
}

/* Newer files say in which byte order they are. */
static status check_order(const struct weights *w, const struct zip *z, const char *folder, size_t n, text *name)
{
    status st = join(name, folder, n, "byteorder", "");
    if (st != OK) return st;
    const struct zip_member *m = zip_find(z, text_string(name));
    if (!m || (m->bytes == 6 && !memcmp(m->data, "little", 6))) return OK;
    return fail(ST_FORMAT, "'%s' was written by a big-endian machine; save it again on another", w->path);
}

status pth_zip_read(struct weights *w)
{
    status st = OK;
    struct zip z;
    struct pickle p;
    const struct zip_member *m = NULL;
    size_t folder = 0;
    text name = {0};
    TRY(zip_read(w->path, w->bytes, w->n, w->memory, &z));
    TRY(find_pickle(w, &z, &m, &folder));
    TRY(check_order(w, &z, m->name, folder, &name));
    TRY(pickle_read(w->path, m->data, m->bytes, w->memory, &p));
    TRY(find_storages(w, &z, m->name, folder, p.storages, &name));
    TRY(pth_add_tensors(w, p.root));
done:
    text_free(&name);
    return st;
}
