/* wgmma_halves.cuh - products of halves on Hopper (wgmma.cuh), both operands in rows, with sums in singles or in halves.
 *
 * Sums lie alike: of a warp's 16 rows a thread has rows lane / 4 and that + 8, of each eight columns those at 2 (lane % 4) and
 * the next. Singles are [eight of columns][row][column]; halves the same, two columns in a register. */
#ifndef CUDA_WGMMA_HALVES_CUH
#define CUDA_WGMMA_HALVES_CUH
#include "cuda/wgmma.cuh"

#define WGMMA_R4(c, i) "+r"(c[i]), "+r"(c[i + 1]), "+r"(c[i + 2]), "+r"(c[i + 3])
#define WGMMA_R16(c, i) WGMMA_R4(c, i), WGMMA_R4(c, i + 4), WGMMA_R4(c, i + 8), WGMMA_R4(c, i + 12)
#define WGMMA_R64(c, i) WGMMA_R16(c, i), WGMMA_R16(c, i + 16), WGMMA_R16(c, i + 32), WGMMA_R16(c, i + 48)

/* c [64, N] += a [64, 16] b [16, N]; `add` false: = */
#if HOPPER
#define WGMMA_HALVES(NAME, SUM, COUNT, N, TYPE, NAMES, A, B, ADD, ...) \
    static __device__ inline void NAME(SUM(&c)[COUNT], uint64_t a, uint64_t b, bool add) \
    { \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " ADD ", 0;\n" \
                     "wgmma.mma_async.sync.aligned.m64n" N "k16." TYPE ".f16.f16 {" NAMES "}, " A ", " B \
                     ", p, 1, 1, 0, 0;\n}\n" \
                     : __VA_ARGS__ \
                     : "l"(a), "l"(b), "r"((int)add)); \
    }
#else
#define WGMMA_HALVES(NAME, SUM, COUNT, N, TYPE, NAMES, A, B, ADD, ...) \
    static __device__ inline void NAME(SUM(&)[COUNT], uint64_t, uint64_t, bool) {}
#endif
WGMMA_HALVES(wgmma_halves, float, 128, "256", "f32", WGMMA_NAMES_128, "%128", "%129", "%130", WGMMA_64(c, 0),
             WGMMA_64(c, 64))
WGMMA_HALVES(wgmma_halves, uint32_t, 64, "256", "f16", WGMMA_NAMES_64, "%64", "%65", "%66", WGMMA_R64(c, 0))
#endif
