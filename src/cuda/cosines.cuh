/* cosines.cuh - cosines of all features of some maps with all features of others, by one product of halves. */
#ifndef CUDA_COSINES_CUH
#define CUDA_COSINES_CUH
#include "cuda/units.cuh"

struct cosines {
    const float *support, *query; /* [ns, channels, rs], [nq, channels, rq] */
    size_t ns, rs, nq, rq, channels;
    bool among; /* those of the support's features with each other too */
    /* results, in scratch memory */
    float *phi;                              /* [nq * rq, row]; `among`: then [ns * rs, row] */
    size_t row;                              /* ns * rs rounded up; what lies beyond ns * rs has no meaning */
    float *support_inverse, *query_inverse; /* 1 / norm of each feature; 0: shorter than 1e-12, its cosines are 0 */
    __half *support_halves, *query_halves, *again;
    float *unused;
};

/* The tensors as they come, with a part of the queries: `queries` of them at most, so that memory stays bounded. Fails where
 * one query is too much already. */
status cosines_make(struct gpu *g, const tensor *support, const tensor *query, bool among, struct cosines *out,
                    size_t *queries);
/* Takes its memory from the cursor; the results' addresses, and at last the results. */
void cosines_lay(struct cosines *c, struct cursor *memory);
status cosines_run(struct gpu *g, const struct cosines *c);
#endif
