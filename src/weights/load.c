/* load.c - parameters from a file, by name: all of them or none. Names are matched first, then every array is converted,
 * and only when nothing can fail any more but the device are values changed. */
#include "base/plain.h"
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
    if (l->count < NAMES_SHOWN) text_addf(&l->shown, "%s%.80s", l->count ? ", " : "", name);
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

/* Pairs parameters with arrays, and lists those that have no partner. */
static status pair_up(struct load *l, struct params *p, const char *prefix, const char *const *ignore,
                      struct name_list *missing, struct name_list *extra)
{
    for (size_t i = 0; i < params_count(p); i++) {
        struct param *e = params_at(p, i);
        if (!begins_with(e->name, prefix)) continue;
        const struct named_array *a = find_array(l, e->name);
        if (!a) {
            list_add(missing, e->name);
            continue;
        }
        l->used[a - l->w->array] = true;
        l->pair[l->count++] = (struct pair){.param = e, .array = a};
    }
    for (size_t i = 0; i < l->w->count; i++)
        if (!l->used[i] && !is_ignored(l->w->array[i].name, ignore)) list_add(extra, l->w->array[i].name);
    list_end(missing);
    list_end(extra);
    const status st = text_status(&missing->shown);
    return st == OK ? text_status(&extra->shown) : st;
}

static status match(struct load *l, struct params *p, const char *prefix, const char *const *ignore)
{
    struct name_list missing = {0}, extra = {0};
    status st = pair_up(l, p, prefix, ignore, &missing, &extra);
    if (st == OK && (missing.count || extra.count))
        st = fail(ST_FORMAT, "'%.120s' is for another network:%s%s%s%s%s", l->w->path, missing.count ? " missing " : "",
                  text_string(&missing.shown), missing.count && extra.count ? ";" : "", extra.count ? " extra " : "",
                  text_string(&extra.shown));
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

static status load_new(const struct weights *w, const struct params *p, struct load *l)
{
    *l = (struct load){.w = w};
    l->pair = calloc(size_max(params_count(p), 1), sizeof *l->pair);
    l->used = calloc(size_max(w->count, 1), sizeof *l->used);
    return l->pair && l->used ? OK : fail(ST_MEMORY, "no memory to load '%s'", w->path);
}

static void load_free(struct load *l)
{
    for (size_t i = 0; i < l->count; i++) free(l->pair[i].values);
    free(l->pair);
    free(l->used);
}

/* Those that lie in the file as the device wants them stay there; the others are left to be uploaded. */
static void borrow(struct load *l, struct params *p)
{
    size_t own = 0;
    for (size_t i = 0; i < l->count; i++) {
        if (l->pair[i].values) l->pair[own++] = l->pair[i];
        else params_borrow(p, l->pair[i].param, l->pair[i].from);
    }
    l->count = own;
}

static status load(const struct weights *w, struct params *p, const char *prefix, const char *const *ignore, bool lend)
{
    status st = OK;
    struct load l;
    TRY(load_new(w, p, &l));
    TRY(match(&l, p, prefix, ignore));
    TRY(convert(&l));
    params_thaw(p);
    if (lend && params_device(p)->on_host) borrow(&l, p);
    TRY(upload(&l, params_device(p)));
done:
    load_free(&l);
    return st;
}

status weights_load(const struct weights *w, struct params *p, const char *prefix, const char *const *ignore)
{
    return load(w, p, prefix, ignore, false);
}

status weights_lend(const struct weights *w, struct params *p, const char *prefix, const char *const *ignore)
{
    return load(w, p, prefix, ignore, true);
}

/* "a is [64, 3, 3, 3], not [32, 3, 3, 3]" for each pair whose shapes differ. */
static void list_misfits(const struct load *l, struct name_list *to)
{
    for (size_t i = 0; i < l->count; i++) {
        const tensor *wanted = &l->pair[i].param->value;
        const struct named_array *a = l->pair[i].array;
        tensor seen = {.rank = a->rank};
        char is[SHAPE_TEXT], not [SHAPE_TEXT], words[2 * SHAPE_TEXT + NAME_TEXT];
        memcpy(seen.dim, a->dim, sizeof seen.dim);
        if (tensor_same_shape(&seen, wanted)) continue;
        plain_snprintf(words, sizeof words, "%.40s is %s, not %s", l->pair[i].param->name, tensor_shape_text(&seen, is),
                       tensor_shape_text(wanted, not ));
        list_add(to, words);
    }
    list_end(to);
}

static void tell(text *to, const struct name_list *l, const char *what)
{
    if (l->count) text_addf(to, "%s%zu %s: %s", to->length ? "; " : "", l->count, what, text_string(&l->shown));
}

status weights_compare(const struct weights *w, struct params *p, const char *const *ignore, struct weights_fit *out)
{
    status st = OK;
    struct load l;
    struct name_list missing = {0}, extra = {0}, misfits = {0};
    text words = {0};
    TRY(load_new(w, p, &l));
    TRY(pair_up(&l, p, "", ignore, &missing, &extra));
    list_misfits(&l, &misfits);
    tell(&words, &missing, "missing");
    tell(&words, &misfits, "of another shape");
    tell(&words, &extra, "extra");
    TRY(text_status(&misfits.shown));
    TRY(text_status(&words));
    *out = (struct weights_fit){params_count(p), missing.count, extra.count, misfits.count, words};
    words = (text){0};
done:
    load_free(&l);
    text_free(&missing.shown);
    text_free(&extra.shown);
    text_free(&misfits.shown);
    text_free(&words);
    return st;
}

const struct named_array *weights_find_ours(const struct weights *w, const char *ours)
{
    char name[NAME_TEXT];
    const struct named_array *a = NULL;
    for (size_t i = 0; !a && name_in_file(ours, i, name); i++) a = weights_find(w, name);
    return a;
}
