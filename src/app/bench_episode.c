/* bench_episode.c - an episode for centra bench: each location shows one of a few kinds of things, plus noise.
 *
 * Solvers that iterate are as fast as the walk mixes. Pure noise mixes at once and would flatter them; kinds of things
 * that find each other again and again, as on real pictures, mix slowly. */
#include "app/bench.h"
#include "app/library.h"
#include "base/random.h"
#include <stdlib.h>
#include <string.h>

enum { SUPPORT_STREAM = 1, QUERY_STREAM = 2, KIND_STREAM = 3, BASE_STREAM = 4 };
enum { MOST_SIDE = 10000, BASE_CLASSES = 64, BASE_EACH = 20 };

/* "5" or "5x7" */
static status read_map(const char *s, size_t *height, size_t *width)
{
    char copy[32] = {0};
    const char *second = copy;
    char *cut;
    int64_t h, w;
    strncpy(copy, s, sizeof copy - 1);
    if ((cut = strchr(copy, 'x'))) {
        *cut = '\0';
        second = cut + 1;
    }
    if (!integer_parse(copy, &h) || !integer_parse(second, &w) || h < 1 || w < 1 || h > MOST_SIDE || w > MOST_SIDE)
        return fail(ST_USAGE, "--map is '%.60s', but must be a side or HxW, each between 1 and %d (default 5)", s,
                    MOST_SIDE);
    *height = (size_t)h;
    *width = (size_t)w;
    return OK;
}

static void put(void *data, centra_precision precision, size_t i, double v)
{
    if (precision == CENTRA_F64) ((double *)data)[i] = v;
    else ((float *)data)[i] = (float)v;
}

/* The kinds of things, [kinds, channels]; support and query share them. NULL without kinds. Free with free(). */
static status make_kinds(const struct bench *b, uint64_t seed, double **out)
{
    struct random r = {seed, KIND_STREAM, 0};
    void *data = NULL;
    status st = b->kinds ? array_take((size_t)b->kinds, (size_t)b->channels, 1, sizeof(double), &data) : OK;
    *out = data;
    for (size_t i = 0; st == OK && i < (size_t)(b->kinds * b->channels); i++) (*out)[i] = random_normal(&r);
    return st;
}

static status make_features(const struct bench *b, const double *kinds, size_t pictures, size_t locations,
                            struct random r, const void **out)
{
    centra_precision precision = (centra_precision)b->precision;
    const size_t channels = (size_t)b->channels;
    void *data;
    status st = array_take(pictures, channels, locations, precision_bytes(precision), &data);
    if (st != OK) return st;
    for (size_t at = 0; at < pictures * locations; at++) {
        const size_t n = at / locations, i = at % locations;
        const double *kind = kinds ? kinds + random_below(&r, (uint64_t)b->kinds) * channels : NULL;
        for (size_t c = 0; c < channels; c++)
            put(data, precision, (n * channels + c) * locations + i, (kind ? kind[c] : 0) + random_normal(&r));
    }
    *out = data;
    return OK;
}

/* `each` pictures of class 0, then of class 1, ... */
static status make_labels(size_t way, size_t each, const int64_t **out)
{
    void *data;
    status st = array_take(way, each, 1, sizeof(int64_t), &data);
    if (st != OK) return st;
    for (size_t i = 0; i < way * each; i++) ((int64_t *)data)[i] = (int64_t)(i / each);
    *out = data;
    return OK;
}

static status take_results(const struct bench *b, struct bench_episode *out)
{
    const centra_episode *e = &out->episode;
    size_t bytes = precision_bytes(e->precision);
    status st = OK;
    TRY(array_take(e->query_count, (size_t)b->way, 1, bytes, &out->result.scores));
    if (!b->gradients) goto done;
    out->result.loss = &out->loss;
    TRY(array_take(e->support_count, e->channels, e->support_locations, bytes, &out->result.grad_support));
    TRY(array_take(e->query_count, e->channels, e->query_locations, bytes, &out->result.grad_query));
done:
    return st;
}

status bench_episode_make(const struct bench *b, uint64_t seed, struct bench_episode *out)
{
    centra_episode *e = &out->episode;
    size_t way = (size_t)b->way, locations;
    double *kinds = NULL;
    status st = OK;
    TRY(read_map(b->map, &out->height, &out->width));
    locations = out->height * out->width;
    *e = (centra_episode){.precision = (centra_precision)b->precision,
                          .channels = (size_t)b->channels,
                          .support_count = way * (size_t)b->shot,
                          .support_locations = locations,
                          .query_count = way * (size_t)b->queries,
                          .query_locations = locations};
    TRY(make_kinds(b, seed, &kinds));
    TRY(make_features(b, kinds, e->support_count, locations, (struct random){seed, SUPPORT_STREAM, 0}, &e->support));
    TRY(make_features(b, kinds, e->query_count, locations, (struct random){seed, QUERY_STREAM, 0}, &e->query));
    TRY(make_labels(way, (size_t)b->shot, &e->support_labels));
    if (b->gradients) TRY(make_labels(way, (size_t)b->queries, &e->query_labels));
    TRY(take_results(b, out));
done:
    free(kinds);
    return st;
}

status bench_give_base(const struct bench *b, uint64_t seed, centra_head *head)
{
    const void *features = NULL;
    const int64_t *labels = NULL;
    status st = OK;
    TRY(make_features(b, NULL, BASE_CLASSES * BASE_EACH, 1, (struct random){seed, BASE_STREAM, 0}, &features));
    TRY(make_labels(BASE_CLASSES, BASE_EACH, &labels));
    st = library(centra_head_base(head, (centra_precision)b->precision, BASE_CLASSES * BASE_EACH, (size_t)b->channels,
                                  1, features, labels));
done:
    free((void *)features);
    free((void *)labels);
    return st;
}

void bench_episode_free(struct bench_episode *e)
{
    free((void *)e->episode.support);
    free((void *)e->episode.query);
    free((void *)e->episode.support_labels);
    free((void *)e->episode.query_labels);
    free(e->result.scores);
    free(e->result.grad_support);
    free(e->result.grad_query);
    *e = (struct bench_episode){0};
}
