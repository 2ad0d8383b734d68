/* check.c - looking at every picture of a data set once. */
#include "data/check.h"
#include "base/arena.h"
#include "base/size.h"
#include "data/dataset.h"
#include "data/hash.h"
#include "data/source.h"
#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 256 }; /* pictures between two looks at the progress */

struct checking {
    const struct check_options *o;
    arena *memory;
    size_t splits;
    const char **name; /* of the splits; owned */
    struct dataset *set[SPLITS_MOST];
    struct picture_hash *hash[SPLITS_MOST]; /* owned */
    struct seen *seen;                      /* owned: every picture that could be read */
    size_t count;
};

struct seen {
    const struct picture_hash *hash;
    size_t split, picture;
};

static status no_memory(void) { return fail(ST_MEMORY, "no memory to check the data set"); }

static status copy_text(arena *memory, const char *s, const char **out)
{
    void *copy;
    status st = arena_take(memory, strlen(s) + 1, 1, &copy);
    if (st != OK) return st;
    memcpy(copy, s, strlen(s) + 1);
    *out = copy;
    return OK;
}

static status open_all(struct checking *c, const char *path)
{
    const struct dataset_options opening = {.images = c->o->images, .log = c->o->log};
    size_t count = 0;
    status st = dataset_splits(path, &c->name);
    if (st != OK) return st;
    while (c->name[count]) count++;
    c->splits = size_max(count, 1); /* the first name is NULL when there are none */
    for (size_t s = 0; st == OK && s < c->splits; s++) st = dataset_open(path, c->name[s], &opening, &c->set[s]);
    return st;
}

static status hash_split(struct checking *c, size_t s, size_t before, size_t all, pool *threads)
{
    status st = OK;
    const size_t n = dataset_count(c->set[s]);
    c->hash[s] = malloc(n * sizeof *c->hash[s]);
    if (!c->hash[s]) return no_memory();
    for (size_t first = 0; first < n && st == OK; first += AT_ONCE) {
        const size_t count = size_min(AT_ONCE, n - first), done = before + first + count;
        st = dataset_hash_some(c->set[s], first, count, threads, c->hash[s] + first);
        if (st == OK && c->o->progress && !c->o->progress(c->o->context, done, all))
            st = fail(ST_VALUE, "checking was stopped after %zu of %zu pictures", done, all);
    }
    return st;
}

static status hash_all(struct checking *c)
{
    status st = OK;
    pool *threads = NULL;
    size_t all = 0, before = 0;
    for (size_t s = 0; s < c->splits; s++) all += dataset_count(c->set[s]);
    TRY(pool_new(c->o->threads, &threads));
    for (size_t s = 0; s < c->splits; s++) {
        TRY(hash_split(c, s, before, all, threads));
        before += dataset_count(c->set[s]);
    }
    c->seen = malloc((all + 1) * sizeof *c->seen);
    if (!c->seen) TRY(no_memory());
    for (size_t s = 0; s < c->splits; s++)
        for (size_t i = 0; i < dataset_count(c->set[s]); i++)
            if (c->hash[s][i].hex[0]) c->seen[c->count++] = (struct seen){&c->hash[s][i], s, i};
done:
    pool_free(threads);
    return st;
}

static status describe_split(const struct checking *c, size_t s, struct check_split *out)
{
    const struct dataset *d = c->set[s];
    *out = (struct check_split){.classes = dataset_class_count(d), .pictures = dataset_count(d), .smallest = SIZE_MAX};
    for (size_t k = 0; k < out->classes; k++) {
        out->smallest = size_min(out->smallest, dataset_class_size(d, k));
        out->largest = size_max(out->largest, dataset_class_size(d, k));
    }
    for (size_t i = 0; i < out->pictures; i++) out->unreadable += !c->hash[s][i].hex[0];
    fingerprint_of(d, c->hash[s], out->fingerprint);
    return c->name[s] ? copy_text(c->memory, c->name[s], &out->name) : OK;
}

/* Decodes what could not be read once more, for the reason. */
static status list_unreadable(const struct checking *c, struct check *out)
{
    status st = OK;
    void *taken;
    size_t count = 0;
    for (size_t s = 0; s < c->splits; s++) count += out->split[s].unreadable;
    TRY(arena_take(c->memory, count + 1, sizeof *out->unreadable, &taken));
    out->unreadable = taken;
    for (size_t s = 0; s < c->splits; s++) {
        for (size_t i = 0; i < dataset_count(c->set[s]); i++) {
            struct picture p = {0};
            struct error why;
            if (c->hash[s][i].hex[0]) continue;
            error_take(dataset_picture(c->set[s], i, &p), &why);
            picture_free(&p);
            TRY(copy_text(c->memory, why.st == OK ? dataset_name(c->set[s], i) : why.text,
                          &out->unreadable[out->unreadable_count++]));
        }
    }
done:
    return st;
}

static int by_area(const void *a, const void *b)
{
    const struct picture_hash *x = ((const struct seen *)a)->hash, *y = ((const struct seen *)b)->hash;
    if (x->width != y->width) return x->width < y->width ? -1 : 1;
    return (x->height > y->height) - (x->height < y->height);
}

static int by_frequency(const void *a, const void *b)
{
    const struct check_size *x = a, *y = b;
    if (x->pictures != y->pictures) return x->pictures > y->pictures ? -1 : 1;
    if (x->width != y->width) return x->width < y->width ? -1 : 1;
    return (x->height > y->height) - (x->height < y->height);
}

static status count_sizes(struct checking *c, struct check *out)
{
    void *taken;
    size_t sizes = 0;
    qsort(c->seen, c->count, sizeof *c->seen, by_area);
    for (size_t i = 0; i < c->count; i++) sizes += i == 0 || by_area(&c->seen[i - 1], &c->seen[i]) != 0;
    status st = arena_take(c->memory, sizes + 1, sizeof *out->size, &taken);
    if (st != OK) return st;
    out->size = taken;
    for (size_t i = 0; i < c->count; i++) {
        if (i == 0 || by_area(&c->seen[i - 1], &c->seen[i]))
            out->size[out->sizes++] = (struct check_size){c->seen[i].hash->width, c->seen[i].hash->height, 0};
        out->size[out->sizes - 1].pictures++;
    }
    qsort(out->size, out->sizes, sizeof *out->size, by_frequency);
    return OK;
}

/* Equal pixels stand together, in the order of the set. */
static int by_hash(const void *a, const void *b)
{
    const struct seen *x = a, *y = b;
    int order = strcmp(x->hash->hex, y->hash->hex);
    if (order) return order;
    if (x->split != y->split) return x->split < y->split ? -1 : 1;
    return (x->picture > y->picture) - (x->picture < y->picture);
}

static status full_name(const struct checking *c, const struct seen *s, const char **out)
{
    const char *name = dataset_name(c->set[s->split], s->picture);
    return c->name[s->split] ? path_join(c->memory, c->name[s->split], name, out) : copy_text(c->memory, name, out);
}

static int by_first_name(const void *a, const void *b)
{
    const struct check_twins *x = a, *y = b;
    int order = strcmp(x->first, y->first);
    return order ? order : strcmp(x->second, y->second);
}

static status find_twins(struct checking *c, struct check *out)
{
    status st = OK;
    void *taken;
    size_t twins = 0, first = 0;
    qsort(c->seen, c->count, sizeof *c->seen, by_hash);
    for (size_t i = 1; i < c->count; i++) twins += !strcmp(c->seen[i - 1].hash->hex, c->seen[i].hash->hex);
    TRY(arena_take(c->memory, twins + 1, sizeof *out->twins, &taken));
    out->twins = taken;
    for (size_t i = 1; i < c->count; i++) {
        if (strcmp(c->seen[i - 1].hash->hex, c->seen[i].hash->hex) != 0) {
            first = i;
            continue;
        }
        struct check_twins *t = &out->twins[out->twin_count++];
        *t = (struct check_twins){.first_split = c->seen[first].split, .second_split = c->seen[i].split};
        TRY(full_name(c, &c->seen[first], &t->first));
        TRY(full_name(c, &c->seen[i], &t->second));
    }
    qsort(out->twins, out->twin_count, sizeof *out->twins, by_first_name);
done:
    return st;
}

static status look(struct checking *c, const char *path, struct check *out)
{
    status st = OK;
    void *taken;
    TRY(open_all(c, path));
    TRY(hash_all(c));
    TRY(arena_take(c->memory, c->splits, sizeof *out->split, &taken));
    out->split = taken;
    out->splits = c->splits;
    for (size_t s = 0; s < c->splits; s++) TRY(describe_split(c, s, &out->split[s]));
    TRY(list_unreadable(c, out));
    TRY(count_sizes(c, out));
    TRY(find_twins(c, out));
done:
    return st;
}

status data_check(const char *path, const struct check_options *o, struct check *out)
{
    static const struct check_options standard = {0};
    struct checking c = {.o = o ? o : &standard, .memory = arena_new(1 << 14)};
    struct check found = {.memory = c.memory};
    if (!c.memory) return no_memory();
    status st = look(&c, path, &found);
    for (size_t s = 0; s < SPLITS_MOST; s++) {
        dataset_close(c.set[s]);
        free(c.hash[s]);
    }
    free(c.seen);
    free(c.name);
    if (st == OK) *out = found;
    else check_free(&found);
    return st;
}

void check_free(struct check *c)
{
    arena_free(c->memory);
    *c = (struct check){0};
}
