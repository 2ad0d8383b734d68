/* shelf.h - a folder with models in it: NAME.safetensors for each.
 *
 * There are two: the one that came with the library (api/model_find.c) and the user's own (api/store.c). */
#ifndef API_SHELF_H
#define API_SHELF_H
#include "base/status.h"
#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum { SHELF_MOST = 255, MODEL_NAME_ROOM = 128 };

struct shelf {
    char folder[PATH_MAX]; /* "": there is none */
    size_t count;
    char name[SHELF_MOST][MODEL_NAME_ROOM];
};

/* Letters, digits, '-', '_' and '.', beginning with a letter or digit: nothing that a path or a shell could misread. */
bool model_name_good(const char *name);
/* The models of an open folder, which is closed, in the order of `compare`; other files are passed over. */
void shelf_read(DIR *d, int (*compare)(const void *a, const void *b), struct shelf *inout);
/* The index of that name; `count` when it has none. */
size_t shelf_find(const struct shelf *s, const char *name);
status shelf_path(const struct shelf *s, const char *name, char out[PATH_MAX]);
#endif
