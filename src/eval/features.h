/* features.h - every picture of a set encoded once: the cache that episodes are played on.
 *
 * Features lie on the device, [rows, channels, locations] with the vectors that the model's extractor takes, a row for each picture that could be read, in the order of the
 * set. They do not depend on the batch or on the number of threads, because running statistics are used (methods 5.6.4). */
#ifndef EVAL_FEATURES_H
#define EVAL_FEATURES_H
#include "base/log.h"
#include "base/pool.h"
#include "eval/model.h"
#include "peers/peers.h"

struct dataset;
struct stock;
struct transform;
struct picture_hash;

struct features {
    tensor data;          /* [rows, channels, locations], f32, owned memory of `device` */
    tensor mirrored;      /* the same of the pictures seen in a mirror; data NULL: not wanted */
    size_t height, width; /* locations = height * width */
    struct device *device;
    size_t classes, *first, *size; /* owned, [classes]: the rows of each class of the set; what a sampler needs */
    size_t unreadable;             /* pictures that were left out */
};

struct features_options {
    const struct transform *transform; /* used without randomness */
    size_t batch;                      /* pictures a pass; 0: chosen */
    const struct stock *stock;   /* the set on the model's device, in its deterministic form; NULL: it is decoded */
    pool *threads;               /* that decode; NULL: one picture after another */
    struct peers *peers;         /* who encode a part of the set each, and all get all; NULL: nobody */
    bool mirror;                 /* encode mirror images as well */
    bool pool;                   /* keep the average over the locations alone, [rows, channels, 1] */
    bool skip_unreadable;        /* a picture that cannot be read is left out with a warning, else a failure */
    const struct log_sink *log;  /* warnings; NULL: nobody */
    struct picture_hash *hashes; /* room for each picture of the set, for its fingerprint; NULL: not wanted */
    /* Called now and then with pictures done; false: stop with ST_USAGE, "stopped ...". May be NULL. */
    bool (*progress)(void *context, size_t done, size_t of);
    void *context;
};
status features_encode(const struct model *m, const struct dataset *d, const struct features_options *o,
                       struct features *out);
void features_free(struct features *f);
/* eval/join.c: makes one whole of what each process has encoded of a set of `pictures`. *rows: of ours, then of all. */
status features_join(struct features *f, const struct features_options *o, size_t pictures, size_t *rows);
#endif
