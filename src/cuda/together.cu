/* together.cu - the calls of a step as one CUDA graph.
 *
 * Between the two calls the queue is recorded instead of run; at the end the recording takes the place of the last step's
 * in an executable graph, and that is launched. The host still makes every call, so that a rate, a label or an address that
 * changed is in the recording; only what a launch costs, on both sides, is paid once. Steps are recorded after some have
 * passed undisturbed: nothing waited, no memory was taken, no plan was timed. Whatever disturbs a recording first has it
 * carried out (gpu_disturb), and things go on as without one. Recording and launching a graph costs the host about as much as
 * several launches: after a step of a few calls the next ones are left as they are, for a while. */
#include "cuda/gpu.cuh"
#include <cstdlib>
#include <cstring>

enum { CALM = 3, SLOTS = 4, SLOT_BYTES = 1 << 20, FEW = 6, LOOK_AGAIN = 256 };

struct together {
    bool open, recording;
    int calm;             /* steps in a row that nothing disturbed */
    int plain;            /* steps to come that are not recorded, because one had few calls */
    cudaGraphExec_t exec; /* NULL until the first */
    int now;
    struct { /* pinned memory for the uploads of a step, until it is done */
        char *memory;
        size_t used;
        cudaEvent_t done;
    } slot[SLOTS];
};

static struct gpu *first_queue(struct gpu *g) { return (struct gpu *)g->device->state; }

/* What a failure leaves is used by the next try. */
static status make(struct gpu *g)
{
    if (!g->together) g->together = (struct together *)calloc(1, sizeof *g->together);
    struct together *t = g->together;
    if (!t) return g->fail(ST_MEMORY, "no memory to record steps of device cuda:%d", g->number);
    for (int i = 0; i < SLOTS; i++) {
        if (!t->slot[i].memory) GPU_TRY(g, cudaMallocHost((void **)&t->slot[i].memory, SLOT_BYTES));
        if (!t->slot[i].done) GPU_TRY(g, cudaEventCreateWithFlags(&t->slot[i].done, cudaEventDisableTiming));
    }
    return OK;
}

/* The executable graph becomes that of the recording; a new one where it has another form. */
static status renew(struct gpu *g, struct together *t, cudaGraph_t graph)
{
    cudaGraphExecUpdateResultInfo info;
    if (t->exec && cudaGraphExecUpdate(t->exec, graph, &info) == cudaSuccess) return OK;
    (void)cudaGetLastError();
    if (t->exec) (void)cudaGraphExecDestroy(t->exec);
    t->exec = NULL;
    GPU_TRY(g, cudaGraphInstantiate(&t->exec, graph, 0));
    return OK;
}

/* `whole`: the step has come to its end. */
static status carry_out(struct gpu *g, bool whole)
{
    struct together *t = g->together;
    cudaGraph_t graph = NULL;
    t->recording = false;
    size_t calls = 0;
    GPU_TRY(g, cudaStreamEndCapture(g->stream, &graph));
    if (cudaGraphGetNodes(graph, NULL, &calls) == cudaSuccess && whole && calls <= FEW) t->plain = LOOK_AGAIN;
    const status st = renew(g, t, graph);
    (void)cudaGraphDestroy(graph);
    if (st != OK) return st;
    GPU_TRY(g, cudaGraphLaunch(t->exec, g->stream));
    GPU_TRY(g, cudaEventRecord(t->slot[t->now].done, g->stream));
    return OK;
}

status gpu_disturb(struct gpu *either)
{
    struct gpu *g = first_queue(either);
    struct together *t = g->together;
    if (!t || !t->open) return OK;
    t->calm = 0;
    if (!t->recording) return OK;
    const bool forked = g->beside_busy;
    gpu_join(g); /* a recording ends with all its queues joined */
    PASS(carry_out(g, false));
    return forked ? gpu_beside(g, &either) : OK; /* what comes there next must not overtake it */
}

status gpu_together_upload(struct gpu *g, void *to, const void *from_host, size_t bytes, bool *done)
{
    struct together *t = g->together;
    const size_t room = size_round_up(bytes, 256);
    *done = t && t->recording && bytes <= SLOT_BYTES && room <= SLOT_BYTES - t->slot[t->now].used;
    if (!*done) return t && (t->recording || bytes > SLOT_BYTES) ? gpu_disturb(g) : OK; /* others a recording can take */
    char *at = t->slot[t->now].memory + t->slot[t->now].used;
    t->slot[t->now].used += room;
    memcpy(at, from_host, bytes);
    GPU_TRY(g, cudaMemcpyAsync(to, at, bytes, cudaMemcpyHostToDevice, g->stream));
    return OK;
}

status gpu_together_begin(struct device *d)
{
    struct gpu *g = gpu_enter(d);
    PASS(make(g));
    struct together *t = g->together;
    if (t->recording) PASS(carry_out(g, false)); /* of a step that failed on the way */
    t->open = true;
    if (t->calm < CALM) return OK;
    if (t->plain > 0) {
        t->plain--;
        return OK;
    }
    t->now = (t->now + 1) % SLOTS;
    GPU_TRY(g, cudaEventSynchronize(t->slot[t->now].done));
    t->slot[t->now].used = 0;
    GPU_TRY(g, cudaStreamBeginCapture(g->stream, cudaStreamCaptureModeRelaxed));
    t->recording = true;
    return OK;
}

status gpu_together_end(struct device *d)
{
    struct gpu *g = gpu_enter(d);
    struct together *t = g->together;
    t->open = false;
    if (t->calm < CALM) t->calm++;
    return t->recording ? carry_out(g, true) : OK;
}

void gpu_together_close(struct gpu *g)
{
    struct together *t = g->together;
    if (!t) return;
    if (t->exec) (void)cudaGraphExecDestroy(t->exec);
    for (int i = 0; i < SLOTS; i++) {
        (void)cudaFreeHost(t->slot[i].memory);
        if (t->slot[i].done) (void)cudaEventDestroy(t->slot[i].done);
    }
    free(t);
}
