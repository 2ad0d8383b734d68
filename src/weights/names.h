/* names.h - under which other names the released files have our parameters. */
#ifndef WEIGHTS_NAMES_H
#define WEIGHTS_NAMES_H
#include <stdbool.h>
#include <stddef.h>

enum { NAME_TEXT = 256 };

/* The `i`-th name under which a file may have our parameter `ours`: 0 is its own, then the released ones. False when
 * there are no more. Names that do not fit the buffer are not tried. */
bool name_in_file(const char *ours, size_t i, char out[NAME_TEXT]);
/* The `i`-th of our names that the name in a file may stand for, in the same way. */
bool name_of_ours(const char *in_file, size_t i, char out[NAME_TEXT]);
/* Whether no parameter of ours corresponds to it and none is missed: the counters of batch normalisation. */
bool name_is_idle(const char *in_file);
#endif
