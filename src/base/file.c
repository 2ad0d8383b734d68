/* file.c - whole files in, whole files out. */
#include "base/file.h"
#include "base/clock.h"
#include "base/plain.h"
#include "base/size.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *kind_name(mode_t mode)
{
    if (S_ISDIR(mode)) return "a folder";
    if (S_ISCHR(mode)) return "a character device";
    if (S_ISBLK(mode)) return "a block device";
    if (S_ISFIFO(mode)) return "a pipe";
    if (S_ISSOCK(mode)) return "a socket";
    return "of an unknown kind";
}

/* The descriptor, or -1 with errno. */
static int open_retry(const char *path, int flags, mode_t mode)
{
    int fd;
    do fd = open(path, flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

static status read_all(const char *path, int fd, char *to, size_t bytes)
{
    for (size_t got = 0; got < bytes;) {
        ssize_t n = read(fd, to + got, size_min(bytes - got, (size_t)1 << 30));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fail(ST_IO, "cannot read '%s': %s", path, plain_strerror(errno));
        if (n == 0)
            return fail(ST_IO, "'%s' ended after %zu of its %zu bytes: it was cut while being read", path, got, bytes);
        got += (size_t)n;
    }
    return OK;
}

/* What stat says of an open file, if it is one that file_read accepts. */
static status size_of(const char *path, int fd, size_t limit_bytes, size_t *bytes)
{
    struct stat about;
    if (fstat(fd, &about)) return fail(ST_IO, "cannot examine '%s': %s", path, plain_strerror(errno));
    if (!S_ISREG(about.st_mode)) return fail(ST_IO, "'%s' is %s, not a regular file", path, kind_name(about.st_mode));
    if ((uintmax_t)about.st_size > limit_bytes || (uintmax_t)about.st_size >= SIZE_MAX)
        return fail(ST_VALUE, "'%s' has %jd bytes; at most %zu are accepted here", path, (intmax_t)about.st_size,
                    limit_bytes);
    *bytes = (size_t)about.st_size;
    return OK;
}

/* A wish for huge pages, for files of weights: thousands of small ones take longer to hand out than the file to read. */
static void wish_huge(char *memory, size_t bytes)
{
#if defined(MADV_HUGEPAGE)
    enum { WORTH_BYTES = 4 << 20, PAGE = 4 << 10 };
    const size_t skipped = (PAGE - (uintptr_t)memory % PAGE) % PAGE;
    if (bytes >= WORTH_BYTES) (void)madvise(memory + skipped, bytes - skipped, MADV_HUGEPAGE);
#else
    (void)memory;
    (void)bytes;
#endif
}

status file_read(const char *path, size_t limit_bytes, char **data, size_t *bytes)
{
    status st = OK;
    char *memory = NULL;
    size_t n = 0;
    int fd = open_retry(path, O_RDONLY | O_NONBLOCK, 0); /* so that a pipe is refused, not waited for */
    if (fd < 0) return fail(ST_IO, "cannot open '%s': %s", path, plain_strerror(errno));

    TRY(size_of(path, fd, limit_bytes, &n));
    memory = malloc(n + 1);
    if (!memory) {
        st = fail(ST_MEMORY, "no memory for the %zu bytes of '%s'", n, path);
        goto done;
    }
    wish_huge(memory, n);
    TRY(read_all(path, fd, memory, n));
    memory[n] = 0;
    *data = memory;
    *bytes = n;
    memory = NULL;
done:
    free(memory);
    close(fd);
    return st;
}

/* Bytes of the folder part of a path, with its slash; 0: the file stands in the current folder. */
static size_t folder_bytes(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Makes an empty file under a name that nobody has, beside `w->path`, and opens it. The name does not contain that of
 * the file, which may be as long as the system allows. Not mkstemp: that would take others' rights to read away. */
static status open_temporary(struct file_writer *w)
{
    enum { SUFFIX_BYTES = 40, ATTEMPTS = 100 };
    size_t folder = folder_bytes(w->path);
    w->temporary = malloc(folder + SUFFIX_BYTES);
    if (!w->temporary) return fail(ST_MEMORY, "no memory to write '%s'", w->path);
    memcpy(w->temporary, w->path, folder);
    int fd = -1;
    for (int i = 0; i < ATTEMPTS && fd < 0; i++) {
        uint64_t unique = clock_ns() ^ (uint64_t)getpid() << 40;
        plain_snprintf(w->temporary + folder, SUFFIX_BYTES, ".centra-%016" PRIx64 ".tmp", unique);
        fd = open_retry(w->temporary, O_WRONLY | O_CREAT | O_EXCL, 0666);
        if (fd < 0 && errno != EEXIST) break;
    }
    if (fd < 0) return fail(ST_IO, "cannot write '%s': %s", w->path, plain_strerror(errno));
    w->stream = fdopen(fd, "wb");
    if (w->stream) return OK;
    status st = fail(ST_IO, "cannot write '%s': %s", w->path, plain_strerror(errno));
    close(fd);
    unlink(w->temporary);
    return st;
}

/* Frees what the writer has; its file is closed and gone, or in place. */
static void forget(struct file_writer *w)
{
    free(w->path);
    free(w->temporary);
    *w = (struct file_writer){0};
}

status file_begin(const char *path, struct file_writer *w)
{
    *w = (struct file_writer){0};
    struct stat about;
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode)) /* renaming would put a file in a device's place */
        return fail(ST_IO, "cannot write '%s': it is %s, not a regular file", path, kind_name(about.st_mode));
    w->path = strdup(path);
    status st = w->path ? open_temporary(w) : fail(ST_MEMORY, "no memory to write '%s'", path);
    if (st != OK) forget(w);
    return st;
}

void file_put(struct file_writer *w, const void *bytes, size_t n)
{
    assert(w->stream);
    if (w->st != OK || n == 0) return;
    errno = 0;
    if (fwrite(bytes, 1, n, w->stream) == n) return;
    w->error = errno;
    w->st = ST_IO;
}

static int sync_retry(int fd)
{
    int result;
    do result = fsync(fd);
    while (result && errno == EINTR);
    return result;
}

/* Flushes and closes the stream; false, with w->error, when any of its bytes may be missing. */
static bool close_stream(struct file_writer *w)
{
    FILE *stream = w->stream;
    bool good = w->st == OK && !ferror(stream);
    if (good && (fflush(stream) || sync_retry(fileno(stream)))) {
        w->error = errno;
        good = false;
    }
    if (fclose(stream) && good) {
        w->error = errno;
        good = false;
    }
    w->stream = NULL;
    return good;
}

/* Makes a rename in the folder of `path` permanent. Some file systems have no such call: then it already is. */
static status sync_folder(char *path)
{
    size_t folder = folder_bytes(path);
    char kept = path[folder];
    path[folder] = 0;
    int fd = open_retry(folder ? path : ".", O_RDONLY | O_DIRECTORY, 0);
    path[folder] = kept;
    if (fd < 0) return OK; /* a folder that may be written but not read */
    status st = OK;
    if (sync_retry(fd) && errno != EINVAL && errno != ENOTSUP && errno != EROFS)
        st = fail(ST_IO, "'%s' is written, but its folder could not be flushed: %s", path, plain_strerror(errno));
    close(fd);
    return st;
}

/* For file systems without hard links: an empty file holds the name until the new one takes its place, so that nothing
 * is ever overwritten. */
static status reserve(const char *path, bool *taken)
{
    const int fd = open_retry(path, O_WRONLY | O_CREAT | O_EXCL, 0666);
    *taken = fd < 0 && errno == EEXIST;
    if (fd < 0) return *taken ? OK : fail(ST_IO, "cannot write '%s': %s", path, plain_strerror(errno));
    close(fd);
    return OK;
}

/* Renames the finished file to its name. */
static status put_in_place(struct file_writer *w)
{
    if (rename(w->temporary, w->path))
        return fail(ST_IO, "cannot rename the new file to '%s': %s", w->path, plain_strerror(errno));
    w->temporary[0] = 0; /* it is no longer there */
    return OK;
}

/* The same where the name must be free. A second link is the one call that gives a whole file a name only if nobody has
 * it; the first name is removed with what is left over. */
static status put_in_new_place(struct file_writer *w, bool *taken)
{
    if (!link(w->temporary, w->path)) return OK;
    *taken = errno == EEXIST;
    if (*taken) return OK;
    status st = reserve(w->path, taken);
    if (st != OK || *taken) return st;
    st = put_in_place(w);
    if (st != OK) unlink(w->path); /* the empty one that held the name */
    return st;
}

/* With `taken` the name must be free. */
static status commit(struct file_writer *w, bool *taken)
{
    assert(w->stream);
    status st = OK;
    if (!close_stream(w)) {
        st = fail(ST_IO, "cannot write '%s': %s", w->path, w->error ? plain_strerror(w->error) : "a write failed");
        goto done;
    }
    TRY(taken ? put_in_new_place(w, taken) : put_in_place(w));
    if (taken && *taken) goto done;
    TRY(sync_folder(w->path));
done:
    if (w->temporary[0]) unlink(w->temporary);
    forget(w);
    return st;
}

status file_commit(struct file_writer *w) { return commit(w, NULL); }

status file_commit_new(struct file_writer *w, bool *taken)
{
    *taken = false;
    return commit(w, taken);
}

void file_abandon(struct file_writer *w)
{
    if (!w->stream) return;
    fclose(w->stream);
    unlink(w->temporary);
    forget(w);
}

status file_write(const char *path, const void *bytes, size_t n)
{
    struct file_writer w;
    const status st = file_begin(path, &w);
    if (st != OK) return st;
    file_put(&w, bytes, n);
    return file_commit(&w);
}

static status folder_make_one(const char *path)
{
    if (mkdir(path, 0777) == 0) return OK;
    int error = errno;
    struct stat about;
    if (stat(path, &about)) return fail(ST_IO, "cannot make the folder '%s': %s", path, plain_strerror(error));
    if (S_ISDIR(about.st_mode)) return OK;
    return fail(ST_IO, "cannot make the folder '%s': a file has that name", path);
}

status folder_make(const char *path)
{
    status st = OK;
    char *part = strdup(path);
    if (!part) return fail(ST_MEMORY, "no memory to make the folder '%s'", path);
    char *slash = part + (*part == '/'); /* "/" itself is always there */
    for (; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        TRY(folder_make_one(part));
        *slash = '/';
    }
    TRY(folder_make_one(path));
done:
    free(part);
    return st;
}

bool file_exists(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0;
}
