/* arena.h - memory that is taken piece by piece and given back all at once.
 *
 * A tape keeps two: one on the host for its records and one on its device for the values. After the first step an
 * arena holds every block that such a step needs, so later steps allocate nothing. What an arena gave is never freed
 * by hand. An arena belongs to one thread. Its main user is the tape: read ops/tape.h. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H
#include "base/status.h"
#include <stddef.h>

typedef struct arena arena;

/* Where blocks come from. The arena never touches the memory itself, so it may be a GPU's. */
struct arena_source {
    status (*take)(void *context, size_t bytes, void **out);
    void (*give)(void *context, void *memory);
    void *context;
};

enum { ARENA_ALIGN = 64 };

/* An arena over malloc, or over `source`. NULL when memory is out. Release with arena_free. */
arena *arena_new(size_t first_block_bytes);
arena *arena_new_from(struct arena_source source, size_t first_block_bytes);
/* `count * size` bytes, 64-byte aligned, not cleared; fails when memory is out or the product overflows. Valid until
 * arena_reset or arena_free. A take of 0 bytes gives a pointer that must not be read. */
status arena_take(arena *a, size_t count, size_t size, void **out);
/* Everything taken so far becomes invalid; the memory is kept for the next step. */
void arena_reset(arena *a);
/* Bytes held in blocks, and bytes taken since the last reset. */
size_t arena_held(const arena *a);
size_t arena_used(const arena *a);
void arena_free(arena *a);
#endif
