/* pack.h - a data set decoded once into one file that is mapped into memory: pictures cost a copy instead of a decoding.
 *
 * All splits stand in one file, in the order of dataset.h. It is written picture by picture under a temporary name and
 * renamed at the end; reading checks every bound before it is used and each picture's sum when it is copied. The bytes:
 * data/pack_format.h. */
#ifndef DATA_PACK_H
#define DATA_PACK_H
#include "base/log.h"
#include "base/status.h"
#include "image/picture.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pack_options {
    size_t side; /* every picture is resized to side x side, its shape not kept; 0: as they are */
    enum resize_filter filter;
    int quality; /* then compressed as a JPEG of this quality; 0: not */
    bool halved; /* with its colours at half the resolution */
    size_t hold; /* all splits are joined to one, train, but for so many pictures of each class: val; 0: splits stay */
    uint64_t seed;      /* which they are */
    bool strict;        /* a picture that cannot be read is a failure; else it is left out with a warning */
    const char *images; /* as in struct dataset_options */
    const struct log_sink *log;
    size_t threads;                                           /* that decode; 0: all cores */
    bool (*progress)(void *context, size_t done, size_t all); /* false: stop, nothing is written; NULL: nobody looks */
    void *context;
};
struct pack_result {
    size_t splits, pictures, skipped;
};
/* Packs every split of the data set `from`. `o` and `out` may be NULL. */
status pack_write(const char *from, const struct pack_options *o, const char *to, struct pack_result *out);
#endif
