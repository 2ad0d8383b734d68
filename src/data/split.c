/* split.c - which class goes where is a function of the seed and the number of classes alone. */
#include "data/split.h"
#include "base/file.h"
#include "base/random.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/source.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PARTS = 3, SPLIT_STREAM = 0x5b117 };
static const char *const lists[PARTS] = {"train.csv", "val.csv", "test.csv"};

/* How many classes each part gets. Fractions are rounded at their common borders, so that they add up. */
static status count_parts(const struct split_options *o, size_t classes, size_t out[PARTS])
{
    double sum = 0, most = 0;
    for (int i = 0; i < PARTS; i++) {
        if (!(o->part[i] >= 0) || o->part[i] > 1e9)
            return fail(ST_VALUE, "a part of %g classes is not possible", o->part[i]);
        most = fmax(most, o->part[i]);
    }
    const double unit = most < 1 ? (double)classes : 1;
    size_t before = 0, border;
    for (int i = 0; i < PARTS; i++, before = border) {
        if (unit == 1 && o->part[i] != floor(o->part[i]))
            return fail(ST_VALUE, "a part of %g classes is neither a whole number nor are all parts below 1",
                        o->part[i]);
        sum += o->part[i];
        border = (size_t)(unit * sum + 0.5);
        out[i] = border - before;
        if (o->part[i] > 0 && !out[i]) return fail(ST_VALUE, "%g of %zu classes is not even one", o->part[i], classes);
    }
    if (before > classes) return fail(ST_VALUE, "the parts need %zu classes, but there are %zu", before, classes);
    return before ? OK : fail(ST_VALUE, "no part has any classes");
}

/* part[c] of each class: 0, 1, 2, or PARTS for none. */
static void draw_parts(uint64_t seed, size_t classes, const size_t count[PARTS], size_t *order, int *part)
{
    struct random r = {.seed = seed, .stream = SPLIT_STREAM};
    size_t next = 0;
    for (size_t i = 0; i < classes; i++) {
        order[i] = i;
        part[i] = PARTS;
    }
    for (size_t i = classes; i > 1; i--) {
        size_t j = (size_t)random_below(&r, i), kept = order[i - 1];
        order[i - 1] = order[j];
        order[j] = kept;
    }
    for (int p = 0; p < PARTS; p++)
        for (size_t i = 0; i < count[p]; i++) part[order[next++]] = p;
}

static void add_cell(text *to, const char *s)
{
    if (!strpbrk(s, ",\"")) {
        text_add(to, s);
        return;
    }
    text_add(to, "\"");
    for (; *s; s++) text_addf(to, "%s%c", *s == '"' ? "\"" : "", *s);
    text_add(to, "\"");
}

/* The lists' texts; one that stays empty has no lines. */
static status write_lines(const struct dataset *d, const int *part, text list[PARTS], struct split_result *out)
{
    for (size_t c = 0; c < dataset_class_count(d); c++) {
        const char *label = dataset_class_name(d, c);
        if (part[c] == PARTS) {
            out->left_over++;
            continue;
        }
        text *to = &list[part[c]];
        if (!to->length) text_add(to, "filename,label\n");
        for (size_t i = 0; i < dataset_class_size(d, c); i++) {
            const char *name = dataset_name(d, dataset_class_first(d, c) + i);
            if (strpbrk(name, "\r\n"))
                return fail(ST_VALUE, "a name in class '%s' has a line break: it cannot stand in a list", label);
            add_cell(to, name);
            text_add(to, ",");
            add_cell(to, label);
            text_add(to, "\n");
        }
        out->classes[part[c]]++;
        out->pictures[part[c]] += dataset_class_size(d, c);
    }
    for (int p = 0; p < PARTS; p++)
        if (text_status(&list[p]) != OK) return text_status(&list[p]);
    return OK;
}

/* All lists are complete on the disk before the first gets its name. */
static status write_files(const char *path, const text list[PARTS])
{
    status st = OK;
    struct file_writer w[PARTS] = {{0}, {0}, {0}};
    arena *memory = arena_new(1 << 12);
    if (!memory) return fail(ST_MEMORY, "no memory to write lists into '%s'", path);
    for (int p = 0; p < PARTS; p++) {
        const char *full;
        if (!list[p].length) continue;
        TRY(path_join(memory, path, lists[p], &full));
        TRY(file_begin(full, &w[p]));
        file_put(&w[p], list[p].data, list[p].length);
    }
    for (int p = 0; p < PARTS; p++)
        if (w[p].stream) TRY(file_commit(&w[p]));
done:
    for (int p = 0; p < PARTS; p++) file_abandon(&w[p]);
    arena_free(memory);
    return st;
}

static status refuse_others(const char *path)
{
    struct stat about;
    bool is_lists = false, is_tars = false;
    if (stat(path, &about) == 0 && !S_ISDIR(about.st_mode))
        return fail(ST_VALUE, "'%s' is no folder: only a folder of class folders can be split", path);
    status st = csv_folder_is(path, &is_lists);
    if (st == OK) st = tar_folder_is(path, &is_tars);
    if (st == OK && is_lists)
        st = fail(ST_VALUE, "'%s' is split already: remove its train.csv, val.csv and test.csv to split it anew", path);
    if (st == OK && is_tars) st = fail(ST_VALUE, "'%s' holds tars: unpack them to split their classes", path);
    return st;
}

status data_split(const char *path, const struct split_options *o, struct split_result *out)
{
    status st = OK;
    struct dataset *d = NULL;
    struct split_result result = {0};
    text list[PARTS] = {{0}, {0}, {0}};
    size_t count[PARTS], *order = NULL, classes = 0;
    int *part = NULL;
    TRY(refuse_others(path));
    TRY(dataset_open(path, NULL, &(struct dataset_options){.log = o->log}, &d));
    classes = dataset_class_count(d);
    TRY(count_parts(o, classes, count));
    order = malloc(classes * sizeof *order);
    part = malloc(classes * sizeof *part);
    if (!order || !part) {
        st = fail(ST_MEMORY, "no memory to split %zu classes", classes);
        goto done;
    }
    draw_parts(o->seed, classes, count, order, part);
    TRY(write_lines(d, part, list, &result));
    TRY(write_files(path, list));
    if (out) *out = result;
done:
    for (int p = 0; p < PARTS; p++) text_free(&list[p]);
    free(order);
    free(part);
    dataset_close(d);
    return st;
}
