/* file.h - reading whole files, and writing them so that a reader never sees half of one.
 *
 * A written file goes to a temporary name in the same folder, is flushed and fsynced, then renamed over its final
 * name; after any failure, or a kill, the old file is still there. Messages name the path and what the system said. */
#ifndef BASE_FILE_H
#define BASE_FILE_H
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The whole file in memory, with a NUL behind the last byte that is not counted. Refuses files larger than
 * `limit_bytes` and things that are not regular files. Free with free(). */
status file_read(const char *path, size_t limit_bytes, char **data, size_t *bytes);

/* A file being written. Write to `stream` or with file_put; errors are kept and reported by file_commit. */
struct file_writer {
    FILE *stream;
    char *path, *temporary; /* owned */
    status st;
    int error; /* errno of the first file_put that failed */
};
status file_begin(const char *path, struct file_writer *w);
void file_put(struct file_writer *w, const void *bytes, size_t n);
/* Makes it permanent. The writer is finished either way. */
status file_commit(struct file_writer *w);
/* The same, unless there is something of that name by now: then it is thrown away and *taken is true. */
status file_commit_new(struct file_writer *w, bool *taken);
/* Throws it away; does nothing after file_commit. */
void file_abandon(struct file_writer *w);
/* All of that in one: the file has these bytes, or is as it was. */
status file_write(const char *path, const void *bytes, size_t n);

status folder_make(const char *path); /* with its parents; an existing folder is fine */
bool file_exists(const char *path);
#endif
