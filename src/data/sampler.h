/* sampler.h - episodes: which pictures play support and query.
 *
 * Everything is a function of (seed, epoch, index): the same on every machine, with any number of threads, and after a
 * resume. Labels are 0 .. way-1 in drawing order; support is class-major, queries are in a drawn order. */
#ifndef DATA_SAMPLER_H
#define DATA_SAMPLER_H
#include "base/status.h"
#include <stddef.h>
#include <stdint.h>

struct plan {                /* one episode: picture indices of a dataset */
    size_t way, shot, query; /* query: pictures of each class */
    uint32_t *classes;       /* [way] */
    uint32_t *support;       /* [way * shot] */
    uint32_t *queries;       /* [way * query] */
    int32_t *query_labels;   /* [way * query] */
};
status plan_new(size_t way, size_t shot, size_t query, struct plan *out); /* arrays undefined */
void plan_free(struct plan *p);

/* Sizes and first indices of the classes that are large enough for shot + query pictures; smaller ones are left out. */
struct sampler;
status
sampler_new(size_t classes, const size_t *first, const size_t *size, size_t way, size_t shot, size_t query,
            uint64_t seed,
            struct sampler **out); /* ST_VALUE when fewer than `way` classes are large enough, naming the numbers */
void sampler_free(struct sampler *s);
size_t sampler_left_out(const struct sampler *s); /* classes that were too small */

/* The ordinary sampler (methods 6.4.1): episode `index` of epoch `epoch`, independent of all others. */
status sampler_episode(const struct sampler *s, uint64_t epoch, uint64_t index, struct plan *out);
/* The unrepeated sampler (methods 6.4.2): all episodes of an epoch, each picture at most once. *plans is one allocation to
 * be given to sampler_epoch_free. */
status sampler_epoch(const struct sampler *s, uint64_t epoch, struct plan **plans, size_t *count);
void sampler_epoch_free(struct plan *plans, size_t count);
#endif
