/* sort_copies.c - copies of pictures in folders of their classes. Originals are only read, and what is there already is
 * never touched. A copy has its name only when it is whole. */
#include "app/classify.h"
#include "app/terminal.h"
#include "base/file.h"
#include "base/plain.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_NUMBER = 9999, PIECE = 1 << 16 };

/* A class's name as that of a folder: it may come from anybody's pack. */
static void add_folder(text *to, const char *label)
{
    const char *name = label;
    if (!strcmp(name, ".") || !strcmp(name, "..")) text_add(to, "_");
    for (; *name; name++) text_addf(to, "%c", *name == '/' ? '_' : *name);
}

static bool same_content(int a, int b)
{
    char x[4096], y[4096];
    for (off_t at = 0;;) {
        const ssize_t n = pread(a, x, sizeof x, at), m = pread(b, y, sizeof y, at);
        if (n < 0 || n != m || memcmp(x, y, (size_t)n) != 0) return false;
        if (n == 0) return true;
        at += n;
    }
}

/* Whether the file at `path` is what `from` is. */
static bool is_copy(int from, const struct stat *about, const char *path)
{
    struct stat other;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return false;
    const bool same = fstat(fd, &other) == 0 && S_ISREG(other.st_mode) && other.st_size == about->st_size &&
                      same_content(from, fd);
    close(fd);
    return same;
}

static status pour(int from, const struct stat *about, const char *path, struct file_writer *w)
{
    char *piece = malloc(PIECE);
    ssize_t n = 0;
    if (!piece) return fail(ST_MEMORY, "no memory to copy '%.300s'", path);
    for (off_t at = 0; (n = pread(from, piece, PIECE, at)) > 0; at += n) file_put(w, piece, (size_t)n);
    free(piece);
    if (n < 0) return fail(ST_IO, "cannot read what becomes '%.300s': %s", path, plain_strerror(errno));
    if (!fflush(w->stream)) /* what fails is told when it is committed */
        (void)futimens(fileno(w->stream), (const struct timespec[2]){about->st_atim, about->st_mtim}); /* a nicety */
    return OK;
}

/* A new file with the content of `from`, unless the name is taken meanwhile. */
static status copy_to(int from, const struct stat *about, const char *path, bool *taken)
{
    struct file_writer w;
    status st = OK;
    interrupt_hold();
    TRY(file_begin(path, &w));
    st = pour(from, about, path, &w);
    if (st == OK) st = file_commit_new(&w, taken);
    else file_abandon(&w);
done:
    interrupt_release();
    return st;
}

/* The folder's free name for the file: "tom.jpg", "tom (2).jpg" ... */
static status place(int from, const struct stat *about, const char *folder, const char *name)
{
    const char *dot = strrchr(name, '.');
    const int stem = dot && dot > name ? (int)(dot - name) : (int)strlen(name);
    struct stat other;
    status st = OK;
    text path = {0};
    for (int number = 1; number <= MOST_NUMBER; number++) {
        text_clear(&path);
        if (number == 1) text_addf(&path, "%s/%s", folder, name);
        else text_addf(&path, "%s/%.*s (%d)%s", folder, stem, name, number, name + stem);
        TRY(text_status(&path));
        const char *p = text_string(&path);
        bool taken = lstat(p, &other) == 0;
        if (!taken) TRY(copy_to(from, about, p, &taken));
        if (!taken || is_copy(from, about, p)) goto done;
    }
    st = fail(ST_IO, "'%.200s' has %d files called like '%.100s' already", folder, MOST_NUMBER, name);
done:
    text_free(&path);
    return st;
}

status sort_copy(const char *path, const char *to, const char *label)
{
    const char *slash = strrchr(path, '/');
    struct stat about;
    text folder = {0};
    status st = OK;
    const int from = open(path, O_RDONLY | O_CLOEXEC);
    if (from < 0 || fstat(from, &about) != 0) TRY(fail(ST_IO, "cannot read '%.300s': %s", path, plain_strerror(errno)));
    text_addf(&folder, "%s/", to);
    add_folder(&folder, label);
    TRY(text_status(&folder));
    TRY(folder_make(text_string(&folder)));
    TRY(place(from, &about, text_string(&folder), slash ? slash + 1 : path));
done:
    if (from >= 0) close(from);
    text_free(&folder);
    return st;
}
