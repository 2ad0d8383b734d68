/* hash.h - what the pixels of a data set are, picture by picture: for fingerprints and for finding equal pictures. */
#ifndef DATA_HASH_H
#define DATA_HASH_H
#include "base/pool.h"
#include "data/dataset.h"

struct picture_hash {
    uint32_t width, height; /* 0, 0: the picture could not be read */
    char hex[65];           /* SHA-256 over width, height and pixels; "" when it could not be read */
};

/* SHA-256 over width and height (64 bits each, little-endian) and the pixels. */
void picture_hash(const struct picture *p, char hex[65]);
/* Of `count` pictures from `first` on; only a lack of memory is a failure. */
status dataset_hash_some(const struct dataset *d, size_t first, size_t count, pool *threads, struct picture_hash *out);
/* [dataset_count(d)], with all cores; only a lack of memory is a failure. */
status dataset_hashes(const struct dataset *d, struct picture_hash *out);
/* The fingerprint from those: class name, NUL, hash, NUL for each picture that could be read. */
void fingerprint_of(const struct dataset *d, const struct picture_hash *hashes, char hex[65]);
#endif
