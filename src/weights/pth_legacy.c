/* pth_legacy.c - PyTorch's files before 1.6, also written later on request: five pickles one behind the other (a magic
 * number, the protocol, the machine, the tensors, the keys of the storages), then each storage with its length. */
#include "base/size.h"
#include "weights/pth.h"
#include <stdlib.h>
#include <string.h>

enum { PROTOCOL = 1001 };

struct reader {
    struct weights *w;
    size_t at;
};

static status next_pickle(struct reader *r, struct pickle *out)
{
    struct weights *w = r->w;
    status st = pickle_read(w->path, w->bytes + r->at, w->n - r->at, w->memory, out);
    if (st == OK) r->at += out->bytes;
    return st;
}

static status read_preamble(struct reader *r)
{
    status st = OK;
    struct pickle p;
    const char *path = r->w->path;
    TRY(next_pickle(r, &p)); /* the magic number, by which the file was recognised */
    TRY(next_pickle(r, &p));
    if (p.root->kind != PICKLE_INT || p.root->integer != PROTOCOL)
        return fail(ST_FORMAT, "'%s' is a PyTorch file of another protocol than %d", path, PROTOCOL);
    TRY(next_pickle(r, &p));
    const struct pickle_value *little = pickle_member(p.root, "little_endian");
    if (!little || little->kind != PICKLE_BOOL || !little->integer)
        return fail(ST_FORMAT, "'%s' was written by a big-endian machine; save it again on another", path);
done:
    return st;
}

static int by_key(const void *a, const void *b)
{
    const struct pickle_storage *const *x = a, *const *y = b;
    return strcmp((*x)->key, (*y)->key);
}

/* The storages that the tensors name, sorted by key; *count of them. */
static status sort_storages(struct weights *w, struct pickle_storage *first, struct pickle_storage ***out,
                            size_t *count)
{
    void *memory;
    size_t n = 0;
    for (struct pickle_storage *s = first; s; s = s->next) n++;
    status st = arena_take(w->memory, n, sizeof first, &memory);
    if (st != OK) return st;
    struct pickle_storage **list = memory;
    n = 0;
    for (struct pickle_storage *s = first; s; s = s->next) list[n++] = s;
    if (n) qsort(list, n, sizeof *list, by_key);
    *out = list;
    *count = n;
    return OK;
}

/* The place of the first with that key, or `count`. */
static size_t find_key(struct pickle_storage **list, size_t count, const char *key)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(list[middle]->key, key) < 0) low = middle + 1;
        else high = middle;
    }
    return low < count && !strcmp(list[low]->key, key) ? low : count;
}

/* The storage `key`, which is next in the file, for all who name it. */
static status read_storage(struct reader *r, const char *key, struct pickle_storage **list, size_t count)
{
    struct weights *w = r->w;
    size_t first = find_key(list, count, key), bytes;
    if (first == count)
        return fail(ST_FORMAT, "'%s': no tensor names storage '%.50s', so that its type is not known", w->path, key);
    if (list[first]->data) return fail(ST_FORMAT, "'%s': storage '%.50s' is listed twice", w->path, key);
    status st = pth_storage_bytes(w, list[first], &bytes);
    if (st != OK) return st;
    if (!w->bytes || w->n - r->at < 8 || w->n - r->at - 8 < bytes)
        return fail(ST_FORMAT, "'%s' is cut short in storage '%.50s'", w->path, key);
    if (load_u64(w->bytes + r->at) != list[first]->count)
        return fail(ST_FORMAT, "'%s': storage '%.50s' has another length than its tensors need", w->path, key);
    for (size_t i = first; i < count && !strcmp(list[i]->key, key); i++) {
        if (list[i]->type != list[first]->type || list[i]->count != list[first]->count)
            return fail(ST_FORMAT, "'%s': storage '%.50s' is named with two types or lengths", w->path, key);
        list[i]->data = w->bytes + r->at + 8;
    }
    r->at += 8 + bytes;
    return OK;
}

static status read_storages(struct reader *r, const struct pickle_value *keys, struct pickle_storage *first)
{
    status st = OK;
    struct pickle_storage **list;
    size_t count;
    TRY(sort_storages(r->w, first, &list, &count));
    if (keys->kind != PICKLE_LIST) return fail(ST_FORMAT, "'%s' has no list of its storages", r->w->path);
    for (size_t i = 0; i < keys->count; i++) {
        if (keys->item[i]->kind != PICKLE_STRING)
            return fail(ST_FORMAT, "'%s': a storage's key is no text", r->w->path);
        TRY(read_storage(r, keys->item[i]->string, list, count));
    }
    for (size_t i = 0; i < count; i++)
        if (!list[i]->data) return fail(ST_FORMAT, "'%s': storage '%.50s' is missing", r->w->path, list[i]->key);
    if (r->at != r->w->n)
        return fail(ST_FORMAT, "'%s' has %zu bytes behind its last storage", r->w->path, r->w->n - r->at);
done:
    return st;
}

status pth_legacy_read(struct weights *w)
{
    status st = OK;
    struct reader r = {w, 0};
    struct pickle tensors, keys;
    TRY(read_preamble(&r));
    TRY(next_pickle(&r, &tensors));
    TRY(next_pickle(&r, &keys));
    TRY(read_storages(&r, keys.root, tensors.storages));
    TRY(pth_add_tensors(w, tensors.root));
done:
    return st;
}
