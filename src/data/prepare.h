/* prepare.h - one picture of a data set made into a network's input, for the loader.
 *
 * Reads and decodes, or takes the resized picture it has kept; then draws crop and flip and normalises. Where a picture
 * cannot be read and that is no error, the next readable one of its class stands in, the same on every run. */
#ifndef DATA_PREPARE_H
#define DATA_PREPARE_H
#include "data/loader.h"

struct prepare;

status prepare_new(const struct dataset *d, const struct loader_options *o, struct prepare **out);
void prepare_free(struct prepare *p);
/* Numbers of one picture. */
size_t prepare_floats(const struct loader_options *o);
/* [3, side, side] floats, or [cells, 3, side, side]; any number of threads at once. */
status prepare_item(struct prepare *p, const struct load_item *item, float *out);
#endif
