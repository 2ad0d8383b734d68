/* zip.h - the members of a zip archive in memory, as PyTorch writes them: stored, not compressed. */
#ifndef WEIGHTS_ZIP_H
#define WEIGHTS_ZIP_H
#include "base/arena.h"
#include "base/status.h"
#include <stddef.h>
#include <stdint.h>

struct zip_member {
    const char *name; /* in the arena */
    const unsigned char *data;
    size_t bytes;
    size_t begin, end; /* of its header and data in the file */
    uint32_t crc;
};

struct zip {
    struct zip_member *member; /* in the arena, sorted by name */
    size_t count;
};

/* Checks everything: names unique, members inside the file and apart from each other, their CRC-32. `file` stands in
 * messages; `bytes` must live as long as the members. */
status zip_read(const char *file, const unsigned char *bytes, size_t n, arena *memory, struct zip *out);
const struct zip_member *zip_find(const struct zip *z, const char *name); /* NULL: none */
#endif
