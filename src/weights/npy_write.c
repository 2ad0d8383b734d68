/* npy_write.c - named arrays as a folder of NAME.npy, for programs that read nothing else.
 *
 * The folder is filled under a temporary name beside its final one and renamed when it is whole, so that it is there
 * completely or not at all. Half-precision numbers become f32 and small integers i64, which .npy readers all have. */
#include "base/clock.h"
#include "base/npy.h"
#include "base/size.h"
#include "base/text.h"
#include "weights/file.h"
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A name becomes a file's name, so it must stay in the folder. */
static status check_name(const char *name)
{
    bool fine = *name && *name != '.' && strlen(name) < 200;
    for (const char *c = name; *c; c++) fine = fine && *c != '/' && !iscntrl((unsigned char)*c);
    return fine ? OK : fail(ST_VALUE, "'%.60s' cannot be the name of a file", name);
}

static void widen_integers(const struct named_array *a, size_t count, int64_t *out)
{
    const unsigned char *bytes = a->data;
    for (size_t i = 0; i < count; i++) {
        if (a->type == ARRAY_I32) {
            const unsigned char *b = bytes + 4 * i;
            out[i] = (int32_t)((uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24);
        } else if (a->type == ARRAY_I64) {
            uint64_t v = 0;
            for (size_t k = 8; k-- > 0;) v = v << 8 | bytes[8 * i + k];
            out[i] = (int64_t)v;
        } else out[i] = bytes[i];
    }
}

static bool is_real(enum array_type t) { return t <= ARRAY_BF16; }

static status write_array(const char *folder, const struct named_array *a)
{
    status st = OK;
    text path = {0};
    size_t count = 1;
    void *numbers = NULL;
    const bool wide = a->type == ARRAY_F64;
    for (int d = 0; d < a->rank; d++) count *= a->dim[d]; /* fits: the bytes are in memory */
    TRY(check_name(a->name));
    text_addf(&path, "%s/%s.npy", folder, a->name);
    TRY(text_status(&path));
    numbers = malloc(8 * size_max(count, 1));
    if (!numbers) {
        st = fail(ST_MEMORY, "no memory to write '%s'", a->name);
        goto done;
    }
    if (is_real(a->type)) TRY(named_array_get(a, folder, wide ? DT_F64 : DT_F32, a->rank, a->dim, numbers));
    else widen_integers(a, count, numbers);
    TRY(npy_write(text_string(&path),
                  !is_real(a->type) ? NPY_I64
                  : wide            ? NPY_F64
                                    : NPY_F32,
                  a->rank, a->dim, numbers));
done:
    free(numbers);
    text_free(&path);
    return st;
}

static void remove_folder(const char *folder, size_t count, const struct named_array *arrays)
{
    for (size_t i = 0; i < count; i++) {
        text path = {0};
        text_addf(&path, "%s/%s.npy", folder, arrays[i].name);
        if (check_name(arrays[i].name) == OK && path.data) (void)remove(path.data);
        text_free(&path);
    }
    (void)rmdir(folder);
}

/* An empty, hidden folder beside `path` under a name that nobody has. Not mkdtemp: that would take others' rights to read
 * away. */
static status make_temporary(const char *path, text *out)
{
    enum { ATTEMPTS = 100 };
    size_t folder = strlen(path);
    while (folder && path[folder - 1] == '/') folder--; /* "out/" and "out" are the same folder */
    while (folder && path[folder - 1] != '/') folder--;
    for (int i = 0; i < ATTEMPTS; i++) {
        text_clear(out);
        text_add_bytes(out, path, folder);
        text_addf(out, ".centra-%016" PRIx64 ".tmp", clock_ns() ^ (uint64_t)getpid() << 40);
        if (text_status(out) != OK) return text_status(out);
        if (!mkdir(out->data, 0777)) return OK;
        if (errno != EEXIST) break;
    }
    return fail(ST_IO, "a folder beside '%s' cannot be made: %s", path, strerror(errno));
}

status weights_write_npy(const char *path, size_t count, const struct named_array *arrays)
{
    status st = OK;
    text temporary = {0};
    TRY(make_temporary(path, &temporary));
    for (size_t i = 0; i < count && st == OK; i++) st = write_array(temporary.data, &arrays[i]);
    if (st == OK && rename(temporary.data, path))
        st = fail(ST_IO, "'%s' cannot be made: %s", path, errno == ENOTEMPTY ? "it is there already" : strerror(errno));
    if (st != OK) {
        struct error e;
        error_take(st, &e);
        remove_folder(temporary.data, count, arrays);
        st = error_put(&e);
    }
done:
    text_free(&temporary);
    return st;
}
