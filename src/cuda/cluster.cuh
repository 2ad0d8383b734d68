/* cluster.cuh - Hopper's pairs of blocks that share what they copy: bulk copies into shared memory that count their bytes on a
 * barrier (wgmma.cuh), and arrivals at the other block's barriers. Only code for sm_90a has them; elsewhere they are empty. */
#ifndef CUDA_CLUSTER_CUH
#define CUDA_CLUSTER_CUH
#include "cuda/wgmma.cuh"

/* Which block of its cluster this is. */
static __device__ inline unsigned cluster_rank(void)
{
    unsigned rank = 0;
#if HOPPER
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
    return rank;
}
/* All threads of all blocks of the cluster pass the second only when all have come to the first. */
static __device__ inline void cluster_arrive(void)
{
#if HOPPER
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
#endif
}
static __device__ inline void cluster_wait(void)
{
#if HOPPER
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
#endif
}

/* Barriers that were made are seen by copies and by the other blocks, after the cluster has met. */
static __device__ inline void barriers_made(void)
{
#if HOPPER
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}
/* Arrives, and lets the phase wait for so many bytes besides. */
static __device__ inline void barrier_expect(uint64_t *b, unsigned bytes)
{
#if HOPPER
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_at(b)), "r"(bytes) : "memory");
#endif
}
/* Arrives at the barrier that lies at the same place in block `rank` of the cluster. */
static __device__ inline void barrier_arrive_at(uint64_t *b, unsigned rank)
{
#if HOPPER
    asm volatile("{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
                 "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n}\n" ::"r"(shared_at(b)),
                 "r"(rank)
                 : "memory");
#endif
}

/* A multiple of 16 bytes; the second form into the same place of all blocks in `blocks`, where it counts on each one's
 * barrier. */
static __device__ inline void copy_bulk(uint32_t shared, const void *global, unsigned bytes, uint64_t *b)
{
#if HOPPER
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared),
        "l"(global), "r"(bytes), "r"(shared_at(b))
        : "memory");
#endif
}
static __device__ inline void copy_bulk_to(uint32_t shared, const void *global, unsigned bytes, uint64_t *b,
                                           unsigned blocks)
{
#if HOPPER
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], "
        "%4;" ::"r"(shared),
        "l"(global), "r"(bytes), "r"(shared_at(b)), "h"((uint16_t)blocks)
        : "memory");
#endif
}
#endif
