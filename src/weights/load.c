/* load.c - parameters from a file, by name: all of them or none. Names are matched first, then every array is converted,
 * and only when nothing can fail any more but the device are values changed. */
#include "base/size.h"
#include "base/text.h"
#include "weights/file.h"
#include "weights/names.h"
#include <stdlib.h>
#include <string.h>

struct pair {
    struct param *param;
    const struct named_array *array;
    void *values;     /* owned: as the device wants them, where the file has them otherwise */
    const void *from; /* what is uploaded */
};

struct load {
    const struct weights *w;
    struct pair *pair; /* owned */
    size_t count;
    bool *used; /* owned: which arrays of the file have found their parameter */
};

enum { NAMES_SHOWN = 4 };

/* A list of names for a message, of which only the first few are shown. */
struct name_list {
    text shown;
    size_t count;
};

static void list_add(struct name_list *l, const char *name)
{
    if (l->count < NAMES_SHOWN) text_addf(&l->shown, "%s%.60s", l->count ? ", " : "", name);
    l->count++;
}

static void list_end(struct name_list *l)
{
    if (l->count > NAMES_SHOWN) text_addf(&l->shown, " and %zu more", l->count - NAMES_SHOWN);
}

static bool begins_with(const char *s, const char *prefix) { return !strncmp(s, prefix, strlen(prefix)); }

/* The array for a parameter, or NULL; under its own name before the released ones. */
static const struct named_array *find_array(const struct load *l, const char *ours)
{
    char name[NAME_TEXT];
    for (size_t i = 0; name_in_file(ours, i, name); i++) {
        const struct named_array *a = weights_find(l->w, name);
        if (a && !l->used[a - l->w->array]) return a;
    }
    return NULL;
}

static bool is_ignored(const char *in_file, const char *const *ignore)
{
    char name[NAME_TEXT];
    if (name_is_idle(in_file)) return true;
    for (; ignore && *ignore; ignore++) {
        if (begins_with(in_file, *ignore)) return true;
        for (size_t i = 0; name_of_ours(in_file, i, name); i++)
            if (begins_with(name, *ignore)) return true;
    }
    return false;
}

/* Pairs parameters with arrays, and says which have no partner. */
static status match(struct load *l, struct params *p, const char *prefix, const char *const *ignore)
{
    status st = OK;
    struct name_list missing = {0}, extra = {0};
    for (size_t i = 0; i < params_count(p); i++) {
        struct param *e = params_at(p, i);
        if (!begins_with(e->name, prefix)) continue;
        const struct named_array *a = find_array(l, e->name);
        if (!a) {
            list_add(&missing, e->name);
            continue;
        }
        l->used[a - l->w->array] = true;
        l->pair[l->count++] = (struct pair){.param = e, .array = a};
    }
    for (size_t i = 0; i < l->w->count; i++)
        if (!l->used[i] && !is_ignored(l->w->array[i].name, ignore)) list_add(&extra, l->w->array[i].name);
    list_end(&missing);
    list_end(&extra);
    TRY(text_status(&missing.shown));
    TRY(text_status(&extra.shown));
    if (missing.count || extra.count)
        st = fail(ST_FORMAT, "'%.120s' is for another network:%s%s%s%s%s", l->w->path, missing.count ? " missing " : "",
                  text_string(&missing.shown), missing.count && extra.count ? ";" : "", extra.count ? " extra " : "",
                  text_string(&extra.shown));
done:
    text_free(&missing.shown);
    text_free(&extra.shown);
    return st;
}

static status convert(struct load *l)
{
    status st = OK;
    for (size_t i = 0; i < l->count; i++) {
        struct pair *e = &l->pair[i];
        const tensor *x = &e->param->value;
        TRY(named_array_fits(e->array, l->w->path, x->rank, x->dim));
        e->from = x->type == DT_F32 ? named_array_floats(e->array) : NULL;
        if (e->from) continue;
        e->from = e->values = malloc(size_max(tensor_bytes(x), 1));
        if (!e->values) return fail(ST_MEMORY, "no memory for '%.100s' of '%s'", e->param->name, l->w->path);
        TRY(named_array_get(e->array, l->w->path, x->type, x->rank, x->dim, e->values));
    }
done:
    return st;
}

static status upload(struct load *l, struct device *d)
{
    status st = OK;
    for (size_t i = 0; i < l->count; i++) {
        tensor *x = &l->pair[i].param->value;
        TRY(d->upload(d, x->data, l->pair[i].from, tensor_bytes(x)));
    }
    TRY(d->sync(d)); /* the values are freed next */
done:
    return st;
}

status weights_load(const struct weights *w, struct params *p, const char *prefix, const char *const *ignore)
{
    status st = OK;
    struct load l = {.w = w};
    l.pair = calloc(size_max(params_count(p), 1), sizeof *l.pair);
    l.used = calloc(size_max(w->count, 1), sizeof *l.used);
    if (!l.pair || !l.used) {
        st = fail(ST_MEMORY, "no memory to load '%s'", w->path);
        goto done;
    }
    TRY(match(&l, p, prefix, ignore));
    TRY(convert(&l));
    params_thaw(p);
    TRY(upload(&l, params_device(p)));
done:
    for (size_t i = 0; i < l.count; i++) free(l.pair[i].values);
    free(l.pair);
    free(l.used);
    return st;
}
