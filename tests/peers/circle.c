/* circle.c - ranks as threads. One of them, the last that comes to a call, does the work of all. */
#include "tests/peers/circle.h"
#include "tests/test.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_SUMS = 64 };

struct sum {
    enum peers_type type;
    size_t count;
    void *data;
};

struct member {
    struct peers peers; /* first */
    struct circle *circle;
    struct sum sums[MOST_SUMS];
    size_t sum_count, waited;
    const size_t *bytes; /* of a gather */
    const void *mine;
    void *all;
    size_t broadcast_bytes;
    const char *call; /* the one it waits in */
    struct circle_end end;
    status (*body)(void *context, struct peers *p);
    void *context;
    pthread_t thread;
};

struct circle {
    pthread_mutex_t lock;
    pthread_cond_t turn;
    int size, here;
    size_t round;
    bool broken; /* a rank has failed */
    struct member member[CIRCLE_MOST];
};

/* Waits for all ranks in `call`; the last does `work`. */
static status meet(struct peers *p, const char *call, void (*work)(struct circle *c))
{
    struct member *m = (struct member *)p;
    struct circle *c = m->circle;
    pthread_mutex_lock(&c->lock);
    const size_t round = c->round;
    m->call = call;
    if (++c->here == c->size) {
        for (int r = 0; r < c->size; r++)
            if (strcmp(c->member[r].call, call))
                test_failed(__FILE__, __LINE__, "rank %d calls %s while rank %d calls %s", r, c->member[r].call,
                            p->rank, call);
        work(c);
        c->here = 0;
        c->round++;
        pthread_cond_broadcast(&c->turn);
    }
    while (c->round == round && !c->broken) pthread_cond_wait(&c->turn, &c->lock);
    const bool done = c->round != round;
    pthread_mutex_unlock(&c->lock);
    return done ? OK : fail(ST_IO, "another rank has failed");
}

static double number_at(const struct sum *s, size_t i)
{
    return s->type == PEERS_F32 ? (double)((float *)s->data)[i] : ((double *)s->data)[i];
}

static void put_number(const struct sum *s, size_t i, double v)
{
    if (s->type == PEERS_F32) ((float *)s->data)[i] = (float)v;
    else ((double *)s->data)[i] = v;
}

/* In the order of the ranks, or else of another one, so that it matters which was asked for. */
static double add(struct circle *c, size_t which, size_t i)
{
    double x = 0;
    for (int k = 0; k < c->size; k++) {
        const int r = c->member[0].peers.in_order ? k : (k + (int)(c->round % (size_t)c->size)) % c->size;
        const struct sum *s = &c->member[r].sums[which];
        const double y = number_at(s, i);
        x = s->type == PEERS_F32 ? (double)((float)x + (float)y) : x + y;
    }
    return x;
}

static void do_sums(struct circle *c)
{
    for (size_t k = 0; k < c->member[0].sum_count; k++) {
        const struct sum *first = &c->member[0].sums[k];
        for (int r = 1; r < c->size; r++) {
            const struct sum *s = &c->member[r].sums[k];
            if (k >= c->member[r].sum_count || s->count != first->count || s->type != first->type)
                test_failed(__FILE__, __LINE__, "sum %zu of rank %d is another than that of rank 0", k, r);
        }
        for (size_t i = 0; i < first->count; i++) {
            const double x = add(c, k, i);
            for (int r = 0; r < c->size; r++) put_number(&c->member[r].sums[k], i, x);
        }
    }
    for (int r = 0; r < c->size; r++) c->member[r].sum_count = 0;
}

static status circle_sum(struct peers *p, enum peers_type type, size_t count, void *data)
{
    struct member *m = (struct member *)p;
    if (m->sum_count == MOST_SUMS) return fail(ST_VALUE, "too many sums at once");
    m->sums[m->sum_count++] = (struct sum){type, count, data};
    return OK;
}

static status circle_finish(struct peers *p)
{
    struct member *m = (struct member *)p;
    m->waited = m->sum_count;
    return meet(p, "finish", do_sums);
}

static void do_gather(struct circle *c)
{
    size_t total = 0;
    for (int r = 0; r < c->size; r++) {
        if (memcmp(c->member[r].bytes, c->member[0].bytes, (size_t)c->size * sizeof *c->member[0].bytes))
            test_failed(__FILE__, __LINE__, "rank %d gathers other sizes than rank 0", r);
        total += c->member[0].bytes[r];
    }
    char *all = malloc(total + 1), *at = all;
    for (int r = 0; r < c->size && all; r++) {
        if (c->member[0].bytes[r]) memcpy(at, c->member[r].mine, c->member[0].bytes[r]);
        at += c->member[0].bytes[r];
    }
    for (int r = 0; r < c->size && all && total; r++) memcpy(c->member[r].all, all, total);
    free(all);
}

static status circle_gather(struct peers *p, const size_t *bytes, const void *mine, void *all)
{
    struct member *m = (struct member *)p;
    m->bytes = bytes;
    m->mine = mine;
    m->all = all;
    return meet(p, "gather", do_gather);
}

static void do_broadcast(struct circle *c)
{
    for (int r = 1; r < c->size; r++) {
        if (c->member[r].broadcast_bytes != c->member[0].broadcast_bytes)
            test_failed(__FILE__, __LINE__, "rank %d waits for another size than rank 0 sends", r);
        memcpy(c->member[r].all, c->member[0].all, c->member[0].broadcast_bytes);
    }
}

static status circle_broadcast(struct peers *p, size_t bytes, void *data)
{
    struct member *m = (struct member *)p;
    m->broadcast_bytes = bytes;
    m->all = data;
    return meet(p, "broadcast", do_broadcast);
}

static void circle_over(struct peers *p, const char *sentence)
{
    test_failed(__FILE__, __LINE__, "rank %d would end all: %s", p->rank, sentence);
}

static void circle_close(struct peers *p) { (void)p; }

static void *rank_main(void *member)
{
    struct member *m = member;
    m->end.st = m->body(m->context, &m->peers);
    if (m->end.st == OK) return NULL;
    snprintf(m->end.text, sizeof m->end.text, "%s", error_text());
    pthread_mutex_lock(&m->circle->lock);
    m->circle->broken = true;
    pthread_cond_broadcast(&m->circle->turn);
    pthread_mutex_unlock(&m->circle->lock);
    return NULL;
}

bool circle_run(int size, status (*body)(void *context, struct peers *p), void *context,
                struct circle_end end[CIRCLE_MOST])
{
    struct circle *c = calloc(1, sizeof *c);
    bool good = true;
    if (!c) return false;
    c->size = size;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->turn, NULL);
    for (int r = 0; r < size; r++) {
        struct member *m = &c->member[r];
        *m = (struct member){.circle = c, .body = body, .context = context};
        m->peers = (struct peers){.abi = PEERS_ABI,
                                  .bytes = sizeof(struct peers),
                                  .rank = r,
                                  .size = size,
                                  .sum = circle_sum,
                                  .finish = circle_finish,
                                  .gather = circle_gather,
                                  .broadcast = circle_broadcast,
                                  .end = circle_over,
                                  .close = circle_close};
    }
    for (int r = 0; r < size; r++) pthread_create(&c->member[r].thread, NULL, rank_main, &c->member[r]);
    for (int r = 0; r < size; r++) {
        pthread_join(c->member[r].thread, NULL);
        good = good && c->member[r].end.st == OK;
        if (end) end[r] = c->member[r].end;
    }
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->turn);
    free(c);
    return good;
}

size_t circle_waiting(const struct peers *p) { return ((const struct member *)p)->waited; }
