/* record.c - records as JSON, written and read by one table of their fields. */
#include "app/record.h"
#include "app/rows.h"
#include "base/file.h"
#include "base/json.h"
#include "base/plain.h"
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum kind { TEXT, WHOLE, REAL };
enum { RECORD_BYTES = 1 << 20 };

static const struct field {
    const char *key;
    enum kind kind;
    bool needed; /* a record without it is damaged */
    size_t offset;
} record_fields[] = {
#define FIELD(name, kind, needed) \
    { \
#name, kind, needed, offsetof(struct record, name) \
    }
    FIELD(schema, WHOLE, true),
    FIELD(row, TEXT, true),
    FIELD(seed, WHOLE, true),
    FIELD(accuracy, REAL, true),
    FIELD(ci95, REAL, true),
    FIELD(way, WHOLE, true),
    FIELD(shot, WHOLE, true),
    FIELD(query, WHOLE, true),
    FIELD(episodes, WHOLE, true),
    FIELD(test_seed, WHOLE, true),
    FIELD(test_seconds, REAL, false),
    FIELD(recipe, TEXT, false),
    FIELD(recipe_sha256, TEXT, false),
    FIELD(settings, TEXT, true),
    FIELD(more, TEXT, true),
    FIELD(train_data, TEXT, false),
    FIELD(test_data, TEXT, true),
    FIELD(weights, TEXT, true),
    FIELD(weights_from, TEXT, false),
    FIELD(epochs, WHOLE, true),
    FIELD(steps, WHOLE, true),
    FIELD(train_seconds, REAL, false),
    FIELD(pictures_per_second, REAL, false),
    FIELD(validation, REAL, false),
    FIELD(validation_ci95, REAL, false),
    FIELD(validation_epoch, WHOLE, true),
    FIELD(commit, TEXT, true),
    FIELD(version, TEXT, true),
    FIELD(device, TEXT, true),
    FIELD(machine, TEXT, true),
    FIELD(maths, TEXT, true),
    FIELD(date, TEXT, true),
    FIELD(log, TEXT, false),
    FIELD(curve, TEXT, false),
#undef FIELD
};
enum { FIELDS = sizeof record_fields / sizeof *record_fields };

/* Writing */

static void add_field(struct json_writer *w, const struct field *f, const struct record *r)
{
    const char *at = (const char *)r + f->offset;
    json_key(w, f->key);
    if (f->kind == REAL) json_real(w, *(const double *)(const void *)at);
    else if (f->kind == WHOLE) json_int(w, *(const int64_t *)(const void *)at);
    else if (*(const char *const *)(const void *)at) json_string(w, *(const char *const *)(const void *)at);
    else json_null(w);
}

status record_write(const char *path, const struct record *r)
{
    struct json_writer w;
    text t = {0};
    status st = OK;
    json_begin(&w, &t, true);
    json_object(&w);
    for (size_t i = 0; i < FIELDS; i++) add_field(&w, &record_fields[i], r);
    json_object_end(&w);
    text_add(&t, "\n");
    TRY(text_status(&t));
    TRY(file_write(path, t.data, t.length));
done:
    text_free(&t);
    return st;
}

/* Reading */

static bool is_number(const struct json *v) { return v && (v->kind == JSON_INT || v->kind == JSON_REAL); }

static status take_field(const struct field *f, const struct json *object, struct record *r)
{
    char *at = (char *)r + f->offset;
    const struct json *v = json_member(object, f->key);
    if (f->kind == REAL) *(double *)(void *)at = is_number(v) ? v->real : (double)NAN;
    if (f->kind == WHOLE) *(int64_t *)(void *)at = v && v->kind == JSON_INT ? v->integer : 0;
    if (f->kind == TEXT) *(const char **)(void *)at = v && v->kind == JSON_STRING ? v->string : NULL;
    const bool there = f->kind == REAL ? is_number(v) : v && v->kind == (f->kind == TEXT ? JSON_STRING : JSON_INT);
    return there || !f->needed ? OK : fail(ST_FORMAT, "its %s is missing or of another kind", f->key);
}

static status check(const struct record *r)
{
    struct row_at at;
    if (r->schema != RECORD_SCHEMA)
        return fail(ST_FORMAT, "its schema is %jd, but must be %d", (intmax_t)r->schema, RECORD_SCHEMA);
    if (!(r->accuracy >= 0 && r->accuracy <= 100 && r->ci95 >= 0))
        return fail(ST_FORMAT, "its accuracy %g +- %g is none", r->accuracy, r->ci95);
    return row_find(r->row, &at);
}

static status parse(const char *path, const char *bytes, size_t n, arena *memory, struct record *r)
{
    const struct json *object;
    status st = OK;
    TRY(json_parse(path, bytes, n, memory, &object));
    for (size_t i = 0; i < FIELDS; i++) TRY(take_field(&record_fields[i], object, r));
    TRY(check(r));
done:
    return st;
}

status record_read(const char *path, arena *memory, struct record *out)
{
    char *bytes = NULL;
    size_t n = 0;
    struct record r = {0};
    status st = file_read(path, RECORD_BYTES, &bytes, &n);
    if (st != OK) return st;
    st = parse(path, bytes, n, memory, &r);
    free(bytes);
    if (st == OK) *out = r;
    else if (st != ST_MEMORY) {
        char why[400];
        plain_snprintf(why, sizeof why, "%s", error_text());
        st = fail(ST_FORMAT, "the record '%s' is damaged: %s", path, why);
    }
    return st;
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static bool is_record_name(const char *name)
{
    const size_t n = strlen(name);
    return name[0] != '.' && n > 5 && !strcmp(name + n - 5, ".json");
}

/* The names of the records in a folder, owned by the caller, sorted. */
static status list_names(const char *folder, char ***names, size_t *count)
{
    DIR *d = opendir(folder);
    size_t n = 0;
    char **list = NULL;
    status st = OK;
    if (!d && errno != ENOENT) return fail(ST_IO, "cannot read '%s': %s", folder, plain_strerror(errno));
    for (struct dirent *e; d && st == OK && (e = readdir(d));) {
        if (!is_record_name(e->d_name)) continue;
        char **more = realloc(list, (n + 1) * sizeof *more);
        if (more) list = more;
        if (more) list[n] = strdup(e->d_name);
        if (!more || !list[n++]) st = fail(ST_MEMORY, "no memory for the records of '%s'", folder);
    }
    if (d) closedir(d);
    if (n) qsort(list, n, sizeof *list, by_text);
    *names = list;
    *count = n;
    return st;
}

status records_read(const char *folder, arena *memory, struct record_list *out)
{
    char **names = NULL;
    size_t n = 0;
    void *taken = NULL;
    text path = {0};
    status st = OK;
    *out = (struct record_list){0};
    TRY(list_names(folder, &names, &n));
    TRY(arena_take(memory, n ? n : 1, sizeof *out->item, &taken));
    out->item = taken;
    for (size_t i = 0; i < n; i++) {
        text_clear(&path);
        text_addf(&path, "%s/%s", folder, names[i]);
        TRY(text_status(&path));
        TRY(record_read(text_string(&path), memory, &out->item[out->count]));
        out->count++;
    }
done:
    for (size_t i = 0; i < n; i++) free(names[i]);
    free(names);
    text_free(&path);
    return st;
}
