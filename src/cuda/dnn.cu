/* dnn.cu - plans of cuDNN's graph interface: made once a shape, tried, kept. */
#include "cuda/dnn.cuh"
#ifndef CENTRA_HAVE_CUDNN
bool dnn_built(void) { return false; }
status dnn_open(struct gpu *g, struct dnn **out)
{
    (void)out;
    return g->fail(ST_UNSUPPORTED, "this build has no cuDNN, which tf32 and bf16 need; use f32");
}
void dnn_close(struct dnn *d) { (void)d; }
status dnn_run(struct gpu *g, const struct dnn_shape *s, void *x, void *w, void *y)
{
    (void)s, (void)x, (void)w, (void)y;
    return dnn_open(g, NULL);
}
#else
#include <cstdlib>
#include <cstring>
#include <cudnn.h>

enum { MOST_PLANS = 1024, PROPOSALS = 16, TRIED = 12, TRIAL_RUNS = 3, TENSORS = 3 };
static const size_t MOST_WORKSPACE = (size_t)1 << 30;
static const int64_t IDS[TENSORS] = {1, 2, 3}; /* x, w, y */

bool dnn_built(void) { return true; }

struct plan {
    struct dnn_shape shape;
    cudnnBackendDescriptor_t plan;
    size_t workspace;
};

struct dnn {
    cudnnHandle_t handle;
    struct plan plans[MOST_PLANS];
    size_t count;
    void *workspace;
    size_t workspace_bytes;
    cudaEvent_t begin, end;
};

static status failed(struct gpu *g, cudnnStatus_t e, const char *what)
{
    return g->fail(e == CUDNN_STATUS_ALLOC_FAILED ? ST_MEMORY : ST_IO, "device cuda:%d failed: cuDNN: %s (%s)",
                   g->number, cudnnGetErrorString(e), what);
}
#define DNN_TRY(g, call) \
    do { \
        const cudnnStatus_t e_ = (call); \
        if (e_ != CUDNN_STATUS_SUCCESS) return failed(g, e_, #call); \
    } while (0)

status dnn_open(struct gpu *g, struct dnn **out)
{
    PASS(gpu_disturb(g));
    struct dnn *d = (struct dnn *)calloc(1, sizeof *d);
    if (!d) return g->fail(ST_MEMORY, "no memory for cuDNN");
    *out = d;
    DNN_TRY(g, cudnnCreate(&d->handle));
    DNN_TRY(g, cudnnSetStream(d->handle, g->stream));
    GPU_TRY(g, cudaEventCreate(&d->begin));
    GPU_TRY(g, cudaEventCreate(&d->end));
    return OK;
}

void dnn_close(struct dnn *d)
{
    if (!d) return;
    for (size_t i = 0; i < d->count; i++) (void)cudnnBackendDestroyDescriptor(d->plans[i].plan);
    if (d->begin) (void)cudaEventDestroy(d->begin);
    if (d->end) (void)cudaEventDestroy(d->end);
    if (d->handle) (void)cudnnDestroy(d->handle);
    (void)cudaFree(d->workspace);
    free(d);
}

/* Descriptors, all destroyed together. */

struct made {
    cudnnBackendDescriptor_t all[64];
    int count;
    cudnnStatus_t error;
};

static cudnnBackendDescriptor_t make(struct made *m, cudnnBackendDescriptorType_t type)
{
    cudnnBackendDescriptor_t d = NULL;
    if (m->error != CUDNN_STATUS_SUCCESS) return NULL;
    m->error = cudnnBackendCreateDescriptor(type, &d);
    if (m->error == CUDNN_STATUS_SUCCESS) m->all[m->count++] = d;
    return d;
}
static void set(struct made *m, cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                cudnnBackendAttributeType_t type, int64_t count, const void *values)
{
    if (m->error == CUDNN_STATUS_SUCCESS) m->error = cudnnBackendSetAttribute(d, name, type, count, values);
}
static void finish(struct made *m, cudnnBackendDescriptor_t d)
{
    if (m->error == CUDNN_STATUS_SUCCESS) m->error = cudnnBackendFinalize(d);
}
static void destroy(struct made *m)
{
    while (m->count) (void)cudnnBackendDestroyDescriptor(m->all[--m->count]);
}

/* A tensor [a, c, b0, b1] that lies channels-last. */
static cudnnBackendDescriptor_t tensor_of(struct made *m, int64_t id, cudnnDataType_t type, int64_t a, int64_t c,
                                          int64_t b0, int64_t b1)
{
    const int64_t dim[4] = {a, c, b0, b1}, stride[4] = {b0 * b1 * c, 1, b1 * c, c}, alignment = 16;
    cudnnBackendDescriptor_t t = make(m, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    set(m, t, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    set(m, t, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dim);
    set(m, t, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, stride);
    set(m, t, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id);
    set(m, t, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
    finish(m, t);
    return t;
}

static cudnnBackendDescriptor_t convolution_of(struct made *m, const struct dnn_shape *s)
{
    const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    const int64_t two = 2, dilation[2] = {1, 1}, stride[2] = {s->stride, s->stride}, pad[2] = {s->pad, s->pad};
    cudnnBackendDescriptor_t c = make(m, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    set(m, c, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &two);
    set(m, c, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute);
    set(m, c, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
    set(m, c, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, pad);
    set(m, c, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, pad);
    set(m, c, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, dilation);
    set(m, c, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, stride);
    finish(m, c);
    return c;
}

/* The attributes of the three kinds of convolution, in the order conv, x, w, y, alpha, beta. */
static const struct {
    cudnnBackendDescriptorType_t type;
    cudnnBackendAttributeName_t of[6];
} KINDS[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA}},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
     {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA}},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA}},
};

static cudnnBackendDescriptor_t graph_of(struct made *m, cudnnHandle_t handle, const struct dnn_shape *s)
{
    const cudnnDataType_t type = s->half ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
    const float one = 1, zero = 0;
    cudnnBackendDescriptor_t x = tensor_of(m, IDS[0], type, s->n, s->in, s->h, s->w);
    cudnnBackendDescriptor_t w = tensor_of(m, IDS[1], type, s->out, s->in, s->kh, s->kw);
    cudnnBackendDescriptor_t y = tensor_of(m, IDS[2], type, s->n, s->out, s->oh, s->ow);
    cudnnBackendDescriptor_t convolution = convolution_of(m, s), op = make(m, KINDS[s->kind].type);
    const cudnnBackendDescriptor_t parts[4] = {convolution, x, w, y};
    for (int i = 0; i < 4; i++) set(m, op, KINDS[s->kind].of[i], CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &parts[i]);
    set(m, op, KINDS[s->kind].of[4], CUDNN_TYPE_FLOAT, 1, &one);
    set(m, op, KINDS[s->kind].of[5], CUDNN_TYPE_FLOAT, 1, &zero);
    finish(m, op);
    cudnnBackendDescriptor_t graph = make(m, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    set(m, graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &op);
    set(m, graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
    finish(m, graph);
    return graph;
}

/* The library's proposals, the best first. */
static int propose(struct made *m, cudnnBackendDescriptor_t graph, cudnnBackendHeurMode_t mode,
                   cudnnBackendDescriptor_t out[PROPOSALS])
{
    int64_t count = 0;
    cudnnBackendDescriptor_t h = make(m, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    set(m, h, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph);
    set(m, h, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    finish(m, h);
    for (int i = 0; i < PROPOSALS; i++) out[i] = make(m, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    if (m->error == CUDNN_STATUS_SUCCESS)
        m->error = cudnnBackendGetAttribute(h, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, PROPOSALS,
                                            &count, out);
    return m->error == CUDNN_STATUS_SUCCESS ? (int)count : 0;
}

/* Whether results may differ from run to run. */
static bool varies(cudnnBackendDescriptor_t config)
{
    cudnnBackendDescriptor_t engine = NULL;
    cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    int64_t count = 0, one = 0;
    bool yes = true;
    if (cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine) != CUDNN_STATUS_SUCCESS) return true;
    if (cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &one, &engine) ==
            CUDNN_STATUS_SUCCESS &&
        cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                 CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, notes) == CUDNN_STATUS_SUCCESS) {
        yes = false;
        for (int64_t i = 0; i < count; i++) yes |= notes[i] == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
    }
    (void)cudnnBackendDestroyDescriptor(engine);
    return yes;
}

/* NULL when the engine does not serve, or wants too much memory. */
static cudnnBackendDescriptor_t plan_of(cudnnHandle_t handle, cudnnBackendDescriptor_t config, size_t *workspace)
{
    cudnnBackendDescriptor_t p = NULL;
    int64_t bytes = 0, one = 0;
    if (cudnnBackendCreateDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &p) != CUDNN_STATUS_SUCCESS) return NULL;
    if (cudnnBackendSetAttribute(p, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle) ==
            CUDNN_STATUS_SUCCESS &&
        cudnnBackendSetAttribute(p, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                                 &config) == CUDNN_STATUS_SUCCESS &&
        cudnnBackendFinalize(p) == CUDNN_STATUS_SUCCESS &&
        cudnnBackendGetAttribute(p, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &one, &bytes) ==
            CUDNN_STATUS_SUCCESS &&
        (size_t)bytes <= MOST_WORKSPACE) {
        *workspace = (size_t)bytes;
        return p;
    }
    (void)cudnnBackendDestroyDescriptor(p);
    return NULL;
}

static status reserve(struct gpu *g, struct dnn *d, size_t bytes)
{
    if (bytes <= d->workspace_bytes) return OK;
    GPU_TRY(g, cudaStreamSynchronize(g->stream));
    GPU_TRY(g, cudaFree(d->workspace));
    d->workspace = NULL;
    d->workspace_bytes = 0;
    GPU_TRY(g, cudaMalloc(&d->workspace, bytes));
    d->workspace_bytes = bytes;
    return OK;
}

static cudnnStatus_t execute(struct dnn *d, cudnnBackendDescriptor_t plan, void *const data[TENSORS])
{
    struct made m = {};
    cudnnBackendDescriptor_t pack = make(&m, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    set(&m, pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, TENSORS, IDS);
    set(&m, pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, TENSORS, data);
    set(&m, pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &d->workspace);
    finish(&m, pack);
    if (m.error == CUDNN_STATUS_SUCCESS) m.error = cudnnBackendExecute(d->handle, plan, pack);
    destroy(&m);
    return m.error;
}

/* Milliseconds of one run; a large number when it fails. */
static float time_plan(struct gpu *g, struct dnn *d, cudnnBackendDescriptor_t plan, void *const data[TENSORS])
{
    float ms = 1e30f;
    if (execute(d, plan, data) != CUDNN_STATUS_SUCCESS) return ms;
    (void)cudaEventRecord(d->begin, g->stream);
    for (int i = 0; i < TRIAL_RUNS; i++)
        if (execute(d, plan, data) != CUDNN_STATUS_SUCCESS) return ms;
    (void)cudaEventRecord(d->end, g->stream);
    if (cudaEventSynchronize(d->end) != cudaSuccess || cudaEventElapsedTime(&ms, d->begin, d->end) != cudaSuccess) {
        (void)cudaGetLastError();
        return 1e30f;
    }
    return ms / TRIAL_RUNS;
}

/* Tries proposals until TRIED of them ran, and leaves the fastest in *out. */
static status choose(struct gpu *g, struct dnn *d, cudnnBackendDescriptor_t *configs, int count,
                     void *const data[TENSORS], struct plan *out)
{
    float best = 1e30f;
    GPU_TRY(g, cudaDeviceSynchronize()); /* another queue would disturb the clock */
    for (int i = 0, tried = 0; i < count && tried < (g->device->deterministic ? 1 : TRIED); i++) {
        size_t workspace = 0;
        if (g->device->deterministic && varies(configs[i])) continue;
        cudnnBackendDescriptor_t p = plan_of(d->handle, configs[i], &workspace);
        if (!p) continue;
        PASS(reserve(g, d, workspace));
        const float ms = time_plan(g, d, p, data);
        if (ms < 1e30f) tried++;
        if (ms < best) {
            if (out->plan) (void)cudnnBackendDestroyDescriptor(out->plan);
            out->plan = p;
            out->workspace = workspace;
            best = ms;
        } else {
            (void)cudnnBackendDestroyDescriptor(p);
        }
    }
    return OK;
}

static status prepare(struct gpu *g, struct dnn *d, const struct dnn_shape *s, void *const data[TENSORS],
                      struct plan **out)
{
    static const cudnnBackendHeurMode_t modes[] = {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK};
    struct plan p = {*s, NULL, 0};
    PASS(gpu_disturb(g));
    if (d->count == MOST_PLANS) return g->fail(ST_UNSUPPORTED, "more than %d shapes of convolutions", (int)MOST_PLANS);
    for (int i = 0; i < 2 && !p.plan; i++) {
        struct made m = {};
        cudnnBackendDescriptor_t configs[PROPOSALS];
        cudnnBackendDescriptor_t graph = graph_of(&m, d->handle, s);
        const int count = propose(&m, graph, modes[i], configs);
        const status st = choose(g, d, configs, count, data, &p);
        destroy(&m);
        if (st != OK) return st;
    }
    if (!p.plan)
        return g->fail(ST_UNSUPPORTED, "cuDNN has no convolution %lld -> %lld of %lldx%lld over %lldx%lld in %s; use f32",
                       (long long)s->in, (long long)s->out, (long long)s->kh, (long long)s->kw, (long long)s->h,
                       (long long)s->w, s->half ? "bf16" : "tf32");
    d->plans[d->count] = p;
    *out = &d->plans[d->count++];
    return OK;
}

status dnn_run(struct gpu *g, const struct dnn_shape *s, void *x, void *w, void *y)
{
    void *const data[TENSORS] = {x, w, y};
    struct plan *p = NULL;
    if (!g->dnn) PASS(dnn_open(g, &g->dnn));
    struct dnn *d = g->dnn;
    for (size_t i = 0; i < d->count && !p; i++)
        if (!memcmp(&d->plans[i].shape, s, sizeof *s)) p = &d->plans[i];
    if (!p) PASS(prepare(g, d, s, data, &p));
    DNN_TRY(g, execute(d, p->plan, data));
    return OK;
}
#endif
