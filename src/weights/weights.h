/* weights.h - files of named arrays: safetensors, PyTorch's .pth (zip and legacy), and folders of .npy.
 *
 * A file is read without executing anything in it: .pth is a pickle, of which only the few opcodes that describe a state
 * dictionary are understood and all others refused by name. Lengths are checked before use. */
#ifndef WEIGHTS_WEIGHTS_H
#define WEIGHTS_WEIGHTS_H
#include "base/status.h"
#include "base/text.h"
#include "tensor/params.h"
#include "tensor/tensor.h"
#include <stdbool.h>

enum array_type { ARRAY_F32, ARRAY_F64, ARRAY_F16, ARRAY_BF16, ARRAY_I64, ARRAY_I32, ARRAY_U8, ARRAY_BOOL };

size_t array_type_bytes(enum array_type t);
const char *array_type_name(enum array_type t); /* as safetensors writes it: "F32" */

struct named_array {
    const char *name;
    enum array_type type;
    int rank;
    size_t dim[MAX_RANK];
    const void *data; /* little-endian, dense, row-major; owned by the file */
    size_t bytes;
};

struct weights; /* an open file */

/* Sniffs the kind by content. The whole file is checked: names unique, ranges inside the file and not overlapping. */
status weights_open(const char *path, struct weights **out);
status weights_parse(const char *name, const void *bytes, size_t n,
                     struct weights **out); /* from memory, for the fuzzers */
void weights_close(struct weights *w);
const char *weights_kind(const struct weights *w); /* "safetensors", "pth", "pth (legacy)", "npy folder" */
size_t weights_count(const struct weights *w);
const struct named_array *weights_at(const struct weights *w, size_t i);           /* in order of their names */
const struct named_array *weights_find(const struct weights *w, const char *name); /* NULL: none */
/* Metadata of safetensors, or NULL. */
const char *weights_meta(const struct weights *w, const char *key);
size_t weights_meta_count(const struct weights *w);
void weights_meta_at(const struct weights *w, size_t i, const char **key, const char **value);
/* SHA-256 in hex over sorted (name, type, shape, bytes). */
status weights_fingerprint(const struct weights *w, char hex[65]);
/* SHA-256 of the file as it was read, as sha256sum gives it; false for a folder. */
bool weights_file_hash(const struct weights *w, char hex[65]);

/* The numbers as f32 or f64, whatever the file has; refuses another shape by name. */
status named_array_get(const struct named_array *a, const char *file, dtype type, int rank, const size_t *dim,
                       void *out);

/* Refuses another shape by name. */
status named_array_fits(const struct named_array *a, const char *file, int rank, const size_t *dim);
/* Whether every number is finite. */
bool named_array_finite(const struct named_array *a);
/* The file's own numbers where they are f32 as this machine has them; else NULL. */
const float *named_array_floats(const struct named_array *a);

struct meta {
    const char *key, *value;
};
/* Writes safetensors atomically: names sorted, data 64-byte aligned, metadata as given. */
status weights_write(const char *path, size_t count, const struct named_array *arrays, size_t metas,
                     const struct meta *meta);
/* The same, unless there is something of that name: then nothing is written and *taken is true. */
status weights_write_new(const char *path, size_t count, const struct named_array *arrays, size_t metas,
                         const struct meta *meta, bool *taken);
/* The same file in memory, added to `to`; `name` stands in messages. */
status weights_write_bytes(const char *name, size_t count, const struct named_array *arrays, size_t metas,
                           const struct meta *meta, text *to);

/* Makes the folder `path` with one NAME.npy for each array; it must not be there already. */
status weights_write_npy(const char *path, size_t count, const struct named_array *arrays);

/* Writes what is in the file under our names where they differ from the released, and as a model of ours where it is one of
 * the files of weights/foreign.h: as safetensors, metadata included, the same with filters and matrices in f16, or as
 * a folder of .npy. */
enum weights_format { WEIGHTS_SAFETENSORS, WEIGHTS_HALF, WEIGHTS_NPY };
status weights_convert(const struct weights *w, enum weights_format to, const char *path);
/* The fingerprint that the converted file will have. */
status weights_convert_fingerprint(const struct weights *w, char hex[65]);
/* As safetensors under a name that nobody has yet, with this metadata in place of the file's: *taken is true, and nothing
 * written, where there is something of that name. */
status weights_convert_new(const struct weights *w, size_t metas, const struct meta *meta, const char *path,
                           bool *taken);

/* Loads parameters by name: each of `p` that begins with `prefix` must be in the file, under its own name or the released one
 * (name maps: "encoder." and "query." prefixes, num_batches_tracked), and nothing else may be there except what `ignore`
 * (NULL-terminated prefixes) names. Missing and extra names are listed together in one message; nothing is loaded in part. */
status weights_load(const struct weights *w, struct params *p, const char *prefix, const char *const *ignore);
/* The same for parameters that are only used (params_new_fixed): where it can be, they lie in the file's memory, which must then
 * stay as long as they do. */
status weights_lend(const struct weights *w, struct params *p, const char *prefix, const char *const *ignore);

/* How far a file is from those parameters, without loading: what weights_load would complain about, and by how much. */
struct weights_fit {
    size_t params, missing, extra, misfits; /* misfits have the name but another shape */
    text words;                             /* owned: "2 missing: a, b; 1 extra: c"; empty when all fits */
};
status weights_compare(const struct weights *w, struct params *p, const char *const *ignore, struct weights_fit *out);
/* The array for our parameter of that name, under its own name or a released one; NULL: none. */
const struct named_array *weights_find_ours(const struct weights *w, const char *ours);
#endif
