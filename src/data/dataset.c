/* dataset.c - one order and one set of questions for every kind of data set. */
#include "data/dataset.h"
#include "base/map.h"
#include "base/plain.h"
#include "base/size.h"
#include "base/text.h"
#include "data/pack_format.h"
#include "data/source.h"
#include "data/synth.h"
#include "data/tar.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct dataset {
    char *path;           /* owned: with the split, for messages */
    struct source source; /* items sorted by class, then by name */
    const char **label;   /* owned; the names are in the source's arena: [classes] */
    size_t *first;        /* owned: [classes + 1] */
    size_t classes;
};

static status no_memory(const char *path) { return fail(ST_MEMORY, "no memory to open the data set '%s'", path); }

static status folder_open(const char *path, const char *split, const struct dataset_options *o, struct source *out)
{
    bool lists = false, tars = false;
    status st = csv_folder_is(path, &lists);
    if (st == OK && !lists) st = tar_folder_is(path, &tars);
    if (st != OK) return st;
    if (lists) return csv_folder_open(path, split, o->images, out);
    return tars ? tar_folder_open(path, split, out) : folder_source_open(path, split, o->log, out);
}

/* Whether the path is that of a list, which is one split: of none, or of the one that the file is called after. */
static bool is_list(const char *path)
{
    size_t n = strlen(path);
    return n > 4 && !strcmp(path + n - 4, ".csv");
}

static status list_open(const char *path, const char *split, const struct dataset_options *o, struct source *out)
{
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    if (split && *split && (strlen(split) + 4 != strlen(file) || strncmp(file, split, strlen(split)) != 0))
        return fail(ST_VALUE, "'%s' is one list: it has no split '%s'", path, split);
    return csv_source_open(path, o->images, out);
}

/* A file's kind by its first bytes; only lists have nothing else than their name. */
static status file_open(const char *path, const char *split, const struct dataset_options *o, struct source *out)
{
    struct file_map map;
    status st = file_map(path, &map);
    if (st != OK) return st;
    const bool pack = map.n > 8 && !memcmp(map.bytes, PACK_MAGIC, 8);
    const bool tar = tar_begins(map.bytes, map.n), gzip = map.n > 2 && map.bytes[0] == 0x1f && map.bytes[1] == 0x8b;
    file_unmap(&map);
    if (pack) return pack_source_open(path, split, out);
    if (tar) return tar_source_open(path, split, out);
    if (is_list(path)) return list_open(path, split, o, out);
    if (gzip) return fail(ST_FORMAT, "'%s' is compressed: unpack it with gunzip first", path);
    return fail(ST_FORMAT, "'%s' is no data set: it is neither a folder, nor a tar, a pack or a list *.csv", path);
}

static status source_open(const char *path, const char *split, const struct dataset_options *o, struct source *out)
{
    static const struct dataset_options none = {0};
    struct stat about;
    if (!o) o = &none;
    *out = (struct source){0};
    if (!strncmp(path, "synth:", 6)) return synth_source_open(path, split, out);
    if (stat(path, &about)) return fail(ST_IO, "cannot open '%s': %s", path, plain_strerror(errno));
    return (S_ISDIR(about.st_mode) ? folder_open : file_open)(path, split, o, out);
}

/* The usual splits first, the others by name. */
static int by_split(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    int rank = split_rank(x) - split_rank(y);
    return rank ? rank : strcmp(x, y);
}

static void add_splits(struct item_list *l, text *to)
{
    qsort(l->splits, l->split_count, sizeof *l->splits, by_split);
    for (size_t i = 0; i < l->split_count; i++) text_addf(to, "%s%s", i ? ", " : "", l->splits[i]);
}

/* What was asked for is there, or a sentence on what there is. */
static status check_found(const char *path, struct item_list *l)
{
    const char *split = l->wanted;
    status st = OK;
    text splits = {0};
    const bool has_splits = item_has_splits(l);
    if (has_splits) add_splits(l, &splits);
    TRY(text_status(&splits));
    const char *names = text_string(&splits);
    if (!split && has_splits) st = fail(ST_VALUE, "'%s' has splits: choose one of %s", path, names);
    else if (split && !has_splits && l->plain)
        st = fail(ST_VALUE, "'%s' has no split '%s': it is a set of classes without splits", path, split);
    else if (l->count) st = OK;
    else if (!has_splits) st = fail(ST_VALUE, "'%s' has no pictures in class folders", path);
    else st = fail(ST_VALUE, "'%s' has no pictures in split '%s'; it has the splits %s", path, split, names);
done:
    text_free(&splits);
    return st;
}

/* Byte-wise by class, then by the name within it: a class that begins like another comes first. */
static int by_class(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int order = memcmp(x->name, y->name, size_min(x->label_bytes, y->label_bytes));
    if (!order && x->label_bytes != y->label_bytes) order = x->label_bytes < y->label_bytes ? -1 : 1;
    return order ? order : strcmp(x->name + x->label_bytes, y->name + y->label_bytes);
}

static bool same_class(const struct item *a, const struct item *b)
{
    return a->label_bytes == b->label_bytes && !memcmp(a->name, b->name, a->label_bytes);
}

/* Classes from the sorted items. */
static status index_classes(struct dataset *d)
{
    struct item_list *l = &d->source.list;
    size_t n = 0;
    for (size_t i = 0; i < l->count; i++) {
        if (i && !by_class(&l->item[i - 1], &l->item[i]))
            return fail(ST_FORMAT, "'%s' has '%s' twice", d->path, l->item[i].name);
        n += i == 0 || !same_class(&l->item[i - 1], &l->item[i]);
    }
    d->label = malloc(n * sizeof *d->label);
    d->first = malloc((n + 1) * sizeof *d->first);
    if (!d->label || !d->first) return no_memory(d->path);
    for (size_t i = 0; i < l->count; i++) {
        const struct item *item = &l->item[i];
        if (i && same_class(item - 1, item)) continue;
        void *taken;
        status st = arena_take(l->memory, item->label_bytes + 1, 1, &taken);
        if (st != OK) return st;
        char *label = taken;
        memcpy(label, item->name, item->label_bytes);
        label[item->label_bytes] = 0;
        d->label[d->classes] = label;
        d->first[d->classes++] = i;
    }
    d->first[d->classes] = l->count;
    return OK;
}

status dataset_open(const char *path, const char *split, const struct dataset_options *o, struct dataset **out)
{
    status st = OK;
    text title = {0};
    struct item_list *l;
    struct dataset *d = calloc(1, sizeof *d);
    if (!d) return no_memory(path);
    TRY(source_open(path, split, o, &d->source));
    l = &d->source.list;
    TRY(check_found(path, l));
    text_addf(&title, "%s%s%s", path, l->wanted ? "/" : "", l->wanted ? l->wanted : "");
    l->wanted = NULL; /* the caller's text ends here */
    TRY(text_status(&title));
    d->path = title.data;
    title = (text){0};
    qsort(l->item, l->count, sizeof *l->item, by_class);
    TRY(index_classes(d));
    *out = d;
    d = NULL;
done:
    text_free(&title);
    dataset_close(d);
    return st;
}

void dataset_close(struct dataset *d)
{
    if (!d) return;
    source_close(&d->source);
    free(d->path);
    free(d->label);
    free(d->first);
    free(d);
}

size_t dataset_class_count(const struct dataset *d) { return d->classes; }

const char *dataset_class_name(const struct dataset *d, size_t c)
{
    assert(c < d->classes);
    return d->label[c];
}

size_t dataset_class_size(const struct dataset *d, size_t c)
{
    assert(c < d->classes);
    return d->first[c + 1] - d->first[c];
}

size_t dataset_class_first(const struct dataset *d, size_t c)
{
    assert(c < d->classes);
    return d->first[c];
}

size_t dataset_count(const struct dataset *d) { return d->source.list.count; }

size_t dataset_class_of(const struct dataset *d, size_t picture)
{
    assert(picture < dataset_count(d));
    size_t low = 0, high = d->classes; /* the class is in low .. high - 1 */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (d->first[middle] <= picture) low = middle;
        else high = middle;
    }
    return low;
}

const char *dataset_name(const struct dataset *d, size_t picture)
{
    assert(picture < dataset_count(d));
    return d->source.list.item[picture].name;
}

status dataset_picture(const struct dataset *d, size_t picture, struct picture *out)
{
    assert(picture < dataset_count(d));
    const struct source *s = &d->source;
    const struct item *item = &s->list.item[picture];
    struct source_bytes b = {0};
    char name[400]; /* as much as a message can hold */
    if (s->picture) return s->picture(s, item, out);
    status st = s->bytes(s, item, &b);
    if (st != OK) return st;
    plain_snprintf(name, sizeof name, "%s/%s", d->path, item->name);
    st = picture_decode(name, b.data, b.n, false, out); /* not turned upright: published numbers were not */
    free(b.owned);
    return st;
}

status dataset_bytes(const struct dataset *d, size_t picture, char **data, size_t *bytes)
{
    assert(picture < dataset_count(d));
    struct source_bytes b = {0};
    status st = d->source.bytes(&d->source, &d->source.list.item[picture], &b);
    if (st != OK) return st;
    if (!b.owned) {
        b.owned = malloc(b.n + 1);
        if (!b.owned) return fail(ST_MEMORY, "no memory for the %zu bytes of '%s'", b.n, dataset_name(d, picture));
        memcpy(b.owned, b.data, b.n);
        b.owned[b.n] = 0;
    }
    *data = b.owned;
    *bytes = b.n;
    return OK;
}

/* The array and behind it the names, in one block. */
static status copy_splits(const char *path, struct item_list *l, const char ***out)
{
    size_t count = item_has_splits(l) ? l->split_count : 0, bytes = (count + 1) * sizeof(char *);
    for (size_t i = 0; i < count; i++) bytes += strlen(l->splits[i]) + 1;
    const char **copy = malloc(bytes);
    if (!copy) return no_memory(path);
    char *to = (char *)(copy + count + 1);
    qsort(l->splits, l->split_count, sizeof *l->splits, by_split);
    for (size_t i = 0; i < count; i++) {
        size_t n = strlen(l->splits[i]) + 1;
        memcpy(to, l->splits[i], n);
        copy[i] = to;
        to += n;
    }
    copy[count] = NULL;
    *out = copy;
    return OK;
}

status dataset_splits(const char *path, const char ***out)
{
    struct source s;
    status st = source_open(path, "", NULL, &s); /* no split has an empty name, so nothing is kept */
    if (st == OK) st = copy_splits(path, &s.list, out);
    source_close(&s);
    return st;
}
