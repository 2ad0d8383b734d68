/* source.c - the list that every reader fills. */
#include "data/source.h"
#include "base/file.h"
#include "base/plain.h"
#include "base/size.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NAMES_BLOCK = 1 << 16, ITEMS_FIRST = 64 };

status source_begin(struct source *s, const char *wanted)
{
    *s = (struct source){.list = {.wanted = wanted, .memory = arena_new(NAMES_BLOCK)}};
    return s->list.memory ? OK : fail(ST_MEMORY, "no memory for the names of a data set");
}

void source_close(struct source *s)
{
    if (s->close) s->close(s);
    arena_free(s->list.memory);
    free(s->list.item);
    *s = (struct source){0};
}

static status no_memory(const struct item_list *l)
{
    return fail(ST_MEMORY, "no memory for the names of more than %zu pictures", l->count);
}

static status grow(struct item_list *l)
{
    size_t capacity = l->capacity ? 2 * l->capacity : ITEMS_FIRST, bytes;
    if (l->count >= UINT32_MAX) return fail(ST_VALUE, "a split may have at most %u pictures", UINT32_MAX);
    if (!size_mul(capacity, sizeof *l->item, &bytes)) return no_memory(l);
    struct item *item = realloc(l->item, bytes);
    if (!item) return no_memory(l);
    l->item = item;
    l->capacity = capacity;
    return OK;
}

status item_split(struct item_list *l, const char *split)
{
    for (size_t i = l->split_count; i-- > 0;) /* the last is the likeliest */
        if (!strcmp(l->splits[i], split)) return OK;
    if (l->split_count == SPLITS_MOST) return OK;
    void *copy;
    status st = arena_take(l->memory, strlen(split) + 1, 1, &copy);
    if (st != OK) return st;
    memcpy(copy, split, strlen(split) + 1);
    l->splits[l->split_count++] = copy;
    return OK;
}

int split_rank(const char *name)
{
    static const char *const usual[] = {"train", "val", "test"};
    for (int i = 0; i < SPLITS_USUAL; i++)
        if (!strcmp(name, usual[i])) return i;
    return SPLITS_USUAL;
}

bool item_has_splits(const struct item_list *l)
{
    for (size_t i = 0; i < l->split_count; i++)
        if (split_rank(l->splits[i]) < SPLITS_USUAL) return true;
    return l->split_count > 0 && !l->plain;
}

status item_add(struct item_list *l, const char *split, const char *label, const char *file, uint64_t at,
                uint64_t bytes)
{
    status st = OK;
    if (split) TRY(item_split(l, split));
    else l->plain = true;
    if (split ? !l->wanted || strcmp(split, l->wanted) : l->wanted != NULL) return OK;
    if (l->count == l->capacity) TRY(grow(l));
    size_t label_bytes = strlen(label), file_bytes = strlen(file);
    void *taken;
    TRY(arena_take(l->memory, label_bytes + file_bytes + 2, 1, &taken));
    plain_snprintf(taken, label_bytes + file_bytes + 2, "%s/%s", label, file);
    l->item[l->count++] = (struct item){taken, label_bytes, at, bytes};
done:
    return st;
}

bool picture_suffix(const char *name)
{
    static const char *const known[] = {".jpg", ".jpeg", ".png", ".webp", ".ppm", ".pgm"};
    const char *dot = strrchr(name, '.');
    if (!dot) return false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcasecmp(dot, known[i])) return true;
    return false;
}

/* Cuts the path at its slashes into at most three parts; 0 when there are more, or one is empty or hidden. */
static size_t cut(char *path, const char *part[3])
{
    size_t n = 0;
    for (char *at = path, *next; at; at = next) {
        next = strchr(at, '/');
        if (next) *next++ = 0;
        if (n == 3 || !*at || *at == '.') return 0;
        part[n++] = at;
    }
    return n;
}

status item_add_path(struct item_list *l, const char *path, uint64_t at, uint64_t bytes)
{
    const char *part[3];
    if (!picture_suffix(path)) return OK;
    char *copy = strdup(path);
    if (!copy) return no_memory(l);
    status st = OK;
    size_t n = cut(copy, part);
    if (n == 3) st = item_add(l, part[0], part[1], part[2], at, bytes);
    if (n == 2) st = item_add(l, NULL, part[0], part[1], at, bytes);
    free(copy);
    return st;
}

status path_join(arena *memory, const char *a, const char *b, const char **out)
{
    size_t n = strlen(a), m = strlen(b);
    while (n > 1 && a[n - 1] == '/') n--;
    void *taken;
    status st = arena_take(memory, n + m + 2, 1, &taken);
    if (st != OK) return st;
    plain_snprintf(taken, n + m + 2, "%.*s/%s", (int)n, a, b);
    *out = taken;
    return OK;
}

status source_read_file(const char *folder, const char *file, struct source_bytes *out)
{
    const size_t n = strlen(folder) + strlen(file) + 2;
    char *path = malloc(n);
    if (!path) return fail(ST_MEMORY, "no memory to read '%s'", file);
    plain_snprintf(path, n, "%s/%s", folder, file);
    status st = file_read(path, PICTURE_MOST_BYTES, &out->owned, &out->n);
    if (st == OK) out->data = out->owned;
    free(path);
    return st;
}
