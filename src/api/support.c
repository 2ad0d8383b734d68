/* support.c - known pictures in memory: classes in the order of their names, the pictures of each side by side.
 *
 * "All or none" is kept by working out everything that can fail before the first row moves. */
#include "api/classifier.h"
#include "base/size.h"
#include "base/utf8.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_NAME = 1024 }; /* bytes of a class's or picture's name */

centra_status centra_support_new(const centra_model *model, centra_support **out)
{
    if (!model || !out) return (centra_status)fail(ST_USAGE, "centra_support_new needs a model and a place");
    centra_support *s = calloc(1, sizeof *s);
    if (!s) return (centra_status)fail(ST_MEMORY, "no memory for a support");
    s->model = model;
    s->calibration.temperature = 1;
    *out = s;
    return CENTRA_OK;
}

void centra_support_free(centra_support *s)
{
    if (!s) return;
    for (size_t i = 0; i < s->classes; i++) free(s->class[i].name);
    for (size_t i = 0; i < s->count; i++) free(s->name[i]);
    calibration_free(&s->calibration);
    free(s->class);
    free(s->features);
    free(s->seen);
    free(s->name);
    free(s->label);
    free(s);
}

size_t support_numbers(const centra_support *s) { return s->channels * s->height * s->width; }
size_t support_pixels(const centra_support *s) { return 3 * s->model->info.side * s->model->info.side; }

struct rows support_rows(const centra_support *s)
{
    return (struct rows){s->features, s->label, s->count, s->classes, s->channels, s->height * s->width};
}

void support_changed(centra_support *s) { calibration_free(&s->calibration); }

/* realloc that leaves *at as it is when it fails */
static bool grow(void *at, size_t count, size_t each)
{
    void **p = at;
    size_t bytes;
    void *more = size_mul(count, size_max(1, each), &bytes) ? realloc(*p, bytes) : NULL;
    if (more) *p = more;
    return more != NULL;
}

status support_reserve(centra_support *s, size_t more, const size_t map[3])
{
    size_t want;
    if (s->count && (map[0] != s->channels || map[1] != s->height || map[2] != s->width))
        return fail(ST_SHAPE, "maps of %zu x %zu x %zu do not fit the support's of %zu x %zu x %zu", map[0], map[1],
                    map[2], s->channels, s->height, s->width);
    if (!s->count) {
        s->channels = map[0];
        s->height = map[1];
        s->width = map[2];
        s->room = 0; /* rows may have had another size */
    }
    if (!size_add(s->count, more, &want)) return fail(ST_MEMORY, "%zu more pictures are too many", more);
    if (want <= s->room) return OK;
    want = size_max(want, 2 * s->room);
    if (!grow(&s->features, want, support_numbers(s) * sizeof(float)) || !grow(&s->seen, want, support_pixels(s)) ||
        !grow(&s->name, want, sizeof *s->name) || !grow(&s->label, want, sizeof *s->label))
        return fail(ST_MEMORY, "no memory for %zu known pictures", want);
    s->room = want;
    return OK;
}

/* The class of that name, or where it would be. */
static bool find_class(const centra_support *s, const char *name, size_t *at)
{
    size_t low = 0, high = s->classes;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        const int order = strcmp(s->class[mid].name, name);
        if (order == 0) {
            *at = mid;
            return true;
        }
        if (order < 0) low = mid + 1;
        else high = mid;
    }
    *at = low;
    return false;
}

/* Rows and their classes agree again after a change. */
static void count_rows(centra_support *s)
{
    size_t row = 0;
    for (size_t c = 0; c < s->classes; c++) {
        s->class[c].first = row;
        for (size_t i = 0; i < s->class[c].count; i++) s->label[row++] = (int32_t)c;
    }
}

static status add_class(centra_support *s, const char *name, size_t at)
{
    if (s->classes == s->class_room) {
        const size_t room = size_max(16, 2 * s->class_room);
        if (!grow(&s->class, room, sizeof *s->class)) return fail(ST_MEMORY, "no memory for %zu classes", room);
        s->class_room = room;
    }
    char *copy = strdup(name);
    if (!copy) return fail(ST_MEMORY, "no memory for a class");
    memmove(s->class + at + 1, s->class + at, (s->classes - at) * sizeof *s->class);
    s->class[at] = (struct support_class){.name = copy, .first = at < s->classes ? s->class[at + 1].first : s->count};
    s->classes++;
    return OK;
}

/* Moves the rows from `row` on by one place, up or down. */
static void move_rows(centra_support *s, size_t row, bool up)
{
    const size_t numbers = support_numbers(s), pixels = support_pixels(s), from = up ? row : row + 1,
                 to = up ? row + 1 : row, n = s->count - from;
    memmove(s->features + to * numbers, s->features + from * numbers, n * numbers * sizeof *s->features);
    memmove(s->seen + to * pixels, s->seen + from * pixels, n * pixels);
    memmove(s->name + to, s->name + from, n * sizeof *s->name);
}

static bool is_utf8(const char *s)
{
    size_t n = strlen(s), length;
    for (; n && (length = utf8_length(s, n)); n -= length) s += length;
    return !n;
}

/* File names may be any bytes; packs and lists hold UTF-8. */
static char *clean_copy(const char *name)
{
    char *copy = strdup(name);
    size_t n = strlen(name), length;
    for (char *s = copy; copy && n; s += length, n -= length) {
        length = utf8_length(s, n);
        if (length) continue;
        *s = '?';
        length = 1;
    }
    return copy;
}

status support_name_check(const char *what, const char *name)
{
    if (!name || !*name) return fail(ST_USAGE, "a %s has no name", what);
    if (strlen(name) > MOST_NAME)
        return fail(ST_USAGE, "the name of a %s has %zu bytes, but at most %d are allowed", what, strlen(name),
                    MOST_NAME);
    if (what[0] == 'c' && !is_utf8(name)) return fail(ST_USAGE, "the name of the class '%.100s' is not UTF-8", name);
    return OK;
}

status support_insert(centra_support *s, const char *class_name, const char *name, const float *features,
                      const unsigned char *seen)
{
    size_t at;
    status st = OK;
    char *copy = clean_copy(name);
    if (!copy) return fail(ST_MEMORY, "no memory for a name");
    if (!find_class(s, class_name, &at)) TRY(add_class(s, class_name, at));
    struct support_class *c = &s->class[at];
    const size_t row = c->first + c->count;
    move_rows(s, row, true);
    memcpy(s->features + row * support_numbers(s), features, support_numbers(s) * sizeof *features);
    memcpy(s->seen + row * support_pixels(s), seen, support_pixels(s));
    s->name[row] = copy;
    copy = NULL;
    c->count++;
    s->count++;
    count_rows(s);
    support_changed(s);
done:
    free(copy);
    return st;
}

/* A class without pictures is gone. */
static void drop_row(centra_support *s, size_t c, size_t row)
{
    free(s->name[row]);
    move_rows(s, row, false);
    s->count--;
    if (--s->class[c].count == 0) {
        free(s->class[c].name);
        memmove(s->class + c, s->class + c + 1, (s->classes - c - 1) * sizeof *s->class);
        s->classes--;
    }
    count_rows(s);
}

/* The last `count` that were inserted go again, so that none are added. */
static void take_back(centra_support *s, const centra_known *known, size_t count)
{
    size_t at;
    while (count-- > 0)
        if (find_class(s, known[count].class_name, &at)) drop_row(s, at, s->class[at].first + s->class[at].count - 1);
}

status support_insert_all(centra_support *s, const centra_known *known, size_t count, const float *features,
                          const size_t map[3], const unsigned char *seen)
{
    const size_t numbers = map[0] * map[1] * map[2];
    size_t i = 0;
    status st = OK;
    TRY(support_reserve(s, count, map));
    for (; i < count; i++)
        TRY(support_insert(s, known[i].class_name, known[i].name, features + i * numbers,
                           seen + i * support_pixels(s)));
done:
    if (st != OK) take_back(s, known, i);
    return st;
}

status support_merge(centra_support *s, const centra_support *from)
{
    const size_t map[] = {from->channels, from->height, from->width};
    centra_known *known = calloc(size_max(from->count, 1), sizeof *known);
    if (!known) return fail(ST_MEMORY, "no memory for %zu known pictures", from->count);
    for (size_t i = 0; i < from->count; i++)
        known[i] = (centra_known){from->class[from->label[i]].name, from->name[i], NULL};
    const status st = support_insert_all(s, known, from->count, from->features, map, from->seen);
    free(known);
    return st;
}

static status need_class(const centra_support *s, const char *name, size_t *at)
{
    if (!s || !name) return fail(ST_USAGE, "a support and the name of a class are needed");
    if (find_class(s, name, at)) return OK;
    return fail(ST_USAGE, "there is no class '%.200s' among the %zu of the support", name, s->classes);
}

centra_status centra_support_remove(centra_support *s, const char *class_name, size_t picture)
{
    size_t at = 0;
    const status st = need_class(s, class_name, &at);
    if (st != OK) return (centra_status)st;
    const size_t count = s->class[at].count;
    if (picture != SIZE_MAX && picture >= count)
        return (centra_status)fail(ST_USAGE, "class '%.200s' has no picture %zu; it has %zu", class_name, picture,
                                   count);
    support_changed(s);
    if (picture != SIZE_MAX) drop_row(s, at, s->class[at].first + picture);
    else
        for (size_t i = count; i-- > 0;) drop_row(s, at, s->class[at].first + i);
    return CENTRA_OK;
}

centra_status centra_support_class(const centra_support *s, size_t index, const char **name, size_t *pictures)
{
    if (!s || index >= s->classes)
        return (centra_status)fail(ST_USAGE, "there is no class %zu; there are %zu", index, s ? s->classes : 0);
    if (name) *name = s->class[index].name;
    if (pictures) *pictures = s->class[index].count;
    return CENTRA_OK;
}

size_t centra_support_class_count(const centra_support *s) { return s->classes; }

centra_status centra_support_picture(const centra_support *s, size_t class_index, size_t picture, const char **name,
                                     centra_picture *seen)
{
    const centra_status st = centra_support_class(s, class_index, NULL, NULL);
    if (st != CENTRA_OK) return st;
    const struct support_class *c = &s->class[class_index];
    const size_t side = s->model->info.side, row = c->first + picture;
    if (picture >= c->count)
        return (centra_status)fail(ST_USAGE, "class '%.200s' has no picture %zu; it has %zu", c->name, picture,
                                   c->count);
    if (name) *name = s->name[row];
    if (seen) *seen = (centra_picture){side, side, s->seen + row * support_pixels(s)};
    return CENTRA_OK;
}
