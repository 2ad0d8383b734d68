/* collective.cu - sums over the GPUs of several processes, by NCCL, in a queue of their own.
 *
 * The queue waits for what was called before a sum, in both of the GPU's queues, which go on meanwhile: sums travel beside
 * the backward pass. What is called after peers_wait waits for the queue; the host waits for nobody. NCCL is opened when it is first wanted, so that a GPU alone does without it. Its rules are kept by the
 * caller (train/exchange.c): every process makes the same calls in the same order. */
#include "cuda/gpu.cuh"

#ifdef CENTRA_HAVE_NCCL
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <nccl.h>

static_assert(sizeof(ncclUniqueId) <= DEVICE_PEERS_ID_BYTES, "an identity of NCCL has its place");

struct collective {
    struct { /* of the library */
        decltype(&ncclGetUniqueId) id;
        decltype(&ncclCommInitRank) init;
        decltype(&ncclAllReduce) sum;
        decltype(&ncclCommDestroy) destroy;
        decltype(&ncclGetErrorString) words;
    } call;
    ncclComm_t comm; /* NULL until it has joined */
    cudaStream_t stream;
    cudaEvent_t called, called_beside, summed;
};

#define NCCL_TRY(g, c, expression) \
    do { \
        const ncclResult_t e_ = (expression); \
        if (e_ != ncclSuccess) \
            return (g)->fail(ST_IO, "device cuda:%d, %s: %s", (g)->number, #expression, (c)->call.words(e_)); \
    } while (0)

template <typename function> static bool take(void *object, const char *name, function *out)
{
    *out = (function)dlsym(object, name);
    return *out != NULL;
}

/* What a failure leaves is used by the next try. */
static status make(struct gpu *g)
{
    if (!g->collective) g->collective = (struct collective *)calloc(1, sizeof *g->collective);
    struct collective *c = g->collective;
    if (!c) return g->fail(ST_MEMORY, "no memory to join other GPUs");
    void *object = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!object) return g->fail(ST_UNSUPPORTED, "GPUs of several processes need NCCL: %s", dlerror());
    if (!take(object, "ncclGetUniqueId", &c->call.id) || !take(object, "ncclCommInitRank", &c->call.init) ||
        !take(object, "ncclAllReduce", &c->call.sum) || !take(object, "ncclCommDestroy", &c->call.destroy) ||
        !take(object, "ncclGetErrorString", &c->call.words))
        return g->fail(ST_UNSUPPORTED, "this libnccl.so.2 lacks a function that Centra needs");
    if (!c->stream) GPU_TRY(g, cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking));
    if (!c->called) GPU_TRY(g, cudaEventCreateWithFlags(&c->called, cudaEventDisableTiming));
    if (!c->called_beside) GPU_TRY(g, cudaEventCreateWithFlags(&c->called_beside, cudaEventDisableTiming));
    if (!c->summed) GPU_TRY(g, cudaEventCreateWithFlags(&c->summed, cudaEventDisableTiming));
    return OK;
}

static status peers_id(struct device *d, void *id)
{
    struct gpu *g = gpu_enter(d);
    ncclUniqueId made;
    PASS(make(g));
    NCCL_TRY(g, g->collective, g->collective->call.id(&made));
    memset(id, 0, DEVICE_PEERS_ID_BYTES);
    memcpy(id, &made, sizeof made);
    return OK;
}

static status peers_join(struct device *d, const void *id, int rank, int size)
{
    struct gpu *g = gpu_enter(d);
    ncclUniqueId given;
    PASS(make(g));
    struct collective *c = g->collective;
    memcpy(&given, id, sizeof given);
    if (c->comm) NCCL_TRY(g, c, c->call.destroy(c->comm));
    c->comm = NULL;
    NCCL_TRY(g, c, c->call.init(&c->comm, size, given, rank));
    return OK;
}

static status wait_for(struct gpu *g, cudaStream_t queue, cudaEvent_t called)
{
    GPU_TRY(g, cudaEventRecord(called, queue));
    GPU_TRY(g, cudaStreamWaitEvent(g->collective->stream, called, 0));
    return OK;
}

static status peers_sum(struct device *d, dtype type, size_t count, void *memory)
{
    struct gpu *g = gpu_enter_beside(d);
    struct collective *c = g->collective;
    PASS(gpu_disturb(g)); /* NCCL's calls are not recorded */
    PASS(wait_for(g, g->stream, c->called));
    if (g->beside_busy) PASS(wait_for(g, g->beside->stream, c->called_beside)); /* weight gradients are made there */
    NCCL_TRY(g, c, c->call.sum(memory, memory, count, type == DT_F64 ? ncclDouble : ncclFloat, ncclSum, c->comm,
                               c->stream));
    return OK;
}

static status peers_wait(struct device *d)
{
    struct gpu *g = gpu_enter(d);
    GPU_TRY(g, cudaEventRecord(g->collective->summed, g->collective->stream));
    GPU_TRY(g, cudaStreamWaitEvent(g->stream, g->collective->summed, 0));
    return OK;
}

void gpu_collective_offer(struct device *d)
{
    d->peers_id = peers_id;
    d->peers_join = peers_join;
    d->peers_sum = peers_sum;
    d->peers_wait = peers_wait;
}

void gpu_collective_close(struct gpu *g)
{
    struct collective *c = g->collective;
    if (!c) return;
    if (c->stream) (void)cudaStreamSynchronize(c->stream);
    if (c->comm) (void)c->call.destroy(c->comm);
    if (c->called) (void)cudaEventDestroy(c->called);
    if (c->called_beside) (void)cudaEventDestroy(c->called_beside);
    if (c->summed) (void)cudaEventDestroy(c->summed);
    if (c->stream) (void)cudaStreamDestroy(c->stream);
    free(c);
}
#else
void gpu_collective_offer(struct device *d) { (void)d; }
void gpu_collective_close(struct gpu *g) { (void)g; }
#endif
