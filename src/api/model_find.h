/* model_find.h - where models lie that came with the library. */
#ifndef API_MODEL_FIND_H
#define API_MODEL_FIND_H
#include "base/status.h"
#include <limits.h>

/* The file of a model given as a path, a run's folder or the name of a shipped one; NULL: the standard one. */
status model_find(const char *given, char out[PATH_MAX]);
#endif
