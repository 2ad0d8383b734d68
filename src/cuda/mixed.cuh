/* mixed.cuh - networks whose maps are bf16 beside parameters in f32: what the f32 table hands on when it is given such
 * maps. Shapes were checked by the op. */
#ifndef CUDA_MIXED_CUH
#define CUDA_MIXED_CUH
#include "cuda/gpu.cuh"

static inline bool is_half(const tensor *x) { return x->type == DT_BF16; }

/* norm_half.cu */
status stats_half(struct gpu *g, const tensor *x, tensor *mean, tensor *variance);
status norm_half(struct gpu *g, const struct norm_act_args *a, tensor *y);
status norm_half_grad(struct gpu *g, const struct norm_act_args *a, bool batch, const tensor *dy,
                      const struct norm_act_grads *to);

/* conv_half.cu; with MATHS_TF32 the maps are f32 */
status conv_half(struct gpu *g, const tensor *x, const tensor *w, const struct conv_ready *ready, struct conv_shape s,
                 tensor *y);
status conv_half_affine(struct gpu *g, const struct conv_affine_args *a, tensor *y);
status conv_half_prepare(struct gpu *g, const tensor *x, const tensor *w, struct conv_shape s, struct conv_ready *out);
status conv_half_grad_x(struct gpu *g, const tensor *w, const struct conv_ready *ready, const tensor *dy,
                        struct conv_shape s, bool add, tensor *dx);
status conv_half_grad_w(struct gpu *g, const tensor *x, const tensor *dy, struct conv_shape s, tensor *dw);

/* affine_pool.cu: the rest of a pooled conv2d_affine, from its map of the full size. */
status affine_pool(struct gpu *g, const struct conv_affine_args *a, const tensor *whole, tensor *y);

/* conv_first.cu: layers over pictures, 3 channels in, filters of 1 or 3 pixels, stride 1, the map keeps its size. */
bool first_serves(const tensor *x, const tensor *w, struct conv_shape s);
struct conv_after { /* y = leaky_relu(conv * scale + shift), with `pool` the largest of each 2 x 2 square of that */
    const float *scale, *shift;
    float low;
    bool pool;
};
status first_conv(struct gpu *g, const tensor *x, const tensor *w, const struct conv_after *after, tensor *y); /* NULL: none */
status first_grad_w(struct gpu *g, const tensor *x, const tensor *dy, tensor *dw);

/* conv_64.cu: 3x3 over 64 channels in and out, stride 1, the map keeps its size; many pixels, on Hopper. No pooling. */
bool conv_64_serves(struct gpu *g, const tensor *x, const tensor *w, struct conv_shape s);
status conv_64(struct gpu *g, const tensor *x, const tensor *w, const struct conv_after *after, tensor *y);
status conv_64_grad_x(struct gpu *g, const tensor *w, const tensor *dy, tensor *dx); /* overwrites dx */
#endif
