/* walk_ways.cuh - the quick way through the mutual walk, for walk.cu to try first. */
#ifndef CUDA_WALK_WAYS_CUH
#define CUDA_WALK_WAYS_CUH
#include "cuda/gpu.cuh"

/* Does the whole episode in single precision if it is one of those that can be done so, and says in *done whether it has:
 * the solver is left open, neither sharpness is above 40 and alpha not above 0.9995, maps have up to 160 locations and one
 * query's matrices fit into the shared memory of eight processors. */
status walk_f32_episode(struct gpu *g, const struct walk_args *a, bool *done);
#endif
