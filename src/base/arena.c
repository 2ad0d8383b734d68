/* arena.c - blocks filled first-fit.
 *
 * A take goes to the first block with room, or to a new block behind the others. So a step that takes the same sizes
 * in the same order as the one before finds each take at the same place, and needs no new block. Records of the
 * blocks are kept on the host, because the blocks themselves may be a GPU's memory. */
#include "base/arena.h"
#include "base/size.h"
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

/* The address sanitizer sees blocks only. It is told which bytes of the host's blocks were given, so that it finds who writes
 * behind a take or uses one after a reset. */
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define ARENA_TELLS 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(ARENA_TELLS)
#include <sanitizer/asan_interface.h>
#define HIDE(memory, bytes) ASAN_POISON_MEMORY_REGION(memory, bytes)
#define SHOW(memory, bytes) ASAN_UNPOISON_MEMORY_REGION(memory, bytes)
#else
#define HIDE(memory, bytes) ((void)(memory), (void)(bytes))
#define SHOW(memory, bytes) ((void)(memory), (void)(bytes))
#endif

/* New blocks are a quarter of all before them together, so that there are few and little is held in vain, but no larger than
 * this: half of a last, nearly empty block of a GPU's memory would be a loss. */
static const size_t growth_limit = (size_t)64 << 20;

struct block {
    char *memory; /* owned by the source's rules */
    size_t bytes, used;
    struct block *next;
};

struct arena {
    struct arena_source source;
    size_t first_block_bytes;
    size_t held, used;
    struct block *first; /* owned, in order of age */
};

static status host_take(void *context, size_t bytes, void **out)
{
    (void)context;
    *out = aligned_alloc(ARENA_ALIGN, bytes); /* arena sizes are multiples of ARENA_ALIGN, as it demands */
    return *out ? OK : fail(ST_MEMORY, "no memory for %zu bytes", bytes);
}

static void host_give(void *context, void *memory)
{
    (void)context;
    free(memory);
}

arena *arena_new(size_t first_block_bytes)
{
    return arena_new_from((struct arena_source){host_take, host_give, NULL}, first_block_bytes);
}

arena *arena_new_from(struct arena_source source, size_t first_block_bytes)
{
    arena *a = calloc(1, sizeof *a);
    if (!a) return NULL;
    a->source = source;
    a->first_block_bytes = size_min(first_block_bytes, SIZE_MAX - ARENA_ALIGN);
    return a;
}

/* A block for at least `need` bytes, behind the others. */
static status block_add(arena *a, size_t need, struct block **out)
{
    struct block **last = &a->first;
    while (*last) last = &(*last)->next;
    size_t wish = size_max(a->first_block_bytes, size_min(a->held / 4, growth_limit));
    size_t bytes = size_round_up(size_max(need, wish), ARENA_ALIGN);

    struct block *b = calloc(1, sizeof *b);
    if (!b) return fail(ST_MEMORY, "no memory for the record of a block of %zu bytes", bytes);
    void *memory;
    status st = a->source.take(a->source.context, bytes, &memory);
    if (st != OK) {
        free(b);
        return st;
    }
    assert((uintptr_t)memory % ARENA_ALIGN == 0);
    *b = (struct block){.memory = memory, .bytes = bytes};
    if (a->source.take == host_take) HIDE(memory, bytes);
    a->held += bytes;
    *out = *last = b;
    return OK;
}

status arena_take(arena *a, size_t count, size_t size, void **out)
{
    size_t bytes;
    if (!size_mul(count, size, &bytes) || bytes > SIZE_MAX - ARENA_ALIGN)
        return fail(ST_MEMORY, "no memory for %zu things of %zu bytes: more than can be addressed", count, size);
    size_t need = size_max(size_round_up(bytes, ARENA_ALIGN), ARENA_ALIGN);
    struct block *b = a->first;
    while (b && b->bytes - b->used < need) b = b->next;
    if (!b) {
        status st = block_add(a, need, &b);
        if (st != OK) return st;
    }
    *out = b->memory + b->used;
    if (a->source.take == host_take) SHOW(*out, bytes);
    b->used += need;
    a->used += need;
    return OK;
}

void arena_reset(arena *a)
{
    for (struct block *b = a->first; b; b = b->next) {
        if (a->source.take == host_take) HIDE(b->memory, b->bytes);
        b->used = 0;
    }
    a->used = 0;
}

size_t arena_held(const arena *a) { return a->held; }
size_t arena_used(const arena *a) { return a->used; }

void arena_free(arena *a)
{
    if (!a) return;
    for (struct block *b = a->first, *next; b; b = next) {
        next = b->next;
        if (a->source.take == host_take) SHOW(b->memory, b->bytes);
        a->source.give(a->source.context, b->memory);
        free(b);
    }
    free(a);
}
