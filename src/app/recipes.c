/* recipes.c - finding the recipes that come with the program. */
#include "app/recipes.h"
#include "base/file.h"
#include "base/option.h"
#include "base/size.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char SUFFIX[] = ".txt";
enum { RECIPE_BYTES = 1 << 20, MOST_NAMES = 255 };

/* The folder that the program lies in, without the last slash; empty when the system does not say. */
static void program_folder(char *out, size_t capacity)
{
    const ssize_t n = readlink("/proc/self/exe", out, capacity - 1);
    out[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(out, '/');
    if (slash) *slash = '\0';
}

static DIR *open_folder(text *path)
{
    static const char *const places[] = {"../share/centra/recipes", "../recipes"};
    char program[4096];
    const char *asked = getenv("CENTRA_RECIPES");
    if (asked && *asked) {
        text_add(path, asked);
        return opendir(asked);
    }
    program_folder(program, sizeof program);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        text_clear(path);
        text_addf(path, "%s/%s", program, places[i]);
        DIR *d = opendir(text_string(path));
        if (d) return d;
    }
    return NULL;
}

/* The first line, when it is a comment. */
static char *title_of(const char *path)
{
    char *bytes = NULL, *title = NULL;
    size_t n;
    if (file_read(path, RECIPE_BYTES, &bytes, &n) != OK) return strdup("");
    if (bytes[0] == '#') {
        bytes[strcspn(bytes, "\n")] = '\0';
        title = strdup(bytes + 1 + strspn(bytes + 1, " "));
    }
    free(bytes);
    return title ? title : strdup("");
}

static status add(struct recipe_list *l, const char *folder, const char *file)
{
    const size_t n = strlen(file);
    if (n <= strlen(SUFFIX) || strcmp(file + n - strlen(SUFFIX), SUFFIX)) return OK;
    struct recipe_entry *item = realloc(l->item, (l->count + 1) * sizeof *item);
    if (!item) return fail(ST_MEMORY, "no memory for the list of recipes");
    l->item = item;
    struct recipe_entry *e = &item[l->count++];
    *e = (struct recipe_entry){0};
    text path = {0};
    text_addf(&path, "%s/%s", folder, file);
    e->path = strdup(text_string(&path));
    e->name = strdup(file);
    if (e->path) e->title = title_of(e->path);
    text_free(&path);
    if (!e->path || !e->name || !e->title) return fail(ST_MEMORY, "no memory for the list of recipes");
    e->name[n - strlen(SUFFIX)] = '\0';
    return OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct recipe_entry *)a)->name, ((const struct recipe_entry *)b)->name);
}

status recipes_find(struct recipe_list *out)
{
    status st = OK;
    text path = {0};
    *out = (struct recipe_list){0};
    DIR *d = open_folder(&path);
    if (d)
        for (struct dirent *e; st == OK && (e = readdir(d));) st = add(out, text_string(&path), e->d_name);
    if (d) closedir(d);
    if (out->count) qsort(out->item, out->count, sizeof *out->item, by_name);
    if (st != OK) recipes_free(out);
    text_free(&path);
    return st;
}

void recipes_free(struct recipe_list *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free(l->item[i].name);
        free(l->item[i].title);
        free(l->item[i].path);
    }
    free(l->item);
    *l = (struct recipe_list){0};
}

static status refuse(const char *given, const struct recipe_list *l)
{
    const char *names[MOST_NAMES + 1] = {0};
    for (size_t i = 0; i < size_min(l->count, MOST_NAMES); i++) names[i] = l->item[i].name;
    const char *meant = nearest_name(given, names);
    if (meant) return fail(ST_USAGE, "there is no recipe '%.100s', did you mean %s?", given, meant);
    return fail(ST_USAGE, "there is no recipe '%.100s'; name a file, or one that centra list recipes shows", given);
}

status recipe_path(const char *given, text *out)
{
    status st = OK;
    struct recipe_list l;
    if (file_exists(given)) {
        text_add(out, given);
        return text_status(out);
    }
    st = recipes_find(&l);
    if (st != OK) return st;
    for (size_t i = 0; i < l.count && !out->length; i++)
        if (!strcmp(l.item[i].name, given)) text_add(out, l.item[i].path);
    st = out->length ? text_status(out) : refuse(given, &l);
    recipes_free(&l);
    return st;
}
