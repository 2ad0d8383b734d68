/* pth.c - the tensors of a PyTorch file: which dict has them, and their numbers in row-major order. */
#include "weights/pth.h"
#include "base/size.h"
#include <string.h>

/* All tensors together may have so many times the bytes of the file: two names may share a storage, but a small file
 * must not ask for all memory or fill a disk when it is converted. */
enum { SHARING_MOST = 4 };

status pth_storage_bytes(const struct weights *w, const struct pickle_storage *s, size_t *out)
{
    if (size_mul(s->count, array_type_bytes(s->type), out)) return OK;
    return fail(ST_FORMAT, "'%s': storage '%.50s' is larger than any memory", w->path, s->key);
}

static bool is_dense(const struct pickle_tensor *t)
{
    size_t stride = 1;
    for (int d = t->rank - 1; d >= 0; d--) {
        if (t->dim[d] != 1 && t->stride[d] != stride) return false;
        stride *= t->dim[d];
    }
    return true;
}

/* Copies the elements in order of their indices, the last running fastest. None of the sizes is 0. */
static void copy_strided(const struct pickle_tensor *t, size_t item, size_t count, unsigned char *to)
{
    size_t index[MAX_RANK] = {0}, place = t->offset;
    for (size_t i = 0; i < count; i++) {
        memcpy(to + i * item, t->storage->data + place * item, item);
        for (int d = t->rank - 1; d >= 0; d--) {
            place += t->stride[d];
            if (++index[d] < t->dim[d]) break;
            place -= t->stride[d] * t->dim[d];
            index[d] = 0;
        }
    }
}

static status add_tensor(struct weights *w, const char *name, const struct pickle_tensor *t, size_t *budget)
{
    size_t item = array_type_bytes(t->storage->type);
    struct named_array a = {.name = name, .type = t->storage->type, .rank = t->rank};
    memcpy(a.dim, t->dim, sizeof a.dim);
    status st = array_bytes(w, name, a.type, a.rank, a.dim, &a.bytes);
    if (st != OK) return st;
    if (a.bytes > *budget)
        return fail(ST_FORMAT,
                    "'%s': its tensors have more than %d times the bytes of the file; save them with .clone()", w->path,
                    SHARING_MOST);
    *budget -= a.bytes;
    if (a.bytes == 0 || is_dense(t)) {
        a.data = t->storage->data + (a.bytes ? t->offset * item : 0);
    } else {
        void *memory;
        st = arena_take(w->memory, a.bytes, 1, &memory);
        if (st != OK) return st;
        copy_strided(t, item, a.bytes / item, memory);
        a.data = memory;
    }
    return weights_add(w, &a);
}

/* The dict with the tensors: the outer one or one right inside it. Optimisers keep theirs deeper. */
static status find_tensors(const struct weights *w, const struct pickle_value *root, const struct pickle_value **out)
{
    const struct pickle_value *found = NULL;
    if (root->kind != PICKLE_DICT)
        return fail(ST_FORMAT, "'%s' holds no dict of tensors; save model.state_dict()", w->path);
    if (root->holds_tensor) found = root;
    for (size_t i = 1; i < root->count; i += 2) {
        const struct pickle_value *v = root->item[i];
        if (v->kind != PICKLE_DICT || !v->holds_tensor || v == found) continue;
        if (found)
            return fail(ST_FORMAT, "'%s' has tensors in more than one dict; save the state dictionary alone", w->path);
        found = v;
    }
    if (!found) return fail(ST_FORMAT, "'%s' holds no tensors", w->path);
    *out = found;
    return OK;
}

status pth_add_tensors(struct weights *w, const struct pickle_value *root)
{
    status st = OK;
    const struct pickle_value *dict = NULL;
    size_t budget;
    if (!size_mul(w->n, SHARING_MOST, &budget)) budget = SIZE_MAX;
    TRY(find_tensors(w, root, &dict));
    for (size_t i = 0; i + 1 < dict->count; i += 2) {
        const struct pickle_value *key = dict->item[i], *v = dict->item[i + 1];
        if (v->kind == PICKLE_DICT && v->holds_tensor && v != dict)
            return fail(ST_FORMAT, "'%s' has tensors in dicts of dicts; save the state dictionary alone", w->path);
        if (v->kind != PICKLE_TENSOR) continue;
        if (key->kind != PICKLE_STRING) return fail(ST_FORMAT, "'%s' has a tensor whose name is no text", w->path);
        TRY(add_tensor(w, key->string, v->tensor, &budget));
    }
done:
    return st;
}
