/* wgmma.cuh - Hopper's products of a whole warpgroup, whose operands lie in shared memory, and barriers in shared memory.
 *
 * An operand lies in one of two ways. Planes: pieces of eight neighbours along the depth, 16 bytes; a plane has one for each
 * row or column, one behind the other. Rows: 64 neighbours, 128 bytes, whose eight pieces are swapped about by the row's
 * address, so that no two rows' like pieces meet on a bank; a matrix may begin at any row, which is what a convolution's
 * taps need. Only code for sm_90a has these instructions; elsewhere they are empty. */
#ifndef CUDA_WGMMA_CUH
#define CUDA_WGMMA_CUH
#include "cuda/half.cuh"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define HOPPER 1
#else
#define HOPPER 0
#endif

static __device__ inline uint32_t shared_at(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

/* Planes, `apart` bytes from one to the next. */
static __device__ inline uint64_t matrix_planes(uint32_t shared, uint32_t apart)
{
    return (uint64_t)((shared & 0x3ffff) >> 4) | (uint64_t)(apart >> 4) << 16 | (uint64_t)(128 >> 4) << 32;
}
/* Rows; of its 64 numbers a product along rows takes 16, from a multiple of 32 bytes on. */
enum { ROW_BYTES = 128 };
static __device__ inline uint64_t matrix_rows(uint32_t shared)
{
    return (uint64_t)((shared & 0x3ffff) >> 4) | (uint64_t)1 << 16 | (uint64_t)(8 * ROW_BYTES >> 4) << 32 | (uint64_t)1 << 62;
}
/* Where a row's piece lies. */
static __device__ inline uint32_t swapped(uint32_t row, unsigned piece) { return row + ((piece ^ (row >> 7 & 7)) << 4); }

static __device__ inline void wgmma_begin(void)
{
#if HOPPER
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}
static __device__ inline void wgmma_commit(void)
{
#if HOPPER
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}
/* Until at most KEEP groups are under way. */
template <int KEEP> static __device__ inline void wgmma_wait(void)
{
#if HOPPER
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(KEEP) : "memory");
#endif
}

/* The names of a product's first registers. */
#define WGMMA_NAMES_16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define WGMMA_NAMES_32 WGMMA_NAMES_16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define WGMMA_NAMES_64 \
    WGMMA_NAMES_32 \
    ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47" \
    ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define WGMMA_NAMES_128 \
    WGMMA_NAMES_64 \
    ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79" \
    ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95" \
    ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111" \
    ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define WGMMA_4(c, i) "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3])
#define WGMMA_16(c, i) WGMMA_4(c, i), WGMMA_4(c, i + 4), WGMMA_4(c, i + 8), WGMMA_4(c, i + 12)
#define WGMMA_64(c, i) WGMMA_16(c, i), WGMMA_16(c, i + 16), WGMMA_16(c, i + 32), WGMMA_16(c, i + 48)

/* c [64, 256] += a [64, 16] b [16, 256], both from shared memory, a in planes, b in rows along the depth; `add` false: = */
static __device__ inline void wgmma_256(float c[128], uint64_t a, uint64_t b, bool add)
{
#if HOPPER
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 "
        "{" WGMMA_NAMES_128 "}, "
        "%128, %129, p, 1, 1, 0, 0;\n}\n"
        : WGMMA_64(c, 0), WGMMA_64(c, 64)
        : "l"(a), "l"(b), "r"((int)add));
#endif
}

/* A warpgroup that copies gives registers (a thread's, in eights) to those that multiply. */
template <bool MORE, int COUNT> static __device__ inline void registers_set(void)
{
#if HOPPER
    if (MORE) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
    else asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
#endif
}

/* Barriers in shared memory; `parity` is that of the phase waited for. */
static __device__ inline void barrier_make(uint64_t *b, unsigned count)
{
#if HOPPER
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_at(b)), "r"(count));
#endif
}
static __device__ inline void barrier_arrive(uint64_t *b)
{
#if HOPPER
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared_at(b)) : "memory");
#endif
}
static __device__ inline void barrier_wait(uint64_t *b, unsigned parity)
{
#if HOPPER
    asm volatile("{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@!p bra again;\n}\n" ::"r"(
                     shared_at(b)),
                 "r"(parity)
                 : "memory");
#endif
}

/* What was written to shared memory by ordinary copies is seen by products. */
static __device__ inline void fence_for_products(void)
{
#if HOPPER
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/* 16 bytes, or zeros. */
static __device__ inline void copy_16(uint32_t shared, const void *global, bool there)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global), "r"(there ? 16 : 0));
}
static __device__ inline void copies_wait(void) { asm volatile("cp.async.wait_all;" ::: "memory"); }

/* One warpgroup's 128 threads meet. */
static __device__ inline void group_sync(void) { asm volatile("bar.sync 1, 128;" ::: "memory"); }
#endif
