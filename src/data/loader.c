/* loader.c - a ring of batches between threads that fill them and a caller that takes them in order.
 *
 * One lock guards the ring; it is not held while a picture is made. Items are taken in order, so only the batch planned last
 * can have items that nobody has taken, and a new one is planned when it has none. */
#include "data/loader.h"
#include "base/pool.h"
#include "base/size.h"
#include "data/prepare.h"
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

enum { THREADS_MOST = 256, AHEAD_USUAL = 2, ALIGN = 64 };

struct batch {
    float *data;             /* owned, [most, cells, 3, side, side] */
    struct load_item *items; /* owned, [most] */
    size_t count, taken, done;
    size_t failed;    /* the lowest item that failed; `count` or more: none */
    struct error why; /* of that one */
};

struct loader {
    struct prepare *prepare;
    load_plan plan;
    void *context;
    size_t most, floats; /* pictures of a batch; numbers of a picture */
    uint64_t first;      /* the batch that the ring's count 0 stands for */

    pthread_mutex_t lock;
    pthread_cond_t work, ready; /* threads wait for work; the caller waits for a batch */
    uint64_t planned, released; /* batches so far; those between are in the ring */
    bool ended, stop, held; /* no batch behind the planned ones; threads shall go; the caller has batch `released` */
    struct batch *ring;     /* [slots] */
    size_t slots;
    pthread_t *threads;
    size_t started;
};

static struct batch *batch_at(struct loader *l, uint64_t n) { return &l->ring[n % l->slots]; }

/* The batch that has an item to be taken, planned now if need be; NULL when there is nothing to do. */
static struct batch *find_work(struct loader *l)
{
    if (l->planned > l->released) {
        struct batch *last = batch_at(l, l->planned - 1);
        if (last->taken < last->count) return last;
    }
    if (l->ended || l->planned - l->released == l->slots) return NULL;
    struct batch *b = batch_at(l, l->planned);
    b->count = l->plan(l->context, l->first + l->planned, b->items, l->most);
    assert(b->count <= l->most);
    b->taken = b->done = 0;
    b->failed = SIZE_MAX;
    if (b->count) {
        l->planned++;
        pthread_cond_broadcast(&l->work);
        return b;
    }
    l->ended = true;
    pthread_cond_broadcast(&l->ready);
    return NULL;
}

static void *thread_main(void *loader)
{
    struct loader *l = loader;
    pthread_mutex_lock(&l->lock);
    while (!l->stop) {
        struct batch *b = find_work(l);
        if (!b) {
            pthread_cond_wait(&l->work, &l->lock);
            continue;
        }
        const size_t i = b->taken++;
        pthread_mutex_unlock(&l->lock);
        const status st = prepare_item(l->prepare, &b->items[i], b->data + i * l->floats);
        pthread_mutex_lock(&l->lock);
        if (st != OK && i < b->failed) { /* the lowest, whoever comes first */
            b->failed = i;
            error_take(st, &b->why);
        }
        if (++b->done == b->count) pthread_cond_broadcast(&l->ready);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* They take no signals: those are for the program's own threads. */
static void start_threads(struct loader *l, size_t threads)
{
    static const int own[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
    sigset_t none, before;
    sigfillset(&none);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) sigdelset(&none, own[i]);
    pthread_sigmask(SIG_SETMASK, &none, &before);
    while (l->started < threads && !pthread_create(&l->threads[l->started], NULL, thread_main, l)) l->started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static status ring_new(struct loader *l)
{
    size_t bytes, item_bytes;
    if (!size_mul(l->most, l->floats * sizeof(float), &bytes) || bytes > SIZE_MAX - ALIGN ||
        !size_mul(l->most, sizeof(struct load_item), &item_bytes))
        return fail(ST_VALUE, "batches of %zu pictures are too large", l->most);
    l->ring = calloc(l->slots, sizeof *l->ring);
    if (!l->ring) return fail(ST_MEMORY, "no memory for %zu batches", l->slots);
    for (size_t i = 0; i < l->slots; i++) {
        l->ring[i].data = aligned_alloc(ALIGN, size_round_up(bytes, ALIGN));
        l->ring[i].items = malloc(item_bytes);
        if (!l->ring[i].data || !l->ring[i].items)
            return fail(ST_MEMORY, "no memory for %zu batches of %zu pictures", l->slots, l->most);
    }
    return OK;
}

static status loader_init(struct loader *l, const struct dataset *d, const struct loader_options *o)
{
    status st = OK;
    const size_t cores = pool_cores(), threads = o->threads ? o->threads : size_max(cores - 1, 1);
    if (!o->most || !o->transform->side || o->transform->side > PICTURE_MOST_PIXELS / o->transform->side)
        return fail(ST_VALUE, "batches of %zu pictures with a side of %zu cannot be loaded", o->most,
                    o->transform->side);
    l->most = o->most;
    l->first = o->first;
    l->floats = prepare_floats(o);
    if (!size_add(o->ahead ? o->ahead : AHEAD_USUAL, 1, &l->slots))
        return fail(ST_VALUE, "that many batches are too many");
    TRY(ring_new(l));
    TRY(prepare_new(d, o, &l->prepare));
    l->threads = calloc(size_min(threads, THREADS_MOST), sizeof *l->threads);
    if (!l->threads) return fail(ST_MEMORY, "no memory for %zu threads", threads);
    start_threads(l, size_min(threads, THREADS_MOST));
    if (!l->started) return fail(ST_MEMORY, "the system has no thread left for the loader");
done:
    return st;
}

status loader_new(const struct dataset *d, const struct loader_options *o, load_plan plan, void *context,
                  struct loader **out)
{
    struct loader *l = calloc(1, sizeof *l);
    if (!l) return fail(ST_MEMORY, "no memory for a loader");
    l->plan = plan;
    l->context = context;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->work, NULL);
    pthread_cond_init(&l->ready, NULL);
    const status st = loader_init(l, d, o);
    if (st == OK) *out = l;
    else loader_free(l);
    return st;
}

void loader_free(struct loader *l)
{
    if (!l) return;
    pthread_mutex_lock(&l->lock);
    l->stop = true;
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
    for (size_t i = 0; i < l->started; i++) pthread_join(l->threads[i], NULL);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->work);
    pthread_cond_destroy(&l->ready);
    for (size_t i = 0; l->ring && i < l->slots; i++) {
        free(l->ring[i].data);
        free(l->ring[i].items);
    }
    prepare_free(l->prepare);
    free(l->ring);
    free(l->threads);
    free(l);
}

status loader_next(struct loader *l, const float **batch, size_t *count)
{
    status st = OK;
    pthread_mutex_lock(&l->lock);
    if (l->held) {
        l->held = false;
        l->released++;
        pthread_cond_broadcast(&l->work);
    }
    struct batch *b = batch_at(l, l->released);
    while (l->planned == l->released ? !l->ended : b->done < b->count) pthread_cond_wait(&l->ready, &l->lock);
    *batch = NULL;
    *count = 0;
    if (l->planned == l->released) goto done;
    if (b->failed < b->count) {
        st = error_put(&b->why);
        goto done;
    }
    l->held = true;
    *batch = b->data;
    *count = b->count;
done:
    pthread_mutex_unlock(&l->lock);
    return st;
}
