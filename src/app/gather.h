/* gather.h - the picture files that a command line means: files as they are given, folders walked. */
#ifndef APP_GATHER_H
#define APP_GATHER_H
#include "base/status.h"
#include <stddef.h>

struct gathered {
    char **path; /* owned, each too */
    size_t count, room;
};
/* Files are taken whatever they are called; of a folder and those below it the files that are called like pictures, sorted.
 * Hidden names are passed over, and a folder that is met again (a link that leads back) is walked once. What is not there
 * counts as a file, which cannot be read then. Free with gathered_free, also after a failure. */
status gather(const char *const *arguments, size_t count, struct gathered *out);
void gathered_free(struct gathered *g);
#endif
