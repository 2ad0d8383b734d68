/* split.h - classes of a folder divided into train, val and test: no picture is moved, lists are written. */
#ifndef DATA_SPLIT_H
#define DATA_SPLIT_H
#include "base/log.h"
#include "base/status.h"
#include <stddef.h>
#include <stdint.h>

struct split_options {
    double part[3]; /* train, val, test: numbers of classes, or all below 1: fractions of the classes */
    uint64_t seed;  /* which classes come together */
    const struct log_sink *log;
};
struct split_result {
    size_t classes[3], pictures[3], left_over; /* classes that are in no split */
};
/* Writes train.csv, val.csv and test.csv into the folder, whose classes are folders; --data then takes it with these
 * splits. A part of 0 makes no list. Existing lists are never overwritten. `out` may be NULL. */
status data_split(const char *path, const struct split_options *o, struct split_result *out);
#endif
