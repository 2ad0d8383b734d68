/* folder.c - the folder of a run. */
#include "train/folder.h"
#include "base/file.h"
#include "base/plain.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static const char *const names[RUN_FILES] = {"recipe.txt", "metrics.jsonl", "best.safetensors", "last.ckpt",
                                             "report.html"};
static const char LOCK[] = ".lock";

/* "folder/name"; NULL when memory is out. */
static char *inside(const char *folder, const char *name)
{
    const size_t bytes = strlen(folder) + strlen(name) + 2;
    char *path = malloc(bytes);
    if (path) plain_snprintf(path, bytes, "%s/%s", folder, name);
    return path;
}

static status make_paths(const char *path, struct run_folder *f)
{
    bool good = (f->path = strdup(path)) != NULL;
    for (int i = 0; i < RUN_FILES; i++) good &= (f->file[i] = inside(path, names[i])) != NULL;
    return good ? OK : fail(ST_MEMORY, "no memory to open the run '%s'", path);
}

/* The system lets go of it when the process ends, however it ends. */
static status take_lock(struct run_folder *f)
{
    status st = OK;
    char *path = inside(f->path, LOCK);
    if (!path) return fail(ST_MEMORY, "no memory to lock the run '%s'", f->path);
    f->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (f->lock < 0) st = fail(ST_IO, "cannot write '%s': %s", path, plain_strerror(errno));
    else if (flock(f->lock, LOCK_EX | LOCK_NB))
        st = fail(ST_IO, "another run is at work in '%s'; wait for it or use another folder", f->path);
    free(path);
    return st;
}

status run_folder_open(const char *path, bool resume, bool force, struct run_folder *out)
{
    status st = OK;
    struct run_folder f = {.lock = -1};
    TRY(make_paths(path, &f));
    const bool there = file_exists(f.file[RUN_RECIPE]) || file_exists(f.file[RUN_LAST]);
    if (resume && !there) TRY(fail(ST_IO, "there is no run in '%s' to go on with", path));
    TRY(folder_make(path));
    TRY(take_lock(&f));
    if (there && !resume && !force)
        TRY(fail(ST_IO, "there is a run in '%s' already; --resume goes on with it, --force begins anew", path));
    *out = f;
    f = (struct run_folder){.lock = -1};
done:
    run_folder_close(&f);
    return st;
}

status run_folder_clear(const struct run_folder *f)
{
    for (int i = 0; i < RUN_FILES; i++)
        if (unlink(f->file[i]) && errno != ENOENT)
            return fail(ST_IO, "cannot remove '%s': %s", f->file[i], plain_strerror(errno));
    return OK;
}

void run_folder_sweep(const struct run_folder *f)
{
    DIR *d = opendir(f->path);
    if (!d) return;
    for (struct dirent *e; (e = readdir(d));) {
        const size_t n = strlen(e->d_name);
        if (strncmp(e->d_name, ".centra-", 8) || n < 4 || strcmp(e->d_name + n - 4, ".tmp")) continue;
        char *path = inside(f->path, e->d_name);
        if (path) unlink(path);
        free(path);
    }
    closedir(d);
}

void run_folder_close(struct run_folder *f)
{
    for (int i = 0; i < RUN_FILES; i++) free(f->file[i]);
    free(f->path);
    if (f->lock >= 0) close(f->lock);
    *f = (struct run_folder){.lock = -1};
}
