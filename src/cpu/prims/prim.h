/* prim.h - for files in cpu/prims: the real type, its kernels, and cutting work for the pool. */
#ifndef CPU_PRIMS_PRIM_H
#define CPU_PRIMS_PRIM_H
#include "base/size.h"
#include "cpu/cpu.h"
#include "cpu/real.h"

#if CENTRA_REAL == 32
#define KERNELS(device) (&cpu_of(device)->kernels->f32)
typedef struct kernels_f32 kernel_table;
#else
#define KERNELS(device) (&cpu_of(device)->kernels->f64)
typedef struct kernels_f64 kernel_table;
#endif

/* prims of this type: R(prim_gemm) and so on */
#define PRIM(name, params) status R(prim_##name) params;
#define PRIM_MAY(name, params)
#include "tensor/prims.def"
#undef PRIM_MAY
#undef PRIM

static inline real *reals(const tensor *x) { return x->data; }
static inline int *ints(const tensor *x) { return x->data; }

/* Pieces of about `grain` elements over a range of `total`; cut by size alone. */
struct range {
    size_t from, to;
};
static inline size_t pieces_of(size_t total, size_t grain) { return size_div_up(total, grain); }
static inline struct range piece_range(size_t total, size_t grain, size_t piece)
{
    return (struct range){piece * grain, size_min(total, (piece + 1) * grain)};
}
enum { GRAIN = 16384 }; /* elements of cheap elementwise work that are worth a thread's attention */
#endif
