/* check.h - what a data set holds: classes and sizes, pictures that cannot be read, pictures that are the same.
 *
 * Everything is decoded once, on several threads. Two pictures are the same when their pixels are, whatever their files; such
 * a pair across splits means that a test picture was trained on. */
#ifndef DATA_CHECK_H
#define DATA_CHECK_H
#include "base/log.h"
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct check_split {
    const char *name; /* NULL: the set has no splits */
    size_t classes, pictures, unreadable;
    size_t smallest, largest; /* pictures of a class */
    char fingerprint[65];
};
struct check_size {
    uint32_t width, height;
    size_t pictures;
};
struct check_twins { /* names are "split/class/file", or "class/file" without splits */
    const char *first, *second;
    size_t first_split, second_split; /* indices of `split` */
};
struct check { /* release with check_free */
    struct check_split *split;
    struct check_size *size;   /* the most frequent first */
    struct check_twins *twins; /* each picture with the first that it equals */
    const char **unreadable;   /* a sentence each, which names the picture */
    size_t splits, sizes, twin_count, unreadable_count;
    void *memory; /* an arena with all of the above */
};

struct check_options {
    const char *images; /* as in struct dataset_options */
    const struct log_sink *log;
    size_t threads;                                           /* that decode; 0: all cores */
    bool (*progress)(void *context, size_t done, size_t all); /* false: stop; NULL: nobody looks */
    void *context;
};
/* `o` may be NULL. */
status data_check(const char *path, const struct check_options *o, struct check *out);
void check_free(struct check *c); /* accepts a zeroed struct */
#endif
