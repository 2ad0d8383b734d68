/* fingerprint.c - one SHA-256 for all arrays of a file, the same for each kind of file that holds them.
 *
 * Over the arrays in order of their names: the name, a NUL, the type's name, a NUL, then rank and sizes as 64-bit
 * little-endian numbers, then the data. Metadata do not count. */
#include "base/sha256.h"
#include "weights/file.h"
#include <string.h>

static void add_number(struct sha256 *s, uint64_t v)
{
    unsigned char b[8];
    for (int i = 0; i < 8; i++) b[i] = (unsigned char)(v >> (8 * i));
    sha256_add(s, b, sizeof b);
}

void arrays_fingerprint(size_t count, const struct named_array *arrays, char hex[65])
{
    struct sha256 s;
    sha256_begin(&s);
    for (size_t i = 0; i < count; i++) {
        const struct named_array *a = &arrays[i];
        const char *type = array_type_name(a->type);
        sha256_add(&s, a->name, strlen(a->name) + 1);
        sha256_add(&s, type, strlen(type) + 1);
        add_number(&s, (uint64_t)a->rank);
        for (int d = 0; d < a->rank; d++) add_number(&s, a->dim[d]);
        sha256_add(&s, a->data, a->bytes);
    }
    sha256_end(&s, hex);
}

status weights_fingerprint(const struct weights *w, char hex[65])
{
    arrays_fingerprint(w->count, w->array, hex);
    return OK;
}

bool weights_file_hash(const struct weights *w, char hex[65])
{
    struct sha256 s;
    if (!w->bytes) return false;
    sha256_begin(&s);
    sha256_add(&s, w->bytes, w->n);
    sha256_end(&s, hex);
    return true;
}
