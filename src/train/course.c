/* course.c - lessons from the samplers, or from a shuffle of the whole set. */
#include "train/course.h"
#include "base/size.h"
#include "data/sampler.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct course {
    const struct dataset *data;
    const struct train_settings *train;
    uint64_t epoch, index;
    size_t steps, most;
    struct sampler *sampler; /* owned; NULL in pre-training */
    struct plan drawn;       /* owned; of the ordinary sampler */
    struct plan *plans;      /* owned: the epoch of the unrepeated sampler */
    size_t plan_count;
    uint32_t *order;   /* owned; pre-training: the shuffled set */
    uint32_t *picture; /* owned, [most] */
    int32_t *labels;   /* owned, [most] */
};

struct random course_streams(uint64_t seed, enum stream purpose, uint64_t epoch, uint64_t index)
{
    struct random r = {.seed = seed};
    r = random_branch(&r, purpose);
    r = random_branch(&r, epoch);
    return random_branch(&r, index);
}

struct random course_stream(uint64_t seed, enum stream purpose, uint64_t epoch, uint64_t index, uint64_t place)
{
    const struct random r = course_streams(seed, purpose, epoch, index);
    return random_branch(&r, place);
}

static status open_sampler(struct course *c)
{
    status st = OK;
    const struct train_settings *s = c->train;
    const size_t classes = dataset_class_count(c->data), way = (size_t)s->way, shot = (size_t)s->shot;
    size_t *first = calloc(2 * size_max(1, classes), sizeof *first);
    if (!first) return fail(ST_MEMORY, "no memory for %zu classes", classes);
    size_t *size = first + classes;
    for (size_t i = 0; i < classes; i++) {
        first[i] = dataset_class_first(c->data, i);
        size[i] = dataset_class_size(c->data, i);
    }
    TRY(sampler_new(classes, first, size, way, shot, (size_t)s->query, (uint64_t)s->seed, &c->sampler));
    TRY(plan_new(way, shot, (size_t)s->query, &c->drawn));
done:
    free(first);
    return st;
}

static status open_order(struct course *c)
{
    const size_t n = dataset_count(c->data);
    c->order = calloc(size_max(1, n), sizeof *c->order);
    return c->order ? OK : fail(ST_MEMORY, "no memory to shuffle %zu pictures", n);
}

status course_new(const struct dataset *d, const struct train_settings *s, struct course **out)
{
    status st = OK;
    struct course *c = calloc(1, sizeof *c);
    if (!c) return fail(ST_MEMORY, "no memory for the course of training");
    *c = (struct course){.data = d, .train = s, .most = (size_t)s->batch};
    if (s->stage == STAGE_PRETRAIN) TRY(open_order(c));
    else TRY(open_sampler(c));
    if (c->sampler && (!size_mul(c->most, (size_t)s->way, &c->most) ||
                       !size_mul(c->most, (size_t)(s->shot + s->query), &c->most) || c->most > UINT32_MAX))
        TRY(fail(ST_VALUE, "%" PRId64 " episodes of %" PRId64 " classes a step are too many", s->batch, s->way));
    c->picture = calloc(c->most, sizeof *c->picture);
    c->labels = calloc(c->most, sizeof *c->labels);
    if (!c->picture || !c->labels) TRY(fail(ST_MEMORY, "no memory for steps of %zu pictures", c->most));
    *out = c;
    c = NULL;
done:
    course_free(c);
    return st;
}

void course_free(struct course *c)
{
    if (!c) return;
    sampler_free(c->sampler);
    plan_free(&c->drawn);
    sampler_epoch_free(c->plans, c->plan_count);
    free(c->order);
    free(c->picture);
    free(c->labels);
    free(c);
}

size_t course_most(const struct course *c) { return c->most; }
size_t course_left_out(const struct course *c) { return c->sampler ? sampler_left_out(c->sampler) : 0; }
size_t course_steps(const struct course *c) { return c->steps; }

static void shuffle(struct course *c)
{
    struct random r = course_stream((uint64_t)c->train->seed, STREAM_SHUFFLE, c->epoch, 0, 0);
    const size_t n = dataset_count(c->data);
    for (size_t i = 0; i < n; i++) {
        const size_t other = (size_t)random_below(&r, i + 1);
        c->order[i] = c->order[other];
        c->order[other] = (uint32_t)i;
    }
}

/* Episodes, or pictures, of the epoch. */
static status lay_out(struct course *c, size_t *count)
{
    *count = (size_t)c->train->episodes;
    if (!c->sampler) {
        shuffle(c);
        *count = dataset_count(c->data);
        return OK;
    }
    if (c->train->sampler == SAMPLER_ORDINARY) return OK;
    sampler_epoch_free(c->plans, c->plan_count);
    c->plans = NULL;
    const status st = sampler_epoch(c->sampler, c->epoch, &c->plans, &c->plan_count);
    *count = c->plan_count;
    return st;
}

status course_seek(struct course *c, uint64_t epoch, uint64_t index)
{
    size_t count = 0;
    c->epoch = epoch;
    c->index = index;
    const status st = lay_out(c, &count);
    c->steps = size_div_up(count, (size_t)c->train->batch); /* the last one may be short */
    return st == OK && c->steps == 0 ? fail(ST_VALUE, "epoch %" PRIu64 " has nothing to train on", epoch) : st;
}

static status episode_at(struct course *c, size_t i, const struct plan **out)
{
    *out = c->plans ? &c->plans[i] : &c->drawn;
    return c->plans ? OK : sampler_episode(c->sampler, c->epoch, i, &c->drawn);
}

static status next_episodes(struct course *c, struct lesson *out)
{
    const size_t batch = (size_t)c->train->batch, way = (size_t)c->train->way;
    const size_t all = c->plans ? c->plan_count : (size_t)c->train->episodes, first = (size_t)c->index * batch;
    const size_t support = way * (size_t)c->train->shot, queries = way * (size_t)c->train->query;
    const size_t episodes = size_min(batch, all - first);
    for (size_t b = 0; b < episodes; b++) {
        const struct plan *p = NULL;
        const status st = episode_at(c, first + b, &p);
        if (st != OK) return st;
        memcpy(c->picture + b * support, p->support, support * sizeof *c->picture);
        memcpy(c->picture + episodes * support + b * queries, p->queries, queries * sizeof *c->picture);
        memcpy(c->labels + b * queries, p->query_labels, queries * sizeof *c->labels);
    }
    out->episodes = episodes;
    out->support = episodes * support;
    out->queries = episodes * queries;
    return OK;
}

static void next_pictures(struct course *c, struct lesson *out)
{
    const size_t batch = (size_t)c->train->batch, first = (size_t)c->index * batch;
    out->queries = size_min(batch, dataset_count(c->data) - first);
    for (size_t i = 0; i < out->queries; i++) {
        c->picture[i] = c->order[first + i];
        c->labels[i] = (int32_t)dataset_class_of(c->data, c->picture[i]);
    }
}

status course_next(struct course *c, struct lesson *out)
{
    status st = OK;
    *out = (struct lesson){.epoch = c->epoch, .index = c->index, .picture = c->picture, .labels = c->labels};
    if (c->sampler) st = next_episodes(c, out);
    else next_pictures(c, out);
    out->first_query = out->support;
    out->weight = 1;
    c->index++;
    return st;
}
