/* beside.cu - a second queue of the same GPU, for work whose result nobody needs soon.
 *
 * On the way back through a network each layer's weight gradient waits for nothing but dy, and only the optimiser waits for
 * it. Put beside the chain of map gradients, it fills the processors that they leave idle. Everything that enters the GPU
 * by gpu_enter waits for it; only primitives that belong to that chain enter by gpu_enter_beside. The queue yields to the
 * first one, and has scratch memory and plans of its own. */
#include "cuda/dnn.cuh"
#include <cstdlib>

static struct gpu *state_of(struct device *d)
{
    struct gpu *g = (struct gpu *)d->state;
    (void)cudaSetDevice(g->number); /* it worked when the device was opened; the next call would tell */
    return g;
}

void gpu_join(struct gpu *g)
{
    if (!g->beside_busy) return;
    g->beside_busy = false;
    (void)cudaEventRecord(g->joined, g->beside->stream); /* both were made for this; a lost GPU tells at the next call */
    (void)cudaStreamWaitEvent(g->stream, g->joined, 0);
}

struct gpu *gpu_enter(struct device *d)
{
    struct gpu *g = state_of(d);
    gpu_join(g);
    return g;
}

struct gpu *gpu_enter_beside(struct device *d) { return state_of(d); }

/* After a failure a second try keeps what the first has made. */
static status open_beside(struct gpu *g)
{
    int least = 0, greatest = 0;
    if (!g->beside) g->beside = (struct gpu *)calloc(1, sizeof *g->beside);
    struct gpu *b = g->beside;
    if (!b) return g->fail(ST_MEMORY, "no memory for a second queue of device cuda:%d", g->number);
    b->fail = g->fail;
    b->number = g->number;
    b->device = g->device;
    GPU_TRY(g, cudaDeviceGetStreamPriorityRange(&least, &greatest));
    if (!b->stream) GPU_TRY(g, cudaStreamCreateWithPriority(&b->stream, cudaStreamNonBlocking, least));
    if (!g->forked) GPU_TRY(g, cudaEventCreateWithFlags(&g->forked, cudaEventDisableTiming));
    GPU_TRY(g, cudaEventCreateWithFlags(&g->joined, cudaEventDisableTiming));
    return OK;
}

status gpu_beside(struct gpu *g, struct gpu **out)
{
    if (!g->joined) PASS(open_beside(g));
    GPU_TRY(g, cudaEventRecord(g->forked, g->stream));
    GPU_TRY(g, cudaStreamWaitEvent(g->beside->stream, g->forked, 0));
    g->beside_busy = true;
    *out = g->beside;
    return OK;
}

void gpu_beside_close(struct gpu *g)
{
    struct gpu *b = g->beside;
    if (g->forked) (void)cudaEventDestroy(g->forked);
    if (g->joined) (void)cudaEventDestroy(g->joined);
    if (!b) return;
    if (b->stream) (void)cudaStreamSynchronize(b->stream);
    dnn_close(b->dnn);
    (void)cudaFree(b->scratch.memory);
    (void)cudaFree(b->aside.memory);
    if (b->stream) (void)cudaStreamDestroy(b->stream);
    free(b);
}
