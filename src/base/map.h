/* map.h - a file's bytes where they lie, without reading them into memory first.
 *
 * The mapping is private and read-only. A file that another program shortens while it is mapped ends this one (SIGBUS):
 * large files are therefore replaced by renaming, as base/file.h does, never rewritten in place. */
#ifndef BASE_MAP_H
#define BASE_MAP_H
#include "base/status.h"
#include <stddef.h>

struct file_map {
    const unsigned char *bytes; /* NULL when the file is empty */
    size_t n;
};
/* Regular files only. */
status file_map(const char *path, struct file_map *out);
void file_unmap(struct file_map *m); /* accepts a zeroed struct */
#endif
