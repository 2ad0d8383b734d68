/* weights.c - opening a file of named arrays: which kind it is, the list of its arrays, finding one by name. */
#include "weights/weights.h"
#include "base/file.h"
#include "base/size.h"
#include "weights/file.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const size_t limit_bytes = (size_t)64 << 30; /* the largest file that is read */

void weights_close(struct weights *w)
{
    if (!w) return;
    arena_free(w->memory);
    free(w->path);
    free(w->bytes);
    free(w->array);
    free(w);
}

status weights_add(struct weights *w, const struct named_array *a)
{
    if (w->count == w->capacity) {
        size_t bytes, capacity = size_max(64, 2 * w->capacity);
        struct named_array *more = size_mul(capacity, sizeof *more, &bytes) ? realloc(w->array, bytes) : NULL;
        if (!more) return fail(ST_MEMORY, "no memory for more than %zu arrays of '%s'", w->count, w->path);
        w->array = more;
        w->capacity = capacity;
    }
    w->array[w->count++] = *a;
    return OK;
}

status weights_text(struct weights *w, const char *from, size_t n, const char **out)
{
    void *to;
    status st = arena_take(w->memory, n + 1, 1, &to);
    if (st != OK) return st;
    memcpy(to, from, n);
    ((char *)to)[n] = 0;
    *out = to;
    return OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct named_array *)a)->name, ((const struct named_array *)b)->name);
}

status weights_sort(struct weights *w)
{
    if (w->count) qsort(w->array, w->count, sizeof *w->array, by_name);
    for (size_t i = 1; i < w->count; i++)
        if (!strcmp(w->array[i - 1].name, w->array[i].name))
            return fail(ST_FORMAT, "'%s' has two arrays called '%.100s'; names must be unique", w->path,
                        w->array[i].name);
    return OK;
}

/* PyTorch's DataParallel puts "module." before every name; who saved the wrapped network meant the network. */
static void unwrap(struct weights *w)
{
    static const char wrapper[] = "module.";
    for (size_t i = 0; i < w->count; i++)
        if (strncmp(w->array[i].name, wrapper, sizeof wrapper - 1) || !w->array[i].name[sizeof wrapper - 1]) return;
    for (size_t i = 0; i < w->count; i++) w->array[i].name += sizeof wrapper - 1;
}

/* Reads w->bytes, or the folder if there are none, by the reader that its first bytes call for. */
static status read_any(struct weights *w)
{
    static const unsigned char zip[] = {'P', 'K', 3, 4}; /* a local header */
    static const unsigned char legacy[] = {0x80, 2,    0x8a, 10,   0x6c, 0xfc, 0x9c,
                                           0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19};
    status st;
    if (!w->bytes) {
        w->kind = "npy folder";
        st = npy_folder_read(w);
    } else if (w->n >= sizeof zip && !memcmp(w->bytes, zip, sizeof zip)) {
        w->kind = "pth";
        st = pth_zip_read(w);
    } else if (w->n >= sizeof legacy && !memcmp(w->bytes, legacy, sizeof legacy)) {
        w->kind = "pth (legacy)";
        st = pth_legacy_read(w);
    } else if (w->n > 8 && w->bytes[8] == '{') {
        w->kind = "safetensors";
        st = safetensors_read(w);
    } else {
        return fail(
            ST_FORMAT,
            "'%s' holds no weights that are known here: give a safetensors or PyTorch file, or a folder of .npy",
            w->path);
    }
    if (st != OK) return st;
    unwrap(w);
    return weights_sort(w);
}

status weights_new(const char *path, struct weights **out)
{
    struct weights *w = calloc(1, sizeof *w);
    if (w && (w->path = strdup(path)) && (w->memory = arena_new(4096))) {
        *out = w;
        return OK;
    }
    weights_close(w);
    return fail(ST_MEMORY, "no memory to open '%s'", path);
}

status weights_open(const char *path, struct weights **out)
{
    status st = OK;
    struct weights *w = NULL;
    struct stat about;
    char *data = NULL;
    TRY(weights_new(path, &w));
    if (stat(path, &about) || !S_ISDIR(about.st_mode)) { /* what cannot be examined is refused by file_read */
        TRY(file_read(path, limit_bytes, &data, &w->n));
        w->bytes = (unsigned char *)data;
    }
    TRY(read_any(w));
    *out = w;
    w = NULL;
done:
    weights_close(w);
    return st;
}

status weights_parse(const char *name, const void *bytes, size_t n, struct weights **out)
{
    status st = OK;
    struct weights *w = NULL;
    TRY(weights_new(name, &w));
    w->bytes = malloc(size_max(n, 1));
    if (!w->bytes) {
        st = fail(ST_MEMORY, "no memory for the %zu bytes of '%s'", n, name);
        goto done;
    }
    if (n) memcpy(w->bytes, bytes, n);
    w->n = n;
    TRY(read_any(w));
    *out = w;
    w = NULL;
done:
    weights_close(w);
    return st;
}

const char *weights_kind(const struct weights *w) { return w->kind; }

size_t weights_count(const struct weights *w) { return w->count; }

const struct named_array *weights_at(const struct weights *w, size_t i)
{
    assert(i < w->count);
    return &w->array[i];
}

const struct named_array *weights_find(const struct weights *w, const char *name)
{
    struct named_array key = {.name = name};
    return w->count ? bsearch(&key, w->array, w->count, sizeof key, by_name) : NULL;
}

const char *weights_meta(const struct weights *w, const char *key)
{
    for (size_t i = 0; i < w->metas; i++)
        if (!strcmp(w->meta[i].key, key)) return w->meta[i].value;
    return NULL;
}

size_t weights_meta_count(const struct weights *w) { return w->metas; }

void weights_meta_at(const struct weights *w, size_t i, const char **key, const char **value)
{
    assert(i < w->metas);
    *key = w->meta[i].key;
    *value = w->meta[i].value;
}
