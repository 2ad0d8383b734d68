/* tar.h - the regular files of a tar: POSIX ustar, pax (path, size) and GNU long names, in memory.
 *
 * Every length is checked against the bytes that there are, every header against its checksum. Names are normalised
 * ("./a//b" is "a/b"); one that leads outside (".." or from the root) is refused. */
#ifndef DATA_TAR_H
#define DATA_TAR_H
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>

/* Called for each regular file; its data are bytes[at .. at + n - 1]. `name` is valid during the call. */
typedef status (*tar_visit)(void *context, const char *name, size_t at, size_t n);
/* `path` stands in messages. A tar must end with an empty block, as all are written: a cut one is noticed. */
status tar_walk(const char *path, const unsigned char *bytes, size_t n, tar_visit visit, void *context);
/* Whether the bytes begin with a tar header. */
bool tar_begins(const unsigned char *bytes, size_t n);
#endif
