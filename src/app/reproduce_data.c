/* reproduce_data.c - finding the pictures of a set.
 *
 * Below the folder of --data a set is SET.pack, SET (a folder) or SET.tar; or it lies there as the archives that are named
 * here, which are then decoded once into OUT/data/SET.pack, since every row would decode them again. A path that holds a set
 * itself is taken as it is. */
#include "app/library.h"
#include "app/reproduce.h"
#include "base/file.h"
#include "base/plain.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_ARCHIVES = 4 };
static const struct set {
    const char *name, *title;
    const char *archives[MOST_ARCHIVES + 1];
} sets[] = {{"cub", "CUB-200-2011", {"cub-train.tar", "cub-valtest.tar"}},
            {"mini",
             "miniImageNet",
             {"mini84ravi-train-1.tar", "mini84ravi-train-2.tar", "mini84ravi-val.tar", "mini84ravi-test.tar"}},
            {0}};

static bool is_there(const char *folder, const char *name, const char *suffix, text *path)
{
    text_clear(path);
    text_addf(path, "%s/%s%s", folder, name, suffix);
    return text_status(path) == OK && access(text_string(path), R_OK) == 0;
}

static bool has_archives(const char *folder, const struct set *s, text *path)
{
    bool all = true;
    for (const char *const *a = s->archives; *a && all; a++) all = is_there(folder, *a, "", path);
    return all;
}

/* OUT/data/SET with a link to each archive: a folder of tars is a set. */
static status link_archives(struct reproduction *p, const struct set *s, const char *folder, text *to)
{
    status st = OK;
    text link = {0}, archive = {0};
    char *real = NULL;
    text_addf(to, "%s/data/%s", p->settings->out, s->name);
    TRY(text_status(to));
    TRY(folder_make(text_string(to)));
    for (const char *const *a = s->archives; *a; a++) {
        text_clear(&link), text_clear(&archive);
        text_addf(&link, "%s/%s", text_string(to), *a);
        text_addf(&archive, "%s/%s", folder, *a);
        free(real);
        real = realpath(text_string(&archive), NULL);
        if (!real) TRY(fail(ST_IO, "cannot open '%s': %s", text_string(&archive), plain_strerror(errno)));
        (void)unlink(text_string(&link));
        if (symlink(real, text_string(&link)))
            TRY(fail(ST_IO, "cannot write '%s': %s", text_string(&link), plain_strerror(errno)));
    }
done:
    free(real);
    text_free(&link);
    text_free(&archive);
    return st;
}

static int on_picture(void *context, size_t done, size_t all)
{
    progress_count(context, "pictures decoded", done, all);
    return 0;
}

/* The pack, made now when it is not there yet; whoever comes second waits for it. */
static status pack(struct reproduction *p, const struct set *s, const char *folder, text *path)
{
    status st = OK;
    int lock = -1;
    text from = {0}, lock_path = {0};
    const centra_data_watch watch = {on_picture, progress_warning, &p->progress, (size_t)p->call->common.threads};
    text_addf(&from, "%s/data", p->settings->out);
    text_addf(&lock_path, "%s/data/%s.lock", p->settings->out, s->name);
    TRY(folder_make(text_string(&from)));
    text_clear(&from);
    text_clear(path);
    text_addf(path, "%s/data/%s.pack", p->settings->out, s->name);
    TRY(text_status(path));
    TRY(reproduce_lock(p, text_string(&lock_path), &lock));
    if (file_exists(text_string(path))) goto done;
    TRY(link_archives(p, s, folder, &from));
    progress_say(&p->progress, "decoding %s once for all rows", s->title);
    st = library(
        centra_data_pack(text_string(&from), text_string(path), &(centra_pack_options){.strict = 1}, &watch, NULL));
    progress_wipe(&p->progress);
done:
    if (lock >= 0) close(lock);
    text_free(&from);
    text_free(&lock_path);
    return st;
}

static bool is_set(const char *path)
{
    struct stat about;
    bool found;
    text inside = {0};
    if (!strncmp(path, "synth:", 6)) return true;
    if (stat(path, &about)) return false;
    if (!S_ISDIR(about.st_mode)) return true;
    found = is_there(path, "train", "", &inside) || is_there(path, "train", ".csv", &inside);
    text_free(&inside);
    return found;
}

static status refuse(const struct set *s, const char *folder)
{
    text list = {0};
    for (const char *const *a = s->archives; *a; a++) text_addf(&list, "%s%s", a == s->archives ? "" : ", ", *a);
    const status st = fail(ST_IO, "there are no pictures of %s in '%s': neither %s.pack, %s or %s.tar nor %s", s->title,
                           folder, s->name, s->name, s->name, text_string(&list));
    text_free(&list);
    return st;
}

status reproduce_data(struct reproduction *p, const char *name, text *path)
{
    static const char *const suffixes[] = {".pack", "", ".tar"};
    const struct set *s = sets;
    const char *folder = p->settings->data ? p->settings->data : getenv("CENTRA_DATA");
    while (s->name && strcmp(s->name, name)) s++;
    if (!s->name) { /* built-in pictures */
        text_clear(path);
        text_add(path, name);
        return text_status(path);
    }
    if (!folder || !*folder)
        return fail(ST_USAGE, "--data or CENTRA_DATA must name the folder with the pictures of %s", s->title);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (is_there(folder, name, suffixes[i], path)) return OK;
    if (has_archives(folder, s, path)) return pack(p, s, folder, path);
    text_clear(path);
    text_add(path, folder);
    return is_set(folder) ? text_status(path) : refuse(s, folder);
}
