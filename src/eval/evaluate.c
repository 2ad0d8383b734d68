/* evaluate.c - episodes on cached features.
 *
 * Single episodes are small, so on a device whose memory is the host's they run side by side, one desk (tape, labels,
 * counts) for each worker; inside, every primitive runs inline. Accuracies and losses are stored by episode and added in
 * that order, counts are whole numbers, so nothing depends on who ran what. Episodes are dealt in rounds, between which
 * progress is told; a round grows until it takes long enough to be worth its barrier. Another device is not waited for
 * after each episode: one head's scores of a round are put aside there and fetched together. */
#include "eval/evaluate.h"
#include "base/clock.h"
#include "base/size.h"
#include "heads/mirror.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROUND = 16, MOST_ROUND = 4096, MOST_ASIDE = 256, ROUND_NS = 100000000 };

struct desk { /* what one worker writes on; all owned */
    tape *t;
    struct plan plan;         /* of an episode that is drawn */
    int32_t *support, *query; /* labels of the present episode; support has room for mirror images */
    float *scores;            /* [way * query, way] */
    size_t *right, *asked;    /* [heads, classes], [classes] */
    uint64_t *ns;             /* [heads] spent in each */
};

struct match {
    const struct features *f;
    const struct contender *head;
    size_t heads;
    const struct episodes *e;
    const struct evaluate_options *o;
    struct outcome *out;
    double *losses;           /* owned, [heads, episodes] */
    struct desk *desks;       /* owned, one a worker */
    size_t desk_count, first; /* first: of the round */
    size_t from, end;         /* the episodes that are ours */
    char *aside;    /* owned, device memory, [MOST_ASIDE, each]: an episode's scores, then its loss; or NULL */
    float *fetched; /* owned: the same on the host */
    size_t each;    /* numbers */
};

static void desk_free(struct desk *k)
{
    tape_free(k->t);
    plan_free(&k->plan);
    free(k->support);
    free(k->query);
    free(k->scores);
    free(k->right);
    free(k->asked);
    free(k->ns);
}

/* The largest support, number of queries and number of scores of an episode. */
struct room {
    size_t support, queries, scores;
};

static struct room room_for(const struct episodes *e)
{
    struct room r = {0};
    size_t way, shot, query;
    for (size_t i = 0; i < (e->sampler ? 1 : e->count); i++) {
        if (e->sampler) sampler_shape(e->sampler, &way, &shot, &query);
        else way = e->list[i].way, shot = e->list[i].shot, query = e->list[i].query;
        r.support = size_max(r.support, way * shot);
        r.queries = size_max(r.queries, way * query);
        r.scores = size_max(r.scores, way * query * way);
    }
    return r;
}

static status desk_open(const struct match *m, const struct room *r, struct desk *k)
{
    status st = OK;
    size_t way, shot, query;
    TRY(tape_new(m->f->device, TAPE_INFERENCE, &k->t));
    if (m->e->sampler) {
        sampler_shape(m->e->sampler, &way, &shot, &query);
        TRY(plan_new(way, shot, query, &k->plan));
    }
    k->support = calloc(2 * r->support, sizeof *k->support);
    k->query = calloc(r->queries, sizeof *k->query);
    k->scores = calloc(r->scores, sizeof *k->scores);
    k->right = calloc(size_max(1, m->heads * m->o->classes), sizeof *k->right);
    k->asked = calloc(size_max(1, m->o->classes), sizeof *k->asked);
    k->ns = calloc(m->heads, sizeof *k->ns);
    if (!k->support || !k->query || !k->scores || !k->right || !k->asked || !k->ns)
        st = fail(ST_MEMORY, "no memory for an episode of %zu pictures", r->support + r->queries);
done:
    return st;
}

/* The features of some pictures, [n, C, locations]. */
static var *pick(tape *t, const tensor *f, const uint32_t *pictures, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (pictures[i] >= f->dim[0])
            return tape_fail(t,
                             fail(ST_VALUE, "an episode has picture %u, but the set has %zu", pictures[i], f->dim[0]));
    const var *index = tape_upload(t, DT_I32, 1, &n, pictures);
    return index ? op_gather(t, tape_constant(t, f), 0, &index->value) : NULL;
}

static void put_labels(const struct match *m, const struct plan *p, size_t episode, struct desk *k)
{
    struct random r = {.seed = 0x5eed0fc1a55e5, .stream = episode};
    for (size_t i = 0; i < p->way * p->shot; i++) k->support[i] = (int32_t)(i / p->shot);
    for (size_t i = 0; i < p->way * p->query; i++)
        k->query[i] = m->o->shuffle_labels ? (int32_t)random_below(&r, p->way) : p->query_labels[i];
}

/* How many queries are told right; SIZE_MAX when a score is not finite. The lowest class wins a tie. */
static size_t count_right(const struct match *m, const struct plan *p, size_t head, struct desk *k)
{
    size_t sum = 0;
    for (size_t q = 0; q < p->way * p->query; q++) {
        const float *row = k->scores + q * p->way;
        const uint32_t class = p->classes[k->query[q]];
        size_t best = 0;
        for (size_t c = 0; c < p->way; c++) {
            if (!isfinite(row[c])) return SIZE_MAX;
            if (row[c] > row[best]) best = c;
        }
        const bool right = best == (size_t)k->query[q];
        sum += right;
        if (class < m->o->classes) k->right[head * m->o->classes + class] += right;
    }
    return sum;
}

/* What the scores in k->scores say. */
static status mark(const struct match *m, const struct plan *p, size_t episode, size_t head, float loss, struct desk *k)
{
    m->losses[head * m->e->count + episode] = (double)loss;
    const size_t right = count_right(m, p, head, k);
    m->out[head].accuracy[episode] = (double)right / (double)(p->way * p->query);
    if (right != SIZE_MAX) return OK;
    return fail(ST_NUMERIC, "head %s gave episode %zu a score that is not finite; are all features and weights finite?",
                m->head[head].head->name, episode);
}

static status put_aside(const struct match *m, const struct head_result *r, size_t slot)
{
    struct device *d = m->f->device;
    char *to = m->aside + slot * m->each * sizeof(float), *loss = to + (m->each - 1) * sizeof(float);
    status st = d->copy(d, to, r->scores->value.data, tensor_bytes(&r->scores->value));
    if (st == OK) st = r->loss ? d->copy(d, loss, r->loss->value.data, sizeof(float)) : d->zero(d, loss, sizeof(float));
    return st;
}

static status play_head(const struct match *m, const struct episode *e, const struct plan *p, size_t episode,
                        size_t head, struct desk *k)
{
    status st = OK;
    const struct contender *c = &m->head[head];
    struct device *d = m->f->device;
    struct head_result r = {0};
    float loss = 0;
    const uint64_t start = clock_ns();
    c->head->forward(k->t, c->settings, c->params, e, 0, &r);
    TRY(tape_status(k->t));
    if (m->aside) {
        k->ns[head] += 1; /* the only head: its share is all */
        return put_aside(m, &r, episode - m->first);
    }
    TRY(d->download(d, k->scores, r.scores->value.data, tensor_bytes(&r.scores->value)));
    if (r.loss) TRY(d->download(d, &loss, r.loss->value.data, sizeof loss));
    k->ns[head] += clock_ns() - start;
    TRY(mark(m, p, episode, head, loss, k));
done:
    return st;
}

/* The episode with the mirror images of its support behind it. */
static struct episode mirrored(const struct match *m, const struct episode *e, const struct plan *p, struct desk *k)
{
    struct episode both = *e;
    const size_t n = p->way * p->shot;
    var *images = pick(k->t, &m->f->mirrored, p->support, n);
    for (size_t i = 0; i < n; i++) k->support[n + i] = k->support[i];
    both.support = op_concat(k->t, 2, (var *[]){e->support, images}, 0);
    both.support_labels = op_labels(k->t, k->support, 2 * n, p->way);
    return both;
}

static status play(const struct match *m, const struct plan *p, size_t episode, struct desk *k)
{
    status st = OK;
    tape *t = k->t;
    tape_reset(t, TAPE_INFERENCE);
    put_labels(m, p, episode, k);
    const struct episode e = {.support = pick(t, &m->f->data, p->support, p->way * p->shot),
                              .query = pick(t, &m->f->data, p->queries, p->way * p->query),
                              .support_labels = op_labels(t, k->support, p->way * p->shot, p->way),
                              .support_host = k->support,
                              .query_labels = op_labels(t, k->query, p->way * p->query, p->way),
                              .way = p->way,
                              .base = m->o->base};
    TRY(tape_status(t));
    for (size_t q = 0; q < p->way * p->query; q++) {
        const uint32_t class = p->classes[k->query[q]];
        if (class < m->o->classes) k->asked[class]++;
    }
    for (size_t h = 0; h < m->heads; h++) {
        const bool mirror = m->f->mirrored.data && mirror_wanted(m->head[h].head, p->shot);
        const struct episode given = mirror ? mirrored(m, &e, p, k) : e;
        TRY(tape_status(t));
        TRY(play_head(m, &given, p, episode, h, k));
    }
done:
    return st;
}

/* The plan of an episode: a function of its number. */
static status plan_of(const struct match *m, size_t episode, struct desk *k, const struct plan **out)
{
    *out = m->e->sampler ? &k->plan : &m->e->list[episode];
    return m->e->sampler ? sampler_episode(m->e->sampler, m->e->epoch, episode, &k->plan) : OK;
}

static status episode_piece(void *context, size_t piece, size_t worker)
{
    const struct match *m = context;
    struct desk *k = &m->desks[worker];
    const struct plan *p;
    const status st = plan_of(m, m->first + piece, k, &p);
    return st == OK ? play(m, p, m->first + piece, k) : st;
}

/* Waits for the round's scores, and looks at them. */
static status fetch(struct match *m, size_t count)
{
    status st = OK;
    struct device *d = m->f->device;
    struct desk *k = &m->desks[0];
    const struct plan *p;
    TRY(d->download(d, m->fetched, m->aside, count * m->each * sizeof(float)));
    for (size_t i = 0; i < count; i++) {
        const float *from = m->fetched + i * m->each;
        TRY(plan_of(m, m->first + i, k, &p));
        put_labels(m, p, m->first + i, k);
        memcpy(k->scores, from, p->way * p->query * p->way * sizeof *from);
        TRY(mark(m, p, m->first + i, 0, from[m->each - 1], k));
    }
done:
    return st;
}

static status run_round(struct match *m, size_t count)
{
    status st = OK;
    if (m->desk_count > 1) return pool_run(m->o->threads, count, episode_piece, m);
    for (size_t i = 0; i < count && st == OK; i++) st = episode_piece(m, i, 0);
    return st == OK && m->aside ? fetch(m, count) : st;
}

/* *seconds: of the episodes, without what the progress function takes. */
static status run_all(struct match *m, double *seconds)
{
    status st = OK;
    const size_t most = m->aside ? MOST_ASIDE : MOST_ROUND;
    size_t round = FIRST_ROUND;
    uint64_t total = 0;
    size_t count;
    for (m->first = m->from; m->first < m->end; m->first += count) {
        if (m->o->progress && !m->o->progress(m->o->context, m->first - m->from, m->end - m->from))
            TRY(fail(ST_USAGE, "stopped after %zu of %zu episodes", m->first - m->from, m->end - m->from));
        count = size_min(round, m->end - m->first);
        const uint64_t start = clock_ns();
        TRY(run_round(m, count));
        const uint64_t took = clock_ns() - start;
        if (took < ROUND_NS && round < most) round *= 2;
        total += took;
    }
    if (m->o->progress) (void)m->o->progress(m->o->context, m->end - m->from, m->end - m->from);
    *seconds = (double)total / 1e9;
done:
    return st;
}

/* Room to put scores aside, where that spares waiting. */
static status reserve_aside(struct match *m, const struct room *r)
{
    size_t bytes;
    void *memory = NULL;
    if (m->f->device->on_host || m->heads > 1) return OK;
    m->each = r->scores + 1;
    if (!size_mul(m->each, MOST_ASIDE * sizeof(float), &bytes))
        return fail(ST_MEMORY, "episodes of %zu scores are too large", r->scores);
    m->fetched = malloc(bytes);
    if (!m->fetched) return fail(ST_MEMORY, "no memory for the scores of %d episodes", MOST_ASIDE);
    const status st = m->f->device->alloc(m->f->device, bytes, &memory);
    m->aside = memory;
    return st;
}

static status reserve(struct match *m)
{
    status st = OK;
    const struct room room = room_for(m->e);
    m->desk_count = m->f->device->on_host && m->o->threads ? pool_threads(m->o->threads) : 1;
    m->desks = calloc(m->desk_count, sizeof *m->desks);
    m->losses = calloc(m->heads * m->e->count, sizeof *m->losses);
    if (!m->desks || !m->losses) return fail(ST_MEMORY, "no memory for %zu episodes", m->e->count);
    for (size_t i = 0; i < m->desk_count; i++) TRY(desk_open(m, &room, &m->desks[i]));
    TRY(reserve_aside(m, &room));
    for (size_t h = 0; h < m->heads; h++) {
        struct outcome *o = &m->out[h];
        o->accuracy = calloc(m->e->count, sizeof *o->accuracy);
        o->right = calloc(size_max(1, m->o->classes), sizeof *o->right);
        o->asked = calloc(size_max(1, m->o->classes), sizeof *o->asked);
        if (!o->accuracy || !o->right || !o->asked)
            TRY(fail(ST_MEMORY, "no memory for the results of %zu episodes", m->e->count));
    }
done:
    return st;
}

/* A head's seconds are its share of the time that all took, so that those of several heads add up to it. */
static void conclude(struct match *m, double seconds)
{
    const size_t count = m->e->count, classes = m->o->classes;
    double all_ns = 0;
    for (size_t h = 0; h < m->heads; h++)
        for (size_t i = 0; i < m->desk_count; i++) all_ns += (double)m->desks[i].ns[h];
    for (size_t h = 0; h < m->heads; h++) {
        struct outcome *o = &m->out[h];
        double ns = 0, loss = 0;
        for (size_t i = 0; i < m->desk_count; i++) {
            ns += (double)m->desks[i].ns[h];
            for (size_t c = 0; c < classes; c++) {
                o->right[c] += m->desks[i].right[h * classes + c];
                o->asked[c] += m->desks[i].asked[c];
            }
        }
        for (size_t i = 0; i < count; i++) loss += m->losses[h * count + i];
        o->loss = loss / (double)count;
        o->seconds = all_ns > 0 ? seconds * ns / all_ns : 0;
        o->mean = interval_of(o->accuracy, count, 0.95);
        if (h) o->paired = interval_of_difference(o->accuracy, m->out[0].accuracy, count, 0.95);
    }
}

/* What each process has found out, episode by episode: the same numbers in the same places as if one had played all. */
static status join(struct match *m)
{
    status st = OK;
    struct peers *p = m->o->peers;
    const size_t size = (size_t)p->size, count = m->e->count;
    size_t *bytes = calloc(size, sizeof *bytes);
    if (!bytes) return fail(ST_MEMORY, "no memory for the parts of %zu processes", size);
    for (size_t r = 0; r < size; r++)
        bytes[r] = (peers_first(count, r + 1, size) - peers_first(count, r, size)) * sizeof(double);
    for (size_t h = 0; h < m->heads; h++) {
        double *accuracy = m->out[h].accuracy, *losses = m->losses + h * count;
        TRY(p->gather(p, bytes, accuracy + m->from, accuracy));
        TRY(p->gather(p, bytes, losses + m->from, losses));
    }
done:
    free(bytes);
    return st;
}

/* Queries of each class, over all processes. */
static status join_counts(struct match *m)
{
    status st = OK;
    const size_t classes = m->o->classes;
    double *n = calloc(2 * classes + 1, sizeof *n);
    if (!n) return fail(ST_MEMORY, "no memory for %zu classes", classes);
    for (size_t h = 0; h < m->heads && st == OK; h++) {
        for (size_t c = 0; c < classes; c++) {
            n[c] = (double)m->out[h].right[c];
            n[classes + c] = (double)m->out[h].asked[c];
        }
        st = peers_total(m->o->peers, 2 * classes, n);
        for (size_t c = 0; c < classes; c++) {
            m->out[h].right[c] = (size_t)n[c];
            m->out[h].asked[c] = (size_t)n[classes + c];
        }
    }
    free(n);
    return st;
}

status evaluate(const struct features *f, const struct contender *head, size_t heads, const struct episodes *e,
                const struct evaluate_options *o, struct outcome *out)
{
    status st = OK;
    const bool shared = o->peers && o->peers->size > 1;
    struct match m = {.f = f, .head = head, .heads = heads, .e = e, .o = o, .out = out, .end = e->count};
    double seconds = 0;
    for (size_t h = 0; h < heads; h++) out[h] = (struct outcome){0};
    if (!heads || !e->count)
        return fail(ST_USAGE, "there is nothing to evaluate: %zu heads, %zu episodes", heads, e->count);
    TRY(reserve(&m));
    if (shared) {
        m.from = peers_first(e->count, (size_t)o->peers->rank, (size_t)o->peers->size);
        m.end = peers_first(e->count, (size_t)o->peers->rank + 1, (size_t)o->peers->size);
    }
    TRY(run_all(&m, &seconds));
    if (shared) TRY(join(&m));
    conclude(&m, seconds);
    if (shared) TRY(join_counts(&m));
done:
    for (size_t i = 0; m.desks && i < m.desk_count; i++) desk_free(&m.desks[i]);
    for (size_t h = 0; st != OK && h < heads; h++) outcome_free(&out[h]);
    if (m.aside) f->device->release(f->device, m.aside);
    free(m.fetched);
    free(m.desks);
    free(m.losses);
    return st;
}

void outcome_free(struct outcome *o)
{
    free(o->accuracy);
    free(o->right);
    free(o->asked);
    *o = (struct outcome){0};
}
