/* loader.h - pictures made ready ahead of their use, by threads of its own.
 *
 * A batch is a list of (picture, random stream) made into one float array [n, 3, side, side], or with grids
 * [n, cells, 3, side, side]; the loader works on the next
 * batches while the caller uses the current one. What a batch holds does not depend on the number of threads. Pictures that
 * one transform always resizes alike are kept as bytes after their first use, where all of them fit. */
#ifndef DATA_LOADER_H
#define DATA_LOADER_H
#include "data/dataset.h"
#include "image/transform.h"

struct loader;

struct load_item {
    uint32_t picture;
    struct random random; /* the stream of its crop, flip and jitter */
};
/* Fills `items` (room for `most`) for batch `index` and returns how many, or 0 behind the last batch. Called by threads of
 * the loader, one at a time, in order of `index`; it must not call the loader. */
typedef size_t (*load_plan)(void *context, uint64_t index, struct load_item *items, size_t most);

#define LOADER_CACHE_BYTES ((size_t)2 << 30) /* the usual cache_bytes */

struct loader_options {
    const struct transform *transform;
    size_t grids; /* pictures are cut into the cells of so many grids (image/transform.h); 0: whole pictures */
    const size_t *grid_sizes; /* [grids] */
    bool random;              /* training: draws; else the deterministic form */
    bool strict;    /* a picture that cannot be read is an error; else it is warned about once, and the next readable
                                   one of its class stands in */
    size_t most;    /* pictures in a batch */
    size_t threads; /* 0: all cores but one, at least 1 */
    size_t ahead;   /* batches made in advance; 0: 2 */
    uint64_t first; /* the first batch to load (after a resume) */
    size_t cache_bytes;         /* most memory for resized pictures; 0: none are kept */
    const struct log_sink *log; /* warnings, one at a time; NULL: nobody */
};
/* The data set, the sizes of grids and `context` must live as long as the loader. */
status loader_new(const struct dataset *d, const struct loader_options *o, load_plan plan, void *context,
                  struct loader **out);
void loader_free(struct loader *l); /* stops the threads, also in the middle of a batch */
/* The next batch, valid until the following call; *count 0 behind the last. A failure stays: later calls repeat it. */
status loader_next(struct loader *l, const float **batch, size_t *count);
#endif
