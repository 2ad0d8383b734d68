/* device.c - the CPU as a device: host memory in aligned blocks, and scratch memory for the primitives.
 *
 * Every call is carried out at once, so that sync has nothing to wait for. Large blocks ask for huge pages: a walk over
 * a large tensor is otherwise bound by the translation of addresses. */
#include "cpu/cpu.h"
#include "base/size.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BLOCK_ALIGN = 64, HUGE_BYTES = 2 << 20, ZERO_PIECE_BYTES = 4 << 20 };

/* `bytes` of memory, 64-byte aligned; give back with free(). 0 bytes give a pointer as well. */
static status block_take(size_t bytes, void **out)
{
    const bool huge = bytes >= HUGE_BYTES;
    if (bytes > SIZE_MAX / 2) return fail(ST_MEMORY, "no memory for %zu bytes", bytes);
    const size_t rounded = size_round_up(bytes ? bytes : 1, BLOCK_ALIGN);
    void *memory;
    if (posix_memalign(&memory, huge ? HUGE_BYTES : BLOCK_ALIGN, rounded))
        return fail(ST_MEMORY, "no memory for %zu bytes", bytes);
#if defined(MADV_HUGEPAGE)
    if (huge) (void)madvise(memory, rounded, MADV_HUGEPAGE); /* a wish: a system without huge pages may refuse */
#endif
    *out = memory;
    return OK;
}

static status cpu_alloc(struct device *d, size_t bytes, void **out)
{
    (void)d;
    return block_take(bytes, out);
}

static void cpu_release(struct device *d, void *memory)
{
    (void)d;
    free(memory);
}

/* upload, download and copy alike; with no bytes, the pointers may be NULL, which memcpy must not see */
static status cpu_copy(struct device *d, void *to, const void *from, size_t bytes)
{
    (void)d;
    if (bytes) memcpy(to, from, bytes);
    return OK;
}

struct zeroing {
    char *memory;
    size_t bytes;
};

static status zero_piece(void *context, size_t piece, size_t worker)
{
    const struct zeroing *z = context;
    const size_t from = piece * ZERO_PIECE_BYTES;
    (void)worker;
    memset(z->memory + from, 0, size_min(ZERO_PIECE_BYTES, z->bytes - from));
    return OK;
}

static status cpu_zero(struct device *d, void *memory, size_t bytes)
{
    struct zeroing z = {memory, bytes};
    if (bytes > ZERO_PIECE_BYTES)
        return pool_run(cpu_of(d)->threads, size_div_up(bytes, ZERO_PIECE_BYTES), zero_piece, &z);
    if (bytes) memset(memory, 0, bytes);
    return OK;
}

static status cpu_sync(struct device *d)
{
    (void)d;
    return OK;
}

static status cpu_room(struct device *d, size_t *bytes)
{
    const long pages = sysconf(_SC_AVPHYS_PAGES), each = sysconf(_SC_PAGESIZE);
    (void)d;
    *bytes = pages > 0 && each > 0 ? (size_t)pages * (size_t)each : 0;
    return OK;
}

/* Grows to at least twice the size, so that a slowly rising demand does not allocate each time. */
static status scratch_reserve(struct cpu_scratch *s, size_t bytes, void **out)
{
    if (bytes > s->bytes || !s->memory) {
        const size_t wanted = size_max(bytes, s->bytes <= SIZE_MAX / 4 ? 2 * s->bytes : bytes);
        free(s->memory);
        *s = (struct cpu_scratch){NULL, 0};
        const status st = block_take(wanted, &s->memory);
        if (st != OK) return st;
        s->bytes = wanted;
    }
    *out = s->memory;
    return OK;
}

status cpu_scratch(struct cpu *c, size_t worker, size_t bytes, void **out)
{
    return scratch_reserve(&c->scratch[worker], bytes, out);
}

status cpu_reserve(struct cpu *c, size_t bytes)
{
    void *memory;
    size_t self;
    status st = OK;
    if (pool_inside(c->threads, &self)) return cpu_scratch(c, self, bytes, &memory);
    for (size_t i = 0; i < pool_threads(c->threads) && st == OK; i++) st = cpu_scratch(c, i, bytes, &memory);
    return st;
}

status cpu_shared(struct cpu *c, size_t bytes, void **out)
{
    size_t self;
    return scratch_reserve(&c->shared[pool_inside(c->threads, &self) ? self : 0], bytes, out);
}

static void cpu_close(struct device *d)
{
    struct cpu *c = d ? cpu_of(d) : NULL;
    for (size_t i = 0; c && c->scratch && i < 2 * pool_threads(c->threads); i++) free(c->scratch[i].memory);
    if (c) free(c->scratch);
    free(c);
    free(d);
}

status cpu_open(pool *threads, const struct kernels *kernels, struct device **out)
{
    struct device *d = calloc(1, sizeof *d);
    struct cpu *c = d ? calloc(1, sizeof *c) : NULL;
    if (c) {
        d->state = c;
        *c = (struct cpu){.threads = threads, .kernels = kernels};
        c->scratch = calloc(2 * pool_threads(threads), sizeof *c->scratch);
        c->shared = c->scratch ? c->scratch + pool_threads(threads) : NULL;
    }
    if (!c || !c->scratch) {
        cpu_close(d);
        return fail(ST_MEMORY, "no memory to open the CPU as a device");
    }
    *d = (struct device){.abi = DEVICE_ABI,
                         .bytes = sizeof *d,
                         .name = "cpu",
                         .on_host = true,
                         .maths_known = 1u << MATHS_F32,
                         .alloc = cpu_alloc,
                         .release = cpu_release,
                         .upload = cpu_copy,
                         .download = cpu_copy,
                         .copy = cpu_copy,
                         .zero = cpu_zero,
                         .sync = cpu_sync,
                         .room = cpu_room,
                         .close = cpu_close,
                         .state = c};
    cpu_prims_f32(&d->prim[DT_F32]);
    cpu_prims_f64(&d->prim[DT_F64]);
    *out = d;
    return OK;
}
