/* arrays.h - parameters on a device as the arrays of a file: copies on the host, with their names. */
#ifndef TRAIN_ARRAYS_H
#define TRAIN_ARRAYS_H
#include "weights/weights.h"

struct arrays {
    struct named_array *item; /* owned, with their names and data */
    size_t count;
};
/* Adds copies of all parameters and buffers, `prefix` before each name; those whose names begin with `without` (NULL:
 * none) are left out. */
status arrays_add(struct arrays *a, const char *prefix, struct params *p, const char *without);
void arrays_sort(struct arrays *a); /* by name, as a file has them */
void arrays_free(struct arrays *a);
enum array_type arrays_type(dtype type); /* of a real number */
#endif
