/* cpu.h - the CPU as a device: memory by malloc, primitives in cpu/prims over the kernels of one instruction set, cut
 * into pieces for the pool. */
#ifndef CPU_CPU_H
#define CPU_CPU_H
#include "base/pool.h"
#include "cpu/kernels.h"
#include "tensor/device.h"

/* `threads` is borrowed and must outlive the device. */
status cpu_open(pool *threads, const struct kernels *kernels, struct device **out);

/* How 3x3 convolutions of stride 1 are computed: by what suits the shapes, or, for tests and timing, always one way; by
 * Winograd's method with spectra of all weights at once, or panel by panel. */
enum cpu_conv { CPU_CONV_AUTO, CPU_CONV_DIRECT, CPU_CONV_WINOGRAD, CPU_CONV_PANELS };

/* For cpu/prims: what stands behind device.state. */
struct cpu {
    pool *threads;
    const struct kernels *kernels;
    struct cpu_scratch { /* two a worker, grown on demand and kept */
        void *memory;
        size_t bytes;
    } * scratch, *shared; /* shared: for the calling thread, what all pieces of a primitive share */
    enum cpu_conv conv;
};
static inline struct cpu *cpu_of(struct device *d) { return d->state; }
/* A device may be used by several pieces of its own pool at once: primitives then run inline, each on its worker's
 * memory, and cpu_reserve and cpu_shared touch no other worker's. */
/* At least `bytes`, 64-byte aligned, contents undefined, valid until the next request for the same worker. */
/* cpu_reserve gives every worker that much before the pieces run: which worker runs a piece is chance, and a later call
 * must not allocate because another one did this time. */
status cpu_reserve(struct cpu *c, size_t bytes);
status cpu_scratch(struct cpu *c, size_t worker, size_t bytes, void **out);
status cpu_shared(struct cpu *c, size_t bytes, void **out);

/* Fill a table with the primitives of cpu/prims; one per real type, made by cpu/prims/table.c. */
void cpu_prims_f32(struct prims *out);
void cpu_prims_f64(struct prims *out);
#endif
