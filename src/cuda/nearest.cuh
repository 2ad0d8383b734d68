/* nearest.cuh - deep nearest neighbours on Hopper: the product and the search in one kernel (nearest_hopper.cu). */
#ifndef CUDA_NEAREST_CUH
#define CUDA_NEAREST_CUH
#include "cuda/cosines.cuh"

/* Whether that way takes these; of `c` only the shapes and the maps count. */
bool nearest_hopper_serves(struct gpu *g, const struct nearest_args *a, const struct cosines *c);
status nearest_hopper(struct gpu *g, const struct nearest_args *a, const struct cosines *c,
                      float *y); /* [nq, groups] */
#endif
