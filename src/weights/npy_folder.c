/* npy_folder.c - a folder with one NAME.npy for each array; a folder within it stands for a part of the name, so that
 * head/fc1.weight.npy is 'head.fc1.weight'. Files with other endings are not looked at. */
#include "base/npy.h"
#include "base/plain.h"
#include "base/size.h"
#include "base/text.h"
#include "weights/file.h"
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { DEPTH_MOST = 8 };
static const size_t limit_bytes = (size_t)16 << 30; /* the largest array that is read */

/* The numbers as a file has them, whatever this machine's byte order is. */
static void put_little_endian(unsigned char *to, const unsigned char *from, size_t bytes, size_t item)
{
    const size_t mirror = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? item - 1 : 0;
    for (size_t i = 0; i < bytes; i++) to[i ^ mirror] = from[i]; /* items have 4 or 8 bytes */
}

static status add_file(struct weights *w, const char *path, const char *name)
{
    status st = OK;
    void *memory;
    struct npy x = {0};
    TRY(npy_read(path, limit_bytes, &x));
    struct named_array a = {.rank = x.rank,
                            .type = x.type == NPY_F32   ? ARRAY_F32
                                    : x.type == NPY_F64 ? ARRAY_F64
                                                        : ARRAY_I64};
    for (int d = 0; d < x.rank && d < MAX_RANK; d++) a.dim[d] = x.dim[d];
    TRY(array_bytes(w, name, a.type, a.rank, a.dim, &a.bytes));
    TRY(arena_take(w->memory, a.bytes, 1, &memory));
    put_little_endian(memory, x.data, a.bytes, array_type_bytes(a.type));
    a.data = memory;
    TRY(weights_text(w, name, strlen(name), &a.name));
    TRY(weights_add(w, &a));
done:
    npy_free(&x);
    return st;
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n > m && !strcmp(s + n - m, end);
}

static status add_folder(struct weights *w, const char *path, const char *name, int depth);

/* One entry of the folder `path`, whose arrays' names begin with `prefix`. */
static status add_entry(struct weights *w, const char *path, const char *prefix, const char *entry, int depth)
{
    status st = OK;
    text below = {0}, name = {0};
    struct stat about;
    text_addf(&below, "%s/%s", path, entry);
    text_addf(&name, "%s%s", prefix, entry);
    TRY(text_status(&below));
    TRY(text_status(&name));
    if (stat(below.data, &about)) {
        st = fail(ST_IO, "cannot examine '%s': %s", below.data, plain_strerror(errno));
    } else if (S_ISDIR(about.st_mode)) {
        text_add(&name, ".");
        TRY(text_status(&name));
        TRY(add_folder(w, below.data, name.data, depth + 1));
    } else if (ends_with(entry, ".npy")) {
        name.data[name.length - 4] = 0;
        TRY(add_file(w, below.data, name.data));
    }
done:
    text_free(&below);
    text_free(&name);
    return st;
}

static status add_folder(struct weights *w, const char *path, const char *prefix, int depth)
{
    status st = OK;
    if (depth > DEPTH_MOST) /* a link to a folder above would never end */
        return fail(ST_FORMAT, "'%s' has folders more than %d deep", w->path, DEPTH_MOST);
    DIR *folder = opendir(path);
    if (!folder) return fail(ST_IO, "cannot open the folder '%s': %s", path, plain_strerror(errno));
    for (const struct dirent *e; (e = readdir(folder));)
        if (e->d_name[0] != '.') TRY(add_entry(w, path, prefix, e->d_name, depth));
done:
    closedir(folder);
    return st;
}

status npy_folder_read(struct weights *w)
{
    status st = add_folder(w, w->path, "", 0);
    if (st == OK && w->count == 0) st = fail(ST_FORMAT, "the folder '%s' holds no .npy files", w->path);
    return st;
}
