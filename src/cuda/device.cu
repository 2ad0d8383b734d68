/* device.cu - the GPU's memory, its queue, and what is reported when it is waited for; the plug-in's one symbol. */
#include "cuda/dnn.cuh"
#include <cstdio>
#include <cstdlib>
#include <cstring>

enum { BLAS_BYTES = 32 << 20 };
static const unsigned long long NO_FAULT = ~0ull;

bool gpu_is_hopper(struct gpu *g)
{
    if (!g->generation) {
        int major = 0;
        if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, g->number) != cudaSuccess) return false;
        g->generation = major;
    }
    return g->generation == 9;
}

status gpu_failed(struct gpu *g, cudaError_t e, const char *what)
{
    (void)cudaGetLastError(); /* an error that can be got over is not met again by the next call */
    if (e == cudaErrorMemoryAllocation)
        return g->fail(ST_MEMORY, "no memory on device cuda:%d (%s)", g->number, what);
    return g->fail(ST_IO, "device cuda:%d failed: %s (%s)", g->number, cudaGetErrorString(e), what);
}

status gpu_blas_failed(struct gpu *g, cublasStatus_t e, const char *what)
{
    return g->fail(e == CUBLAS_STATUS_ALLOC_FAILED ? ST_MEMORY : ST_IO, "device cuda:%d failed: cuBLAS: %s (%s)",
                   g->number, cublasGetStatusString(e), what);
}

static status block_take(struct gpu *g, struct gpu::block *b, size_t bytes, void **out)
{
    if (bytes > b->bytes) {
        const size_t wanted = size_max(bytes, b->bytes + b->bytes / 2);
        PASS(gpu_disturb(g));
        GPU_TRY(g, cudaStreamSynchronize(g->stream));
        GPU_TRY(g, cudaFree(b->memory));
        *b = {NULL, 0};
        GPU_TRY(g, cudaMalloc(&b->memory, wanted));
        b->bytes = wanted;
    }
    *out = b->memory;
    return OK;
}

status gpu_scratch(struct gpu *g, size_t bytes, void **out) { return block_take(g, &g->scratch, bytes, out); }
status gpu_aside(struct gpu *g, size_t bytes, void **out) { return block_take(g, &g->aside, bytes, out); }

static status gpu_alloc(struct device *d, size_t bytes, void **out)
{
    struct gpu *g = gpu_enter(d);
    PASS(gpu_disturb(g));
    GPU_TRY(g, cudaMalloc(out, size_max(bytes, 1)));
    return OK;
}

/* Waits for the queue, which may still use the memory. */
static void gpu_release(struct device *d, void *memory)
{
    struct gpu *g = gpu_enter(d);
    (void)gpu_disturb(g);
    (void)cudaStreamSynchronize(g->stream);
    (void)cudaFree(memory);
}

static status upload_note(struct gpu *g, void *to, const void *from_host, size_t bytes)
{
    const int s = g->note_next;
    char *note = g->notes + (size_t)s * NOTE_BYTES;
    g->note_next = (s + 1) % NOTES;
    GPU_TRY(g, cudaEventSynchronize(g->note_done[s]));
    memcpy(note, from_host, bytes);
    GPU_TRY(g, cudaMemcpyAsync(to, note, bytes, cudaMemcpyHostToDevice, g->stream));
    GPU_TRY(g, cudaEventRecord(g->note_done[s], g->stream));
    return OK;
}

/* Through pinned memory, so that the caller has its array back while the copy is still under way. */
static status gpu_upload(struct device *d, void *to, const void *from_host, size_t bytes)
{
    struct gpu *g = gpu_enter(d);
    bool recorded = false;
    PASS(gpu_together_upload(g, to, from_host, bytes, &recorded));
    if (recorded) return OK;
    if (bytes && bytes <= NOTE_BYTES) return upload_note(g, to, from_host, bytes);
    for (size_t at = 0; at < bytes; at += STAGE_BYTES) {
        const size_t part = size_min(STAGE_BYTES, bytes - at);
        const int s = g->stage_next;
        g->stage_next = (s + 1) % STAGES;
        GPU_TRY(g, cudaEventSynchronize(g->stage[s].done));
        memcpy(g->stage[s].memory, (const char *)from_host + at, part);
        GPU_TRY(g, cudaMemcpyAsync((char *)to + at, g->stage[s].memory, part, cudaMemcpyHostToDevice, g->stream));
        GPU_TRY(g, cudaEventRecord(g->stage[s].done, g->stream));
    }
    return OK;
}

/* Waits, and says what the kernels found wrong since the last time. */
static status gpu_wait(struct gpu *g)
{
    static const char *const sentences[] = {"matrix %zu of the batch is singular (pivot %zu)",
                                            "matrix %zu of the batch is not positive definite (pivot %zu)",
                                            "the walk of query %zu has no solution (pivot %zu vanishes)",
                                            "transport problem %zu of the batch has costs or weights that are not finite"};
    PASS(gpu_disturb(g));
    GPU_TRY(g, cudaMemcpyAsync(g->fault_seen, g->fault, sizeof *g->fault, cudaMemcpyDeviceToHost, g->stream));
    GPU_TRY(g, cudaStreamSynchronize(g->stream));
    const unsigned long long code = *g->fault_seen;
    if (code == NO_FAULT) return OK;
    GPU_TRY(g, cudaMemsetAsync(g->fault, 0xff, sizeof *g->fault, g->stream));
    return g->fail(ST_NUMERIC, sentences[code >> 56], (size_t)(code >> 24 & 0xffffffff), (size_t)(code & 0xffffff));
}

static status gpu_download(struct device *d, void *to_host, const void *from, size_t bytes)
{
    struct gpu *g = gpu_enter(d);
    PASS(gpu_disturb(g));
    if (bytes) GPU_TRY(g, cudaMemcpyAsync(to_host, from, bytes, cudaMemcpyDeviceToHost, g->stream));
    return gpu_wait(g);
}

static status gpu_copy(struct device *d, void *to, const void *from, size_t bytes)
{
    struct gpu *g = gpu_enter(d);
    if (bytes) GPU_TRY(g, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, g->stream));
    return OK;
}

static status gpu_zero(struct device *d, void *memory, size_t bytes)
{
    struct gpu *g = gpu_enter(d);
    if (bytes) GPU_TRY(g, cudaMemsetAsync(memory, 0, bytes, g->stream));
    return OK;
}

static status gpu_room(struct device *d, size_t *bytes)
{
    struct gpu *g = gpu_enter(d);
    size_t all;
    GPU_TRY(g, cudaMemGetInfo(bytes, &all));
    return OK;
}

static status gpu_sync(struct device *d) { return gpu_wait(gpu_enter(d)); }

static void gpu_close(struct device *d)
{
    struct gpu *g = gpu_enter(d);
    if (g->stream) (void)cudaStreamSynchronize(g->stream);
    gpu_collective_close(g);
    gpu_together_close(g);
    gpu_beside_close(g);
    dnn_close(g->dnn);
    if (g->blas) (void)cublasDestroy(g->blas);
    for (int i = 0; i < STAGES; i++) {
        if (g->stage[i].done) (void)cudaEventDestroy(g->stage[i].done);
        (void)cudaFreeHost(g->stage[i].memory);
    }
    for (int i = 0; i < NOTES; i++)
        if (g->note_done[i]) (void)cudaEventDestroy(g->note_done[i]);
    (void)cudaFreeHost(g->notes);
    (void)cudaFree(g->blas_memory);
    (void)cudaFree(g->scratch.memory);
    (void)cudaFree(g->aside.memory);
    (void)cudaFree(g->fault);
    (void)cudaFree(g->meet);
    (void)cudaFreeHost(g->fault_seen);
    if (g->stream) (void)cudaStreamDestroy(g->stream);
    free(g);
    free(d);
}

static status count_processors(struct gpu *g)
{
    const char *asked = getenv("CENTRA_GPU_PROCESSORS");
    const long fewer = asked ? strtol(asked, NULL, 10) : 0;
    GPU_TRY(g, cudaDeviceGetAttribute(&g->processors, cudaDevAttrMultiProcessorCount, g->number));
    if (fewer > 0 && fewer < g->processors) g->processors = (int)fewer;
    return OK;
}

/* Stream, cuBLAS in plain single precision, and the small blocks of memory. */
static status prepare(struct gpu *g)
{
    GPU_TRY(g, cudaSetDevice(g->number));
    PASS(count_processors(g));
    GPU_TRY(g, cudaStreamCreateWithFlags(&g->stream, cudaStreamNonBlocking));
    GPU_TRY(g, cudaMalloc(&g->blas_memory, BLAS_BYTES));
    GPU_TRY(g, cudaMalloc((void **)&g->fault, sizeof *g->fault));
    GPU_TRY(g, cudaMallocHost((void **)&g->fault_seen, sizeof *g->fault_seen));
    GPU_TRY(g, cudaMemsetAsync(g->fault, 0xff, sizeof *g->fault, g->stream));
    GPU_TRY(g, cudaMalloc((void **)&g->meet, 2 * sizeof *g->meet));
    GPU_TRY(g, cudaMemsetAsync(g->meet, 0, 2 * sizeof *g->meet, g->stream));
    for (int i = 0; i < STAGES; i++) {
        GPU_TRY(g, cudaMallocHost(&g->stage[i].memory, STAGE_BYTES));
        GPU_TRY(g, cudaEventCreateWithFlags(&g->stage[i].done, cudaEventDisableTiming));
    }
    GPU_TRY(g, cudaMallocHost((void **)&g->notes, (size_t)NOTES * NOTE_BYTES));
    for (int i = 0; i < NOTES; i++)
        GPU_TRY(g, cudaEventCreateWithFlags(&g->note_done[i], cudaEventDisableTiming));
    BLAS_TRY(g, cublasCreate(&g->blas));
    BLAS_TRY(g, cublasSetStream(g->blas, g->stream));
    BLAS_TRY(g, cublasSetWorkspace(g->blas, g->blas_memory, BLAS_BYTES));
    BLAS_TRY(g, cublasSetMathMode(g->blas, CUBLAS_PEDANTIC_MATH));
    return OK;
}

static void fill_tables(struct device *d)
{
    static gpu_table *const tables[] = {table_elementwise, table_affine,  table_reduce,   table_softmax, table_pick,
                                        table_moving,      table_pool,    table_classes,  table_distance, table_batch,
                                        table_gemm,        table_conv,    table_factor,   table_solve,   table_qr,
                                        table_walk,        table_optimise, table_norm_act_pool, table_pictures_crop,
                                        table_pictures_resize, table_tally, table_channels, table_transport,
                                        table_depthwise, table_class_distance, table_nearest, table_reconstruct};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) tables[i](d->prim);
}

/* With a fifth of an H200's processors cuBLAS 13.0 was seen to leave parts of products of halves unwritten; with half of them
 * it was right. MPS has other ways to give a process a share, and those cannot be seen from here. */
static status refuse_share(plugin_fail fail)
{
    const char *share = getenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
    if (!share || strtod(share, NULL) >= 100) return OK;
    return fail(ST_UNSUPPORTED,
                "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE is '%.16s', but with a share of a GPU cuBLAS leaves parts of results "
                "unwritten; unset it, or use cpu",
                share);
}

static status find(plugin_fail fail, int number)
{
    int count = 0;
    PASS(refuse_share(fail));
    const cudaError_t e = cudaGetDeviceCount(&count);
    if (e != cudaSuccess || count == 0) {
        (void)cudaGetLastError();
        return fail(ST_UNSUPPORTED, "device 'cuda:%d' is not there: %s; use cpu", number,
                    e == cudaSuccess ? "no GPU was found" : cudaGetErrorString(e));
    }
    if (number >= count)
        return fail(ST_UNSUPPORTED, "there is no device 'cuda:%d'; this machine has cuda:0 to cuda:%d", number, count - 1);
    return OK;
}

static status gpu_open(plugin_fail fail, int number, struct device **out)
{
    PASS(find(fail, number));
    struct device *d = (struct device *)calloc(1, sizeof *d);
    struct gpu *g = (struct gpu *)calloc(1, sizeof *g);
    if (!d || !g) {
        free(d);
        free(g);
        return fail(ST_MEMORY, "no memory to open device cuda:%d", number);
    }
    g->fail = fail;
    g->device = d;
    g->number = number;
    d->abi = DEVICE_ABI;
    d->bytes = sizeof *d;
    snprintf(d->name, sizeof d->name, "cuda:%d", number);
    d->on_host = false;
    d->maths_known = 1u << MATHS_F32 | (dnn_built() ? 1u << MATHS_TF32 | 1u << MATHS_BF16 : 0);
    d->alloc = gpu_alloc;
    d->release = gpu_release;
    d->upload = gpu_upload;
    d->download = gpu_download;
    d->copy = gpu_copy;
    d->zero = gpu_zero;
    d->sync = gpu_sync;
    d->room = gpu_room;
    d->together_begin = gpu_together_begin;
    d->together_end = gpu_together_end;
    d->close = gpu_close;
    d->state = g;
    fill_tables(d);
    gpu_collective_offer(d);
    const status st = prepare(g);
    if (st != OK) gpu_close(d);
    else *out = d;
    return st;
}

extern "C" __attribute__((visibility("default"))) const struct plugin centra_plugin = {DEVICE_ABI,
                                                                                      sizeof(struct device), gpu_open};
