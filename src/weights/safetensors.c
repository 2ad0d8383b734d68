/* safetensors.c - reading safetensors: 8 bytes with the length of a JSON header, the header, then the data.
 *
 * The header gives each array's type, shape and range in the data. The ranges must cover the data exactly, without
 * gaps or overlaps, so that no byte of a file goes unchecked. */
#include "base/json.h"
#include "base/size.h"
#include "weights/file.h"
#include <stdlib.h>
#include <string.h>

enum { HEADER_LIMIT = 16 << 20 };

struct source {
    struct weights *w;
    const unsigned char *data; /* behind the header */
    size_t bytes;
};

static status parse_type(const struct source *s, const char *name, const struct json *j, enum array_type *out)
{
    if (!j || j->kind != JSON_STRING) return fail(ST_FORMAT, "'%s': array '%.100s' has no \"dtype\"", s->w->path, name);
    for (int t = 0; t <= ARRAY_BOOL; t++)
        if (!strcmp(j->string, array_type_name((enum array_type)t))) {
            *out = (enum array_type)t;
            return OK;
        }
    return fail(ST_FORMAT,
                "'%s': array '%.100s' has type %.20s; F32, F64, F16, BF16, I64, I32, U8 and BOOL are read here",
                s->w->path, name, j->string);
}

/* A list of at most `most` sizes; *count is how many there are, which may be more. */
static status parse_sizes(const struct source *s, const char *name, const char *key, const struct json *j, size_t most,
                          size_t *to, size_t *count)
{
    if (!j || j->kind != JSON_ARRAY)
        return fail(ST_FORMAT, "'%s': array '%.100s' has no \"%s\"", s->w->path, name, key);
    size_t i = 0;
    for (const struct json *e = j->first; e; e = e->next, i++) {
        if (e->kind != JSON_INT || e->integer < 0 || (uint64_t)e->integer > SIZE_MAX)
            return fail(ST_FORMAT, "'%s': element %zu of \"%s\" of array '%.100s' is no size", s->w->path, i, key,
                        name);
        if (i < most) to[i] = (size_t)e->integer;
    }
    *count = i;
    return OK;
}

static status parse_array(const struct source *s, const struct json *j)
{
    status st = OK;
    struct named_array a = {0};
    const char *path = s->w->path;
    size_t rank, ends, want, range[2] = {0, 0};
    if (j->kind != JSON_OBJECT || j->count != 3)
        return fail(ST_FORMAT, "'%s': array '%.100s' needs \"dtype\", \"shape\" and \"data_offsets\", nothing else",
                    path, j->key);
    TRY(parse_type(s, j->key, json_member(j, "dtype"), &a.type));
    TRY(parse_sizes(s, j->key, "shape", json_member(j, "shape"), MAX_RANK, a.dim, &rank));
    TRY(parse_sizes(s, j->key, "data_offsets", json_member(j, "data_offsets"), 2, range, &ends));
    a.rank = rank > MAX_RANK ? MAX_RANK + 1 : (int)rank;
    TRY(array_bytes(s->w, j->key, a.type, a.rank, a.dim, &want));
    if (ends != 2 || range[0] > range[1] || range[1] > s->bytes)
        return fail(ST_FORMAT, "'%s': array '%.100s' lies outside of the file's %zu bytes of data", path, j->key,
                    s->bytes);
    a.bytes = range[1] - range[0];
    if (a.bytes != want)
        return fail(ST_FORMAT, "'%s': array '%.100s' has %zu bytes where its type and shape need %zu", path, j->key,
                    a.bytes, want);
    a.data = s->data + range[0];
    a.name = j->key;
    TRY(weights_add(s->w, &a));
done:
    return st;
}

static status parse_meta(struct weights *w, const struct json *j)
{
    void *memory;
    if (j->kind != JSON_OBJECT) return fail(ST_FORMAT, "'%s': \"__metadata__\" is no object", w->path);
    status st = arena_take(w->memory, j->count, sizeof(struct meta), &memory);
    if (st != OK) return st;
    w->meta = memory;
    for (const struct json *e = j->first; e; e = e->next) {
        if (e->kind != JSON_STRING) return fail(ST_FORMAT, "'%s': metadata '%.100s' is not a text", w->path, e->key);
        w->meta[w->metas++] = (struct meta){e->key, e->string};
    }
    return OK;
}

static int by_place(const void *a, const void *b)
{
    const struct named_array *x = a, *y = b;
    const char *xd = x->data, *yd = y->data;
    if (xd != yd) return xd < yd ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes); /* empty ones stand before what begins there */
}

static status check_coverage(const struct source *s)
{
    struct weights *w = s->w;
    const unsigned char *at = s->data;
    if (w->count) qsort(w->array, w->count, sizeof *w->array, by_place);
    for (size_t i = 0; i < w->count; i++) {
        const struct named_array *a = &w->array[i];
        const unsigned char *begin = a->data;
        if (begin < at)
            return fail(ST_FORMAT, "'%s': array '%.100s' overlaps '%.100s'", w->path, a->name, w->array[i - 1].name);
        if (begin > at)
            return fail(ST_FORMAT, "'%s': no array covers the %zu bytes before '%.100s'", w->path, (size_t)(begin - at),
                        a->name);
        at = begin + a->bytes;
    }
    size_t rest = s->bytes - (size_t)(at - s->data);
    if (rest) return fail(ST_FORMAT, "'%s' has %zu bytes behind its last array", w->path, rest);
    return OK;
}

status safetensors_read(struct weights *w)
{
    status st = OK;
    const struct json *header;
    uint64_t length = load_u64(w->bytes);
    if (length > HEADER_LIMIT)
        return fail(ST_FORMAT, "'%s': its header claims %llu bytes; at most %d are read", w->path,
                    (unsigned long long)length, HEADER_LIMIT);
    if (length > w->n - 8)
        return fail(ST_FORMAT, "'%s' is cut short: its header has %llu bytes, %zu are there", w->path,
                    (unsigned long long)length, w->n - 8);
    struct source s = {w, w->bytes + 8 + length, w->n - 8 - (size_t)length};
    TRY(json_parse(w->path, (const char *)w->bytes + 8, (size_t)length, w->memory, &header));
    for (const struct json *j = header->first; j; j = j->next) {
        if (!strcmp(j->key, "__metadata__")) TRY(parse_meta(w, j));
        else TRY(parse_array(&s, j));
    }
    TRY(check_coverage(&s));
done:
    return st;
}
