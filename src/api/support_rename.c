/* support_rename.c - another name for a class. Its rows move to where that name stands in the order. */
#include "api/classifier.h"
#include <stdlib.h>
#include <string.h>

static size_t place_of(const centra_support *s, const char *name)
{
    size_t i = 0;
    while (i < s->classes && strcmp(s->class[i].name, name)) i++;
    return i;
}

/* Rows of the support in another order; `from` says for each new row which old one it is. */
static status reorder(centra_support *s, const size_t *from)
{
    const size_t numbers = support_numbers(s), pixels = support_pixels(s);
    float *features = malloc(s->room * numbers * sizeof *features);
    unsigned char *seen = malloc(s->room * pixels);
    char **name = malloc(s->room * sizeof *name);
    if (!features || !seen || !name) {
        free(features);
        free(seen);
        free(name);
        return fail(ST_MEMORY, "no memory to move %zu known pictures", s->count);
    }
    for (size_t i = 0; i < s->count; i++) {
        memcpy(features + i * numbers, s->features + from[i] * numbers, numbers * sizeof *features);
        memcpy(seen + i * pixels, s->seen + from[i] * pixels, pixels);
        name[i] = s->name[from[i]];
    }
    free(s->features);
    free(s->seen);
    free(s->name);
    s->features = features;
    s->seen = seen;
    s->name = name;
    return OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct support_class *)a)->name, ((const struct support_class *)b)->name);
}

/* The class that has `copy` as its new name takes its place in the order, with its rows. */
static status sort_classes(centra_support *s)
{
    struct support_class *sorted = malloc(s->classes * sizeof *sorted);
    size_t *from = calloc(s->count + 1, sizeof *from), row = 0;
    status st = OK;
    if (!sorted || !from) TRY(fail(ST_MEMORY, "no memory to sort %zu classes", s->classes));
    memcpy(sorted, s->class, s->classes * sizeof *sorted);
    qsort(sorted, s->classes, sizeof *sorted, by_name);
    for (size_t c = 0; c < s->classes; c++)
        for (size_t i = 0; i < sorted[c].count; i++) from[row++] = sorted[c].first + i;
    TRY(reorder(s, from));
    memcpy(s->class, sorted, s->classes * sizeof *sorted);
    row = 0;
    for (size_t c = 0; c < s->classes; c++) {
        s->class[c].first = row;
        for (size_t i = 0; i < s->class[c].count; i++) s->label[row++] = (int32_t)c;
    }
done:
    free(sorted);
    free(from);
    return st;
}

centra_status centra_support_rename(centra_support *s, const char *class_name, const char *to)
{
    status st = OK;
    char *copy = NULL;
    if (!s || !class_name)
        return (centra_status)fail(ST_USAGE, "centra_support_rename needs a support, a class and its new name");
    TRY(support_name_check("class", to));
    const size_t at = place_of(s, class_name), other = place_of(s, to);
    if (at == s->classes) TRY(fail(ST_USAGE, "there is no class '%.200s' to rename", class_name));
    if (other == at) return CENTRA_OK;
    if (other < s->classes) TRY(fail(ST_USAGE, "there is a class '%.200s' already", to));
    copy = strdup(to);
    if (!copy) TRY(fail(ST_MEMORY, "no memory for a name"));
    char *old = s->class[at].name;
    s->class[at].name = copy;
    copy = NULL;
    st = sort_classes(s);
    if (st == OK) {
        free(old);
    } else {
        copy = s->class[at].name;
        s->class[at].name = old;
    }
done:
    free(copy);
    return (centra_status)st;
}
