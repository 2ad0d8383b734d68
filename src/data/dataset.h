/* dataset.h - a set of labelled pictures: one split, in a fixed order, from wherever it lies.
 *
 * A path is a folder <split>/<class>/<picture> or of class folders, a CSV list `filename,label` with a folder of
 * pictures, a tar of the first form, a folder of such tars or lists, or a pack (decoded once, memory-mapped). Classes
 * are sorted by name, pictures by path, both byte-wise, so that indices mean the same everywhere. Opening reads names
 * only; pictures are decoded when asked for, by any thread. Where each kind is read: data/source.h. */
#ifndef DATA_DATASET_H
#define DATA_DATASET_H
#include "base/log.h"
#include "image/picture.h"

struct dataset;

struct dataset_options {
    const char *images;         /* the folder of a CSV list's pictures; NULL: the list's own folder */
    const struct log_sink *log; /* warnings; NULL: nobody */
};

/* `split` is "train", "val", "test" or another that the set has, or NULL for a set without splits (or a CSV list, which
 * is one split). A missing or empty split is an error that says which splits there are. `o` may be NULL. */
status dataset_open(const char *path, const char *split, const struct dataset_options *o, struct dataset **out);
void dataset_close(struct dataset *d);

size_t dataset_class_count(const struct dataset *d);
const char *dataset_class_name(const struct dataset *d, size_t c);
/* Pictures of class c are first .. first + size - 1. */
size_t dataset_class_size(const struct dataset *d, size_t c);
size_t dataset_class_first(const struct dataset *d, size_t c);
size_t dataset_count(const struct dataset *d);
size_t dataset_class_of(const struct dataset *d, size_t picture);
/* The picture's name within the set: "class/file.jpg". */
const char *dataset_name(const struct dataset *d, size_t picture);
/* Decodes; any number of threads at once. The failure names the picture. */
status dataset_picture(const struct dataset *d, size_t picture, struct picture *out);
/* The file's bytes as they are, for copies; free() them. A pack gives its stored pixels. */
status dataset_bytes(const struct dataset *d, size_t picture, char **data, size_t *bytes);
/* SHA-256 in hex over class names and decoded pixels of the readable pictures; the same for a folder, for a tar of it
 * and for a pack made from either. */
status dataset_fingerprint(const struct dataset *d, char hex[65]);

/* Names of the splits that a path has, NULL-terminated, in the order train, val, test, others; empty for a set without
 * splits. One block: free() the array. */
status dataset_splits(const char *path, const char ***out);
#endif
