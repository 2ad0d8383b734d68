/* map.c - files as memory. */
#include "base/map.h"
#include "base/plain.h"
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static status map_open(const char *path, int fd, struct file_map *out)
{
    struct stat about;
    if (fstat(fd, &about)) return fail(ST_IO, "cannot examine '%s': %s", path, plain_strerror(errno));
    if (!S_ISREG(about.st_mode)) return fail(ST_IO, "'%s' is not a regular file", path);
    if ((uintmax_t)about.st_size > SIZE_MAX / 2)
        return fail(ST_VALUE, "'%s' is too large for this machine's addresses", path);
    *out = (struct file_map){NULL, (size_t)about.st_size};
    if (!out->n) return OK;
    void *bytes = mmap(NULL, out->n, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED) return fail(ST_IO, "cannot map '%s': %s", path, plain_strerror(errno));
    out->bytes = bytes;
    return OK;
}

status file_map(const char *path, struct file_map *out)
{
    int fd;
    *out = (struct file_map){0};
    do fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* so that a pipe is refused, not waited for */
    while (fd < 0 && errno == EINTR);
    if (fd < 0) return fail(ST_IO, "cannot open '%s': %s", path, plain_strerror(errno));
    status st = map_open(path, fd, out);
    close(fd);
    return st;
}

void file_unmap(struct file_map *m)
{
    if (m->bytes) munmap((void *)(uintptr_t)m->bytes, m->n); /* const only for its readers */
    *m = (struct file_map){0};
}
