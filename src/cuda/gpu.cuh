/* gpu.cuh - a GPU as a device: what all files in src/cuda share.
 *
 * A device object is one stream with its cuBLAS handle and one block of scratch memory. Primitives are launched and
 * return at once. What a kernel finds wrong (a singular matrix) it writes into `fault`; download and sync read that and
 * turn it into a sentence. Every file has one table function that enters its primitives for both real types. */
#ifndef CUDA_GPU_CUH
#define CUDA_GPU_CUH
#include <cstddef>
#include <cstdint>
#include <cublas_v2.h>
#include <cuda_runtime.h>
extern "C" {
#include "base/size.h"
#include "tensor/plugin.h"
}

enum { STAGES = 2, STAGE_BYTES = 8 << 20 };
/* Small uploads have many stages, so that a step's labels do not wait for the steps before it. */
enum { NOTES = 256, NOTE_BYTES = 64 << 10 };

struct dnn;
struct together;
struct collective;

struct gpu {
    plugin_fail fail;
    int number;
    int generation; /* of the GPU: the first number of its compute capability; 0 until it was asked */
    int processors; /* of the GPU, or CENTRA_GPU_PROCESSORS where that is fewer: work is then shared out as on a smaller one */
    const struct device *device; /* of which this is the state: its choice of maths, and whether results may vary */
    struct dnn *dnn;             /* NULL until a convolution needs cuDNN */
    struct gpu *beside;          /* owned: a second queue; NULL until it is wanted (beside.cu) */
    cudaEvent_t forked, joined;
    bool beside_busy;
    struct together *together; /* owned: steps as graphs; NULL until one is wanted (together.cu) */
    struct collective *collective; /* owned: sums over processes; NULL until they are wanted (collective.cu) */
    cudaStream_t stream;
    cublasHandle_t blas;
    void *blas_memory; /* its workspace: a fixed one keeps the results the same from run to run */
    struct block {
        void *memory;
        size_t bytes;
    } scratch, aside; /* grown on demand */
    unsigned long long *fault;      /* on the device: the least code of a fault since the last look */
    unsigned long long *fault_seen; /* pinned */
    unsigned *meet;                 /* on the device, [2]: where blocks of a kernel count; 0 between kernels */
    struct {                        /* pinned memory through which uploads go */
        void *memory;
        cudaEvent_t done;
    } stage[STAGES];
    int stage_next;
    char *notes; /* pinned, [NOTES, NOTE_BYTES] */
    cudaEvent_t note_done[NOTES];
    int note_next;
};

/* The state behind a device, with its GPU made the current one of this thread. */
struct gpu *gpu_enter(struct device *d);
/* The same for primitives that do not wait for the second queue; that queue, which waits for all that was called before. */
struct gpu *gpu_enter_beside(struct device *d);
status gpu_beside(struct gpu *g, struct gpu **out);
void gpu_join(struct gpu *g); /* the first queue waits for the second */
void gpu_beside_close(struct gpu *g);

/* Steps as graphs: a device's together_begin and together_end. To be called, with either queue, before anything that waits,
 * takes or gives back memory, or times kernels. */
status gpu_together_begin(struct device *d);
status gpu_together_end(struct device *d);
status gpu_disturb(struct gpu *g);
/* An upload as part of a recording; *done tells whether there is one with room for it. One that no recording could take
 * disturbs. */
status gpu_together_upload(struct gpu *g, void *to, const void *from_host, size_t bytes, bool *done);
void gpu_together_close(struct gpu *g);

/* Offers sums over processes, where the build has NCCL. */
void gpu_collective_offer(struct device *d);
void gpu_collective_close(struct gpu *g);

/* Whether the GPU is one of Hopper's, for which there is code with that generation's own instructions. */
bool gpu_is_hopper(struct gpu *g);
/* A sentence for an error of the runtime or of cuBLAS. */
status gpu_failed(struct gpu *g, cudaError_t e, const char *what);
status gpu_blas_failed(struct gpu *g, cublasStatus_t e, const char *what);
/* At least `bytes`, contents undefined, valid until the next request. */
status gpu_scratch(struct gpu *g, size_t bytes, void **out);
/* A second such block, for a result that outlasts calls which use the first. */
status gpu_aside(struct gpu *g, size_t bytes, void **out);

#define GPU_TRY(g, call) \
    do { \
        const cudaError_t e_ = (call); \
        if (e_ != cudaSuccess) return gpu_failed(g, e_, #call); \
    } while (0)
#define BLAS_TRY(g, call) \
    do { \
        const cublasStatus_t e_ = (call); \
        if (e_ != CUBLAS_STATUS_SUCCESS) return gpu_blas_failed(g, e_, #call); \
    } while (0)
#define PASS(call) \
    do { \
        const status st_ = (call); \
        if (st_ != OK) return st_; \
    } while (0)
/* After a launch: was it possible at all? */
#define LAUNCHED(g, what) gpu_launched(g, what)
static inline status gpu_launched(struct gpu *g, const char *what)
{
    const cudaError_t e = cudaGetLastError();
    return e == cudaSuccess ? OK : gpu_failed(g, e, what);
}

/* Faults, the worse first: the code is this, then the number of the matrix, then the pivot. */
enum fault_kind { FAULT_SINGULAR, FAULT_NOT_DEFINITE, FAULT_WALK, FAULT_TRANSPORT };
static __device__ inline void fault_report(unsigned long long *fault, enum fault_kind kind, size_t matrix, size_t pivot)
{
    atomicMin(fault, (unsigned long long)kind << 56 | (unsigned long long)(matrix & 0xffffffff) << 24 |
                         (unsigned long long)(pivot & 0xffffff));
}

static inline size_t span_of(const tensor *x, int from, int to)
{
    size_t n = 1;
    for (int i = from; i < to; i++) n *= x->dim[i];
    return n;
}
static inline size_t count_of(const tensor *x) { return span_of(x, 0, x->rank); }
template <typename real> static inline real *reals(const tensor *x) { return x ? (real *)x->data : NULL; }
static inline int *ints(const tensor *x) { return (int *)x->data; }

/* Hands out pieces of one block of scratch; with `at` NULL it only adds up how much is needed. */
struct cursor {
    char *at;
    size_t bytes;
};
template <typename T> static inline T *cursor_take(struct cursor *c, size_t count)
{
    T *p = c->at ? (T *)(void *)(c->at + c->bytes) : NULL;
    c->bytes += size_round_up(count * sizeof(T), 256);
    return p;
}

/* f(i) for every i in [0, n). */
enum { THREADS = 256, MOST_BLOCKS = 1 << 16 };
template <typename F> __global__ void each_kernel(size_t n, F f)
{
    const size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) f(i);
}
template <typename F> static status each(struct gpu *g, size_t n, F f)
{
    if (n == 0) return OK;
    const unsigned blocks = (unsigned)size_min(size_div_up(n, THREADS), MOST_BLOCKS);
    each_kernel<<<blocks, THREADS, 0, g->stream>>>(n, f);
    return LAUNCHED(g, "an elementwise kernel");
}

/* A tensor seen as a batch of row-major matrices; a batch of one serves all. */
template <typename real> struct matrices {
    real *data; /* [batch, rows, columns] */
    size_t batch, rows, columns;
    __host__ __device__ real *at(size_t i) const { return data + (batch == 1 ? 0 : i * rows * columns); }
};
template <typename real> static inline struct matrices<real> matrices_of(const tensor *x)
{
    return {reals<real>(x), span_of(x, 0, x->rank - 2), x->dim[x->rank - 2], x->dim[x->rank - 1]};
}

/* c [m, n] = alpha op(a) op(b) + beta c, row-major, `batch` of them `step` numbers apart; gemm.cu */
template <typename real> struct product {
    bool ta, tb;
    size_t m, n, depth, batch;
    const real *a, *b;
    real *c;
    size_t a_row, b_row, c_row;    /* numbers between rows, as they lie */
    size_t a_step, b_step, c_step; /* between matrices; 0: one serves all */
    double alpha, beta;
};
template <typename real> status product_run(struct gpu *g, const struct product<real> *p);

/* Each file's primitives, entered in the tables of both types. */
typedef void gpu_table(struct prims p[DT_REALS]);
gpu_table table_elementwise, table_affine, table_reduce, table_softmax, table_pick, table_moving, table_pool,
    table_classes, table_distance, table_batch, table_gemm, table_conv, table_factor, table_solve, table_qr, table_walk,
    table_optimise, table_norm_act_pool, table_pictures_crop, table_pictures_resize, table_tally, table_channels,
    table_transport, table_depthwise, table_class_distance, table_nearest, table_reconstruct;
#endif
