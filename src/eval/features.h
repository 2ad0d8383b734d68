/* features.h - every picture of a set encoded once: the cache that episodes are played on.
 *
 * Features lie on the device, [pictures, channels, locations]. They do not depend on the batch or on the number of
 * threads, because running statistics are used (methods 5.6.4). */
#ifndef EVAL_FEATURES_H
#define EVAL_FEATURES_H
#include "eval/model.h"

struct dataset;
struct transform;

struct features {
    tensor data;          /* [count, channels, locations], f32, owned memory of `device` */
    size_t height, width; /* locations = height * width */
    struct device *device;
};

struct features_options {
    const struct transform *transform; /* used without randomness */
    size_t batch;                      /* pictures a pass; 0: chosen */
    size_t threads;                    /* of the loader; 0: chosen */
    /* Called now and then with pictures done; false: stop with ST_USAGE "stopped". May be NULL. */
    bool (*progress)(void *context, size_t done, size_t of);
    void *context;
};
status features_encode(const struct model *m, const struct dataset *d, const struct features_options *o,
                       struct features *out);
void features_free(struct features *f);
#endif
