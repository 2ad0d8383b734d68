/* file.h - what an open file of named arrays holds, for the readers of each kind. Only src/weights needs it.
 *
 * A reader gets the bytes, which the file owns, and adds arrays whose data lie in them or in the file's arena. Names
 * are then sorted and checked in one place, weights.c. */
#ifndef WEIGHTS_FILE_H
#define WEIGHTS_FILE_H
#include "base/arena.h"
#include "weights/weights.h"
#include <stdint.h>

struct weights {
    char *path;           /* owned; stands in messages */
    const char *kind;     /* constant */
    arena *memory;        /* names, metadata and rearranged data */
    unsigned char *bytes; /* owned; NULL for a folder */
    size_t n;
    struct named_array *array; /* owned, sorted by name */
    size_t count, capacity;
    struct meta *meta; /* in `memory` */
    size_t metas;
};

/* An empty one of that name; NULL metadata, no bytes. */
status weights_new(const char *path, struct weights **out);
/* Arrays in order of their names, which must be unique: once, when all are there. */
status weights_sort(struct weights *w);
/* Adds a copy of `a`, whose name and data must live as long as the file. */
status weights_add(struct weights *w, const struct named_array *a);
/* The bytes that an array of that type and shape has; refuses a rank or a product that is too large. */
status array_bytes(const struct weights *w, const char *name, enum array_type type, int rank, const size_t *dim,
                   size_t *out);
/* A copy of `n` bytes of text, NUL-terminated, that lives as long as the file. */
status weights_text(struct weights *w, const char *from, size_t n, const char **out);

/* weights_fingerprint for arrays that are sorted by name. */
void arrays_fingerprint(size_t count, const struct named_array *arrays, char hex[65]);

/* Arrays of two axes and more, of f32 or f64, to f16 in `memory`, each number to the nearest; vectors, which are few and may be
 * large or small (running statistics), stay. Refuses a number that f16 cannot hold. `file` stands in messages. */
status arrays_halve(const char *file, size_t count, struct named_array *arrays, arena *memory);

/* The readers. */
status safetensors_read(struct weights *w);
status pth_zip_read(struct weights *w);
status pth_legacy_read(struct weights *w);
status npy_folder_read(struct weights *w);

static inline uint16_t load_u16(const unsigned char *b) { return (uint16_t)(b[0] | b[1] << 8); }
static inline uint32_t load_u32(const unsigned char *b) { return load_u16(b) | (uint32_t)load_u16(b + 2) << 16; }
static inline uint64_t load_u64(const unsigned char *b) { return load_u32(b) | (uint64_t)load_u32(b + 4) << 32; }
#endif
