/* npy.h - NumPy's array files: a header that says type and shape, then the numbers.
 *
 * Reads versions 1 to 3, f4/f8/i4/i8 (and i1/i2/u1/u2/u4 and b1 as integers), either byte order, C order and Fortran
 * order (reordered on reading). Everything is checked before memory is taken: a header is hostile until proven well. */
#ifndef BASE_NPY_H
#define BASE_NPY_H
#include "base/file.h"
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NPY_MAX_RANK = 8 };

enum npy_type { NPY_F32, NPY_F64, NPY_I64 }; /* what the numbers are in memory: every integer type is widened to i64 */

struct npy {
    enum npy_type type;
    int rank; /* 0: a single number */
    size_t dim[NPY_MAX_RANK];
    size_t count; /* product of dim */
    void *data;   /* owned, C order, native byte order */
};

/* `limit_bytes`: the largest file that is accepted. */
status npy_read(const char *path, size_t limit_bytes, struct npy *out);
/* The same from bytes in memory; `name` stands in messages. */
status npy_parse(const char *name, const void *bytes, size_t n, struct npy *out);
void npy_free(struct npy *a); /* accepts a zeroed struct */
/* Changes the numbers to f32 or f64 in place (from any type). */
status npy_convert(struct npy *a, enum npy_type type, const char *name);
/* Writes version 1.0, little-endian, C order, atomically. */
status npy_write(const char *path, enum npy_type type, int rank, const size_t *dim, const void *data);
#endif
