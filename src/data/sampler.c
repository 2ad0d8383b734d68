/* sampler.c - episodes drawn from counter-based streams: one for each (seed, epoch, episode). */
#include "data/sampler.h"
#include "base/random.h"
#include "base/size.h"
#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

struct range { /* the pictures of a class */
    uint32_t class_index, first, size;
};

struct sampler {
    size_t way, shot, query;
    uint64_t seed;
    size_t count, left_out;
    struct range classes[]; /* [count], those that are large enough */
};

enum purpose { ORDINARY = 1, UNREPEATED = 2 }; /* the two samplers share no stream */

static struct random stream_of(const struct sampler *s, enum purpose purpose, uint64_t epoch)
{
    const struct random root = {.seed = s->seed}, branch = random_branch(&root, purpose);
    return random_branch(&branch, epoch);
}

/* Plans */

/* Numbers that a plan keeps: classes, support, queries, labels. False when they cannot be counted. */
static bool plan_numbers(size_t way, size_t shot, size_t query, size_t *out)
{
    size_t each; /* 1 + shot + 2 * query */
    return size_mul(query, 2, &each) && size_add(each, shot, &each) && size_add(each, 1, &each) &&
           size_mul(each, way, out) && *out <= SIZE_MAX / sizeof(uint32_t);
}

/* int32_t and uint32_t may stand for each other in memory. */
static struct plan plan_at(size_t way, size_t shot, size_t query, uint32_t *numbers)
{
    uint32_t *support = numbers + way, *queries = support + way * shot;
    return (struct plan){.way = way,
                         .shot = shot,
                         .query = query,
                         .classes = numbers,
                         .support = support,
                         .queries = queries,
                         .query_labels = (int32_t *)(queries + way * query)};
}

status plan_new(size_t way, size_t shot, size_t query, struct plan *out)
{
    size_t numbers;
    uint32_t *memory = NULL;
    if (plan_numbers(way, shot, query, &numbers)) memory = malloc(size_max(numbers, 1) * sizeof *memory);
    if (!memory)
        return fail(ST_MEMORY, "no memory for an episode of %zu classes, %zu + %zu pictures each", way, shot, query);
    *out = plan_at(way, shot, query, memory);
    return OK;
}

void plan_free(struct plan *p)
{
    free(p->classes);
    *p = (struct plan){0};
}

/* The sampler */

status sampler_new(size_t classes, const size_t *first, const size_t *size, size_t way, size_t shot, size_t query,
                   uint64_t seed, struct sampler **out)
{
    size_t need, numbers;
    if (!way || !shot || !query || way > INT32_MAX)
        return fail(ST_VALUE, "an episode of %zu classes with %zu + %zu pictures each is none", way, shot, query);
    if (!size_add(shot, query, &need) || !plan_numbers(way, shot, query, &numbers))
        return fail(ST_VALUE, "%zu classes with %zu + %zu pictures each are too many", way, shot, query);
    struct sampler *s = NULL;
    if (classes < UINT32_MAX) s = malloc(sizeof *s + classes * sizeof s->classes[0]);
    if (!s) return fail(ST_MEMORY, "no memory to sample from %zu classes", classes);
    *s = (struct sampler){.way = way, .shot = shot, .query = query, .seed = seed};
    status st = OK;
    for (size_t c = 0; c < classes && st == OK; c++) {
        if (size[c] > UINT32_MAX || first[c] > UINT32_MAX - size[c])
            st = fail(ST_VALUE, "class %zu ends at picture %zu; at most %" PRIu32 " are sampled from", c,
                      first[c] + size[c], UINT32_MAX);
        else if (size[c] >= need)
            s->classes[s->count++] = (struct range){(uint32_t)c, (uint32_t)first[c], (uint32_t)size[c]};
        else s->left_out++;
    }
    if (st == OK && s->count < way)
        st = fail(
            ST_VALUE,
            "episodes of %zu classes need that many with at least %zu pictures (%zu support + %zu query), but only %zu "
            "of %zu have them",
            way, need, shot, query, s->count, classes);
    if (st == OK) *out = s;
    else sampler_free(s);
    return st;
}

void sampler_free(struct sampler *s) { free(s); }

void sampler_shape(const struct sampler *s, size_t *way, size_t *shot, size_t *query)
{
    *way = s->way;
    *shot = s->shot;
    *query = s->query;
}

size_t sampler_left_out(const struct sampler *s) { return s->left_out; }

/* `count` distinct pictures of a class that are not among the `taken` ones; every ordered choice is as likely as another. */
static void draw_distinct(struct random *r, const struct range *from, const uint32_t *taken, size_t n, size_t count,
                          uint32_t *out)
{
    for (size_t i = 0; i < count;) {
        const uint32_t drawn = from->first + (uint32_t)random_below(r, from->size);
        bool fresh = true;
        for (size_t k = 0; k < n; k++) fresh &= taken[k] != drawn;
        for (size_t k = 0; k < i; k++) fresh &= out[k] != drawn;
        if (fresh) out[i++] = drawn;
    }
}

/* Queries stand class by class and get a drawn order, labels beside them. */
static void mix_queries(struct random *r, struct plan *p)
{
    for (size_t i = 0; i < p->way * p->query; i++) { /* places below i are mixed */
        const size_t other = (size_t)random_below(r, i + 1);
        const uint32_t picture = p->queries[i];
        p->queries[i] = p->queries[other];
        p->queries[other] = picture;
        if (other < i) p->query_labels[i] = p->query_labels[other];
        p->query_labels[other] = (int32_t)(i / p->query);
    }
}

status sampler_episode(const struct sampler *s, uint64_t epoch, uint64_t index, struct plan *out)
{
    if (out->way != s->way || out->shot != s->shot || out->query != s->query)
        return fail(ST_SHAPE, "a plan for %zu classes with %zu + %zu pictures cannot hold %zu with %zu + %zu", out->way,
                    out->shot, out->query, s->way, s->shot, s->query);
    const struct random branch = stream_of(s, ORDINARY, epoch);
    const struct range all = {.size = (uint32_t)s->count};
    struct random r = random_branch(&branch, index);
    draw_distinct(&r, &all, NULL, 0, s->way, out->classes);
    for (size_t k = 0; k < s->way; k++) {
        const struct range *c = &s->classes[out->classes[k]];
        uint32_t *support = out->support + k * s->shot;
        draw_distinct(&r, c, NULL, 0, s->shot, support);
        draw_distinct(&r, c, support, s->shot, s->query, out->queries + k * s->query);
        out->classes[k] = c->class_index;
    }
    mix_queries(&r, out);
    return OK;
}

/* An epoch in which no picture plays twice */

struct deck { /* the shuffled pictures of a class; taken from the end */
    uint32_t *pictures;
    size_t left;
};

struct table {          /* where an epoch is dealt */
    struct deck *decks; /* [classes of the sampler] */
    uint32_t *active;   /* [active_count], classes that can still fill an episode */
    size_t active_count;
    uint32_t *pictures; /* of all decks */
};

static void shuffle(struct random *r, uint32_t *a, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const size_t other = (size_t)random_below(r, i + 1);
        const uint32_t keep = a[i];
        a[i] = a[other];
        a[other] = keep;
    }
}

static void table_free(struct table *t)
{
    free(t->decks);
    free(t->active);
    free(t->pictures);
}

/* Each class shuffled by a stream of its own; *most is the number of episodes that cannot be exceeded. */
static status table_lay(const struct sampler *s, const struct random *epoch, struct table *t, size_t *most)
{
    size_t total = 0, shares = 0;
    for (size_t c = 0; c < s->count; c++)
        total += s->classes[c].size, shares += s->classes[c].size / (s->shot + s->query);
    assert(s->count >= s->way && total > 0); /* sampler_new has seen to it */
    t->decks = calloc(s->count, sizeof *t->decks);
    t->active = calloc(s->count, sizeof *t->active);
    t->pictures = calloc(total, sizeof *t->pictures);
    if (!t->decks || !t->active || !t->pictures) return fail(ST_MEMORY, "no memory to shuffle %zu pictures", total);
    uint32_t *at = t->pictures;
    for (size_t c = 0; c < s->count; c++) {
        const struct range *from = &s->classes[c];
        struct random r = random_branch(epoch, from->class_index);
        for (uint32_t i = 0; i < from->size; i++) at[i] = from->first + i;
        shuffle(&r, at, from->size);
        t->decks[c] = (struct deck){at, from->size};
        t->active[c] = (uint32_t)c;
        at += from->size;
    }
    t->active_count = s->count;
    *most = shares / s->way;
    return OK;
}

static void deal(const struct sampler *s, struct random *r, struct table *t, struct plan *p)
{
    const size_t need = s->shot + s->query, rest = t->active_count - s->way;
    assert(t->active_count >= s->way);
    for (size_t k = 0; k < s->way; k++) { /* the chosen ones go to the end of the list, the first chosen last */
        const size_t end = t->active_count - 1 - k, other = (size_t)random_below(r, end + 1);
        const uint32_t c = t->active[other];
        t->active[other] = t->active[end];
        t->active[end] = c;
        struct deck *d = &t->decks[c];
        assert(d->pictures && d->left >= need);
        p->classes[k] = s->classes[c].class_index;
        for (size_t i = 0; i < s->shot; i++) p->support[k * s->shot + i] = d->pictures[--d->left];
        for (size_t i = 0; i < s->query; i++) p->queries[k * s->query + i] = d->pictures[--d->left];
    }
    const size_t chosen_end = t->active_count;
    t->active_count = rest;
    for (size_t i = rest; i < chosen_end; i++)
        if (t->decks[t->active[i]].left >= need) t->active[t->active_count++] = t->active[i];
    mix_queries(r, p);
}

/* One allocation: the plans, and behind them their numbers. */
static status plans_new(const struct sampler *s, size_t count, struct plan **out)
{
    size_t numbers, bytes;
    struct plan *plans = NULL;
    if (plan_numbers(s->way, s->shot, s->query, &numbers) &&
        size_mul(size_max(count, 1), sizeof *plans + numbers * sizeof(uint32_t), &bytes))
        plans = malloc(bytes);
    if (!plans) return fail(ST_MEMORY, "no memory for %zu episodes", count);
    uint32_t *at = (uint32_t *)(void *)(plans + count);
    for (size_t i = 0; i < count; i++) plans[i] = plan_at(s->way, s->shot, s->query, at + i * numbers);
    *out = plans;
    return OK;
}

status sampler_epoch(const struct sampler *s, uint64_t epoch, struct plan **plans, size_t *count)
{
    status st = OK;
    struct table t = {0};
    struct plan *made = NULL;
    size_t most = 0, n = 0;
    const struct random root = stream_of(s, UNREPEATED, epoch);
    struct random r = random_branch(&root, UINT64_MAX); /* no class has that number */
    TRY(table_lay(s, &root, &t, &most));
    TRY(plans_new(s, most, &made));
    for (; n < most && t.active_count >= s->way; n++) deal(s, &r, &t, &made[n]);
    for (size_t i = 1; i < n; i++) { /* the last ones dealt come from large classes only: play in another order */
        const size_t other = (size_t)random_below(&r, i + 1);
        const struct plan keep = made[i];
        made[i] = made[other];
        made[other] = keep;
    }
    *plans = made;
    *count = n;
done:
    table_free(&t);
    return st;
}

void sampler_epoch_free(struct plan *plans, size_t count)
{
    (void)count;
    free(plans);
}
