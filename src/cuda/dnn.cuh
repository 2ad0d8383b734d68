/* dnn.cuh - convolutions by cuDNN: channels-last maps and filters in bf16, or in f32 with TF32 products.
 *
 * For each shape the library proposes several ways; the first call tries the best of them on the data at hand and keeps
 * the fastest, or where results must not vary the first that always adds in the same order. Without cuDNN in the build there is
 * no such convolution and dnn_open says so. */
#ifndef CUDA_DNN_CUH
#define CUDA_DNN_CUH
#include "cuda/gpu.cuh"

enum dnn_kind { DNN_FORWARD, DNN_DATA, DNN_FILTER };

struct dnn_shape {
    int64_t n, h, w, in;  /* of the map */
    int64_t oh, ow, out;  /* of the result */
    int64_t kh, kw, stride, pad;
    int64_t kind; /* enum dnn_kind */
    int64_t half; /* bf16, else f32 */
};

struct dnn;
bool dnn_built(void); /* whether this build has cuDNN */
status dnn_open(struct gpu *g, struct dnn **out);
void dnn_close(struct dnn *d);
/* x [n, h, w, in], w [out, kh, kw, in], y [n, oh, ow, out]: the one that `kind` asks for is overwritten. */
status dnn_run(struct gpu *g, const struct dnn_shape *s, void *x, void *w, void *y);
#endif
