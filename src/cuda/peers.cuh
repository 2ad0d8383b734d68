/* peers.cuh - blocks of threads that form a cluster and read each other's shared memory. One block alone is a cluster too,
 * and on chips before Hopper the only one. */
#ifndef CUDA_PEERS_CUH
#define CUDA_PEERS_CUH
#include <cooperative_groups.h>

/* All threads of all peers have come here, and what they wrote to shared memory is visible. */
static __device__ inline void peers_meet(int peers)
{
#if __CUDA_ARCH__ >= 900
    if (peers > 1) {
        cooperative_groups::this_cluster().sync();
        return;
    }
#endif
    __syncthreads();
}

/* The same place in the shared memory of a peer. */
template <typename T> static __device__ inline T *peer_of(T *own, int rank, int peers)
{
#if __CUDA_ARCH__ >= 900
    if (peers > 1) return cooperative_groups::this_cluster().map_shared_rank(own, (unsigned)rank);
#endif
    return own;
}
#endif
