/* safetensors_write.c - writing safetensors. The format knows no gaps, so that only the data as a whole can be aligned:
 * the header is filled with blanks until they begin at a multiple of 64. */
#include "base/file.h"
#include "base/json.h"
#include "base/size.h"
#include "weights/weights.h"
#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
    const struct named_array *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static void put_array(struct json_writer *j, const struct named_array *a, size_t at)
{
    json_key(j, a->name);
    json_object(j);
    json_key(j, "dtype");
    json_string(j, array_type_name(a->type));
    json_key(j, "shape");
    json_array(j);
    for (int d = 0; d < a->rank; d++) json_int(j, (int64_t)a->dim[d]);
    json_array_end(j);
    json_key(j, "data_offsets");
    json_array(j);
    json_int(j, (int64_t)at);
    json_int(j, (int64_t)(at + a->bytes));
    json_array_end(j);
    json_object_end(j);
}

static void put_header(text *to, size_t count, const struct named_array *const *arrays, size_t metas,
                       const struct meta *meta)
{
    struct json_writer j;
    json_begin(&j, to, false);
    json_object(&j);
    if (metas) {
        json_key(&j, "__metadata__");
        json_object(&j);
        for (size_t i = 0; i < metas; i++) {
            json_key(&j, meta[i].key);
            json_string(&j, meta[i].value);
        }
        json_object_end(&j);
    }
    for (size_t i = 0, at = 0; i < count; at += arrays[i]->bytes, i++) put_array(&j, arrays[i], at);
    json_object_end(&j);
    while ((8 + to->length) % 64 && text_status(to) == OK) text_add(to, " ");
}

/* The arrays in order of their names, which must be unique and not that of the metadata. */
static status sort_arrays(const char *path, size_t count, const struct named_array *arrays,
                          const struct named_array **order)
{
    for (size_t i = 0; i < count; i++) order[i] = &arrays[i];
    if (count) qsort(order, count, sizeof *order, by_name);
    for (size_t i = 0; i < count; i++) {
        if (i && !strcmp(order[i - 1]->name, order[i]->name))
            return fail(ST_USAGE, "'%s' would have two arrays called '%.100s'; names must be unique", path,
                        order[i]->name);
        if (!strcmp(order[i]->name, "__metadata__"))
            return fail(ST_USAGE, "'%s': no array can be called '__metadata__' in safetensors", path);
    }
    return OK;
}

/* The arrays in their order, and length and header as bytes. */
struct layout {
    const struct named_array **order; /* owned */
    text head;
};

static void layout_free(struct layout *l)
{
    free(l->order);
    text_free(&l->head);
}

static status layout_make(const char *path, size_t count, const struct named_array *arrays, size_t metas,
                          const struct meta *meta, struct layout *l)
{
    status st = OK;
    text header = {0};
    char length[8];
    l->order = calloc(size_max(count, 1), sizeof *l->order);
    if (!l->order) return fail(ST_MEMORY, "no memory to write the %zu arrays of '%s'", count, path);
    TRY(sort_arrays(path, count, arrays, l->order));
    put_header(&header, count, l->order, metas, meta);
    TRY(text_status(&header));
    for (size_t i = 0; i < 8; i++) length[i] = (char)(unsigned char)((uint64_t)header.length >> (8 * i));
    text_add_bytes(&l->head, length, sizeof length);
    text_add_bytes(&l->head, header.data, header.length);
    TRY(text_status(&l->head));
done:
    text_free(&header);
    return st;
}

/* With `taken` only under a name that is free. */
static status write_file(const char *path, size_t count, const struct named_array *arrays, size_t metas,
                         const struct meta *meta, bool *taken)
{
    status st = OK;
    struct file_writer w = {0};
    struct layout l = {0};
    TRY(layout_make(path, count, arrays, metas, meta, &l));
    TRY(file_begin(path, &w));
    file_put(&w, l.head.data, l.head.length);
    for (size_t i = 0; i < count; i++) file_put(&w, l.order[i]->data, l.order[i]->bytes);
    TRY(taken ? file_commit_new(&w, taken) : file_commit(&w));
done:
    layout_free(&l);
    return st;
}

status weights_write(const char *path, size_t count, const struct named_array *arrays, size_t metas,
                     const struct meta *meta)
{
    return write_file(path, count, arrays, metas, meta, NULL);
}

status weights_write_new(const char *path, size_t count, const struct named_array *arrays, size_t metas,
                         const struct meta *meta, bool *taken)
{
    *taken = false;
    return write_file(path, count, arrays, metas, meta, taken);
}

status weights_write_bytes(const char *name, size_t count, const struct named_array *arrays, size_t metas,
                           const struct meta *meta, text *to)
{
    struct layout l = {0};
    status st = OK;
    TRY(layout_make(name, count, arrays, metas, meta, &l));
    text_add_bytes(to, l.head.data, l.head.length);
    for (size_t i = 0; i < count; i++)
        if (l.order[i]->bytes) text_add_bytes(to, l.order[i]->data, l.order[i]->bytes);
    TRY(text_status(to));
done:
    layout_free(&l);
    return st;
}
