/* plugin.h - devices that live in shared objects of their own. */
#ifndef API_PLUGIN_H
#define API_PLUGIN_H
#include "tensor/device.h"
#include <limits.h>

/* Opens "cuda" or "cuda:1". The object, centra-cuda.so, is looked for in the folder that CENTRA_PLUGINS names, beside the
 * library, beside the program and where `make install` puts it; once opened it stays. Close with (*out)->close. */
status plugin_open(const char *name, struct device **out);
/* Whether the name is meant for a plug-in: "cuda", or "cuda:" and something. */
bool plugin_serves(const char *name);
/* The first of those folders that holds a file of this name; false when none does. */
bool plugin_file(const char *name, char out[PATH_MAX]);
#endif
