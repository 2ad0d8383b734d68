/* device.h - what a device must offer. The CPU is one; others are plug-ins that src/api opens.
 *
 * A device object is one in-order queue: calls are carried out in the order they were made, and only `download` and
 * `sync` wait. Two queues on one GPU are two device objects. The primitives are listed once, in prims.def, and stand
 * in one table per number type; an entry may be NULL, which becomes an error naming primitive, type and device
 * (PRIM_CALL), or for one marked PRIM_MAY sends its op another way. Ops therefore never ask which device they run on. Read
 * tensor/prims.def next. */
#ifndef TENSOR_DEVICE_H
#define TENSOR_DEVICE_H
#include "base/arena.h"
#include "tensor/prims.h"
#include "tensor/tensor.h"
#include <stdint.h>

enum { DEVICE_ABI = 17 }; /* raise when this file, prims.def or prims.h changes */

enum { DEVICE_PEERS_ID_BYTES = 128 };

/* How a network in single precision is computed. Statistics, parameters, heads and losses are f32 in all of them. */
enum maths {
    MATHS_F32,  /* products of f32 */
    MATHS_TF32, /* products of f32 rounded to 11 bits */
    MATHS_BF16, /* maps stored and multiplied as bf16 */
    MATHS_COUNT
};

struct device {
    uint32_t abi, bytes;  /* DEVICE_ABI and sizeof(struct device): a plug-in with others is refused */
    char name[24];        /* "cpu", "cuda:0" */
    bool on_host;         /* its memory is the host's: arrays of the caller may serve as tensors */
    unsigned maths_known; /* bit m: it can do maths m */
    enum maths maths;     /* the one in use; set by whoever opened the device */
    bool deterministic;   /* set by the caller: the same calls give the same bits, also where that is slower */
    status (*alloc)(struct device *d, size_t bytes, void **out);
    void (*release)(struct device *d, void *memory);
    status (*upload)(struct device *d, void *to, const void *from_host, size_t bytes);
    status (*download)(struct device *d, void *to_host, const void *from, size_t bytes); /* waits */
    status (*copy)(struct device *d, void *to, const void *from, size_t bytes);          /* within the device */
    status (*zero)(struct device *d, void *memory, size_t bytes);
    status (*sync)(struct device *d);                /* waits, and reports what failed since the last sync */
    status (*room)(struct device *d, size_t *bytes); /* memory that is free now */
    /* Both or neither: calls between them may be kept and carried out as one, which takes less time where steps are many and
     * alike. To be used through device_together_begin and _end, which do nothing where there is neither. */
    status (*together_begin)(struct device *d);
    status (*together_end)(struct device *d);
    /* All or none: sums over the devices of several processes, which all make the same calls in the same order. One of them
     * makes an identity for all to join by. A sum begins when what was called before is done, in place; after
     * `peers_wait`, calls come after the sums. Nothing but the joining waits. */
    status (*peers_id)(struct device *d, void *id); /* DEVICE_PEERS_ID_BYTES */
    status (*peers_join)(struct device *d, const void *id, int rank, int size);
    status (*peers_sum)(struct device *d, dtype type, size_t count, void *memory);
    status (*peers_wait)(struct device *d);
    void (*close)(struct device *d);
    struct prims prim[DT_REALS];
    void *state; /* owned by the device */
};

/* An arena whose blocks are memory of the device. */
arena *device_arena(struct device *d, size_t first_block_bytes);
/* Around the calls of a step. `st` is how they went; the end returns that, or what it failed with itself. */
status device_together_begin(struct device *d);
status device_together_end(struct device *d, status st);
/* Sets it by its name: "f32", "tf32", "bf16"; ST_UNSUPPORTED where the device does not know it. */
status device_set_maths(struct device *d, const char *name);
const char *maths_name(enum maths m);
/* Says that the device lacks a primitive. */
status device_lacks(const struct device *d, const char *primitive, dtype type);

/* PRIM_CALL(dev, DT_F32, gemm, (dev, ...)) calls the entry, or names what is missing. */
#define PRIM_CALL(dev, type, name, args) \
    ((dev)->prim[type].name ? (dev)->prim[type].name args : device_lacks((dev), #name, (type)))
#endif
